package platformtest

import (
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"tare/internal/bench"
	"tare/internal/host/testnet"
)

// testScratch writes and reads past the page cache.
func testScratch(t *testing.T, s *suite, b *box) {
	file := bench.ScratchDir + "/data"
	s.succeed(t, b, "dd", "if=/dev/urandom", "of="+file, "bs=4096", "count=256", "oflag=direct")
	if size := s.succeed(t, b, "stat", "-c", "%s", file); size != "1048576\n" {
		t.Errorf("wrote %s bytes, want 1 MiB", size)
	}
	s.succeed(t, b, "dd", "if="+file, "of=/dev/null", "bs=4096", "iflag=direct")
	s.succeed(t, b, "rm", file)
}

// testImage changes the instance's root file system, which must not reach the
// image or the next instance, and closes it.
func testImage(t *testing.T, s *suite, b *box) {
	root, err := s.env.Image.Root(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	mark := "/usr/bin/" + b.id
	s.succeed(t, b, "touch", mark)
	s.succeed(t, b, "rm", "/usr/bin/wc")
	s.close(t, b)
	if _, err := os.Lstat(root + mark); err == nil {
		t.Errorf("the image now has %s", mark)
	}
	if _, err := os.Lstat(root + "/usr/bin/wc"); err != nil {
		t.Error(err)
	}
	b = s.start(t)
	s.succeed(t, b, "test", "!", "-e", mark)
	s.succeed(t, b, "test", "-e", "/usr/bin/wc")
}

// testScope looks whether what the scope names is there.
func testScope(t *testing.T, s *suite, b *box) {
	scope := s.scope(t, b)
	if len(scope.Cgroups) == 0 {
		t.Error("no cgroup accounts for the instance")
	}
	for c, dir := range scope.Cgroups {
		if !inside(t, dir) {
			t.Errorf("%s: there is no process in %s or below it", c, dir)
		}
	}
	for _, p := range append(scope.Helpers, scope.Shared...) {
		if _, err := os.Stat(fmt.Sprintf("/proc/%d", p.PID)); err != nil || p.Part == "" {
			t.Errorf("process %+v: %v", p, err)
		}
	}
	if scope.OwnKernel && len(scope.Helpers) == 0 {
		t.Error("a kernel of its own, and nothing that runs it")
	}
	for _, dev := range scope.NetDevs {
		err := s.testnet.Do(func() error { _, err := net.InterfaceByName(dev); return err })
		if err != nil {
			t.Errorf("network device %s: %v", dev, err)
		}
	}
	if scope.NetNS != "" {
		if _, err := os.Stat(scope.NetNS); err != nil {
			t.Error(err)
		}
	}
}

func (s *suite) scope(t *testing.T, b *box) bench.Scope {
	t.Helper()
	scope, err := b.Scope()
	if err != nil {
		t.Fatalf("scope: %v\n%s", err, b.Log())
	}
	return scope
}

// inside reports whether a process is in the cgroup directory or below it.
func inside(t *testing.T, dir string) bool {
	t.Helper()
	found := false
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && d.Name() == "cgroup.procs" {
			var text []byte
			text, err = os.ReadFile(path)
			found = found || len(text) > 0
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	return found
}

// hellos is how many lines are sent to an instance: a megabyte, which comes in
// pieces as large as the network takes.
const hellos = 1 << 20 / len("hello\n")

// servedPort is where instances serve, and a platform that publishes ports publishes that one.
const servedPort = 12866

// testNetwork connects the instance with a peer, both ways, and with the test network.
// What is lost on the way and sent again takes more than the time there is.
func testNetwork(t *testing.T, s *suite, b *box) {
	if !b.Addr().IsValid() {
		t.Error("the instance has no address")
	}
	for where, netns := range map[string]string{"lab": s.testnet.NetNS(), "peer": s.peer} {
		at := s.peerAddr
		if where == "lab" {
			at = netip.MustParseAddr("10.231.0.1")
		}
		port := sayHello(t, netns, at)
		got := s.exec(t, b, "bash", "-c", fmt.Sprintf("exec 3<>/dev/tcp/%s/%d && timeout %.0f cat <&3 | uniq -c", at, port, s.slow(3*time.Second).Seconds()))
		if want := fmt.Sprint(hellos, " hello"); strings.TrimSpace(string(got.Stdout)) != want {
			t.Errorf("from inside to the %s: %q, want %q, %s", where, got.Stdout, want, got.Stderr)
		}
	}
	s.succeed(t, b, "netserver", "-4", "-p", strconv.Itoa(servedPort)) // goes into the background
	for where, netns := range map[string]string{"lab": s.testnet.NetNS(), "peer": s.peer} {
		err := testnet.Inside(netns, func() error {
			c, err := net.DialTimeout("tcp", netip.AddrPortFrom(b.Addr(), servedPort).String(), s.slow(5*time.Second))
			if err == nil {
				c.Close()
			}
			return err
		})
		if err != nil {
			t.Errorf("from the %s to the instance: %v", where, err)
		}
	}
}

// sayHello serves one connection in the namespace, with a megabyte, and returns the port.
func sayHello(t *testing.T, netns string, addr netip.Addr) int {
	t.Helper()
	var l net.Listener
	err := testnet.Inside(netns, func() (err error) {
		l, err = net.Listen("tcp", netip.AddrPortFrom(addr, 0).String())
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		if c, err := l.Accept(); err == nil {
			_, _ = io.WriteString(c, strings.Repeat("hello\n", hellos))
			c.Close()
		}
	}()
	return l.Addr().(*net.TCPAddr).Port
}

// testSeveral runs n instances at the same time.
func testSeveral(t *testing.T, s *suite, n int) {
	cpus := CPUs(t)
	launches := make([]bench.Launch, n)
	for i := range launches {
		launches[i] = s.launch(t, s.o.Shape, cpus[i%len(cpus):][:1])
	}
	boxes, errs := make([]*box, n), make([]error, n)
	done := make(chan int)
	for i := range launches {
		go func() {
			boxes[i], errs[i] = s.tryStart(t, launches[i])
			done <- i
		}()
	}
	for range launches {
		<-done
	}
	for i, err := range errs {
		if err != nil {
			t.Fatalf("instance %d of %d: %v", i+1, n, err)
		}
	}
	for i, b := range boxes {
		s.succeed(t, b, "sh", "-c", "echo "+strconv.Itoa(i)+" > "+bench.ScratchDir+"/who; echo "+strconv.Itoa(i)+" > /tmp/who")
	}
	for i, b := range boxes {
		got := strings.Fields(s.succeed(t, b, "cat", bench.ScratchDir+"/who", "/tmp/who"))
		if want := strconv.Itoa(i); len(got) != 2 || got[0] != want || got[1] != want {
			t.Errorf("instance %d finds %q in its files", i, got)
		}
	}
}
