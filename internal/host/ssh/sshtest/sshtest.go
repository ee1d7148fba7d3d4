// Package sshtest makes further hosts for tests: each is an sshd in namespaces of its own, whose network
// is joined to one that stands for this host's. Its clocks are days ahead, as those of a machine that
// runs for longer.
package sshtest

import (
	"bytes"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"tare/internal/bench"
)

// Net stands for the network that this host and further ones are on. Nothing else is.
type Net struct {
	// NetNS is the path of the namespace that stands for this host's network.
	NetNS string
	// Config is the configuration of ssh that knows the hosts.
	Config string

	dir   string
	hosts int
}

// Ahead is how far the monotonic clocks of hosts are ahead of this one's.
const Ahead = 3 * 24 * time.Hour

// New makes the network. It needs root and the packages openssh-server and openssh-client.
func New(t testing.TB) *Net {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("making network namespaces needs root")
	}
	n := &Net{dir: t.TempDir()}
	n.Config = filepath.Join(n.dir, "config")
	pid := start(t, filepath.Join(n.dir, "log"), exec.Command("unshare", "--net", "sleep", "infinity"))
	n.NetNS = fmt.Sprintf("/proc/%d/ns/net", pid)
	own, _ := os.Readlink("/proc/self/ns/net")
	await(t, "a network namespace", func() bool {
		other, err := os.Readlink(n.NetNS)
		return err == nil && other != own
	})
	n.ip(t, "link", "set", "lo", "up")
	n.ip(t, "link", "add", "lan", "type", "bridge")
	n.ip(t, "addr", "add", "10.77.0.1/24", "dev", "lan")
	n.ip(t, "link", "set", "lan", "up")
	for _, key := range []string{"client", "stranger"} {
		keys(t, filepath.Join(n.dir, key))
	}
	return n
}

// Host is a further host.
type Host struct {
	bench.FurtherHost
	Addr string // of its sshd
	PID  int    // of the first process there, as it is seen here
}

// Root is how files of the host are reached from here.
func (h *Host) Root() string { return fmt.Sprintf("/proc/%d/root", h.PID) }

// inside is what the first process of a host does: $1 is its name, $2 its address, $3 the directory of
// the test. The shadow file of the host lets root in, whose account may be locked.
const inside = `set -e
mount -t tmpfs none /run
mkdir /run/sshd
case $3 in /var/tmp/*) ;; *) mount -t tmpfs none /var/tmp ;; esac
sed 's/^root:[^:]*:/root:*:/' /etc/shadow >/run/shadow
chmod 600 /run/shadow
mount --bind /run/shadow /etc/shadow
mount -t proc proc /proc
hostname "$1"
ip link set lo up
until ip link set wire up 2>/dev/null; do sleep 0.01; done
ip addr add "$2/24" dev wire
exec /usr/sbin/sshd -D -e -f "$3/$1.sshd"`

// Add makes a host of that name, which ssh knows, and lets in without a password.
func (n *Net) Add(t testing.TB, name string) *Host {
	t.Helper()
	n.hosts++
	addr := fmt.Sprintf("10.77.0.%d", 10+n.hosts)
	key := filepath.Join(n.dir, name+".key")
	keys(t, key)
	n.write(t, name+".sshd", fmt.Sprintf("ListenAddress %s\nHostKey %s\nAuthorizedKeysFile %s/client.pub\nStrictModes no\nUsePAM no\nPasswordAuthentication no\nKbdInteractiveAuthentication no\nPermitRootLogin yes\nPidFile none\nPrintMotd no\n", addr, key, n.dir))
	far := strconv.Itoa(int(Ahead.Seconds()))
	pid := start(t, filepath.Join(n.dir, name+".log"), exec.Command("unshare", "--net", "--mount", "--uts", "--time", "--monotonic", far, "--boottime", far, "--pid", "--fork", "--kill-child",
		"sh", "-c", inside, "sh", name, addr, n.dir))
	own, _ := os.Readlink("/proc/self/ns/net")
	var first int
	await(t, "the first process of "+name, func() bool {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
		if err != nil {
			return false
		}
		first, _ = strconv.Atoi(strings.TrimSpace(string(text)))
		other, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/net", first))
		return err == nil && other != own
	})
	end := fmt.Sprintf("to%d", n.hosts)
	n.ip(t, "link", "add", end, "type", "veth", "peer", "name", "wire", "netns", strconv.Itoa(first))
	n.ip(t, "link", "set", end, "master", "lan", "up")
	public, err := os.ReadFile(key + ".pub")
	if err != nil {
		t.Fatal(err)
	}
	n.append(t, "known", addr+" "+string(public))
	n.Know(t, name, addr, "")
	h := &Host{FurtherHost: bench.FurtherHost{Name: name, Config: n.Config, Reach: netip.MustParsePrefix(fmt.Sprintf("10.77.0.%d/24", 100+n.hosts))}, Addr: addr, PID: first}
	await(t, "sshd of "+name, func() bool {
		text, _ := os.ReadFile(filepath.Join(n.dir, name+".log"))
		return bytes.Contains(text, []byte("Server listening"))
	})
	return h
}

// Know adds a host to the configuration of ssh. The lines more, if any, go before those that are usual.
func (n *Net) Know(t testing.TB, name, addr, more string) {
	t.Helper()
	if !strings.Contains(more, "IdentityFile") {
		more += "  IdentityFile " + n.dir + "/client\n"
	}
	n.append(t, "config", fmt.Sprintf("Host %s\n%s  HostName %s\n  User root\n  IdentitiesOnly yes\n  UserKnownHostsFile %s/known\n", name, more, addr, n.dir))
}

// Route has a host send what is for a network by way of an address.
func (n *Net) Route(t testing.TB, h *Host, network, via string) {
	t.Helper()
	run(t, exec.Command("nsenter", fmt.Sprintf("--net=/proc/%d/ns/net", h.PID), "ip", "route", "add", network, "via", via))
}

// Stranger is a key that no host knows.
func (n *Net) Stranger() string { return filepath.Join(n.dir, "stranger") }

func (n *Net) write(t testing.TB, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(n.dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func (n *Net) append(t testing.TB, name, text string) {
	t.Helper()
	f, err := os.OpenFile(filepath.Join(n.dir, name), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err == nil {
		_, err = f.WriteString(text)
		f.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
}

// ip runs ip in the network that stands for this host's.
func (n *Net) ip(t testing.TB, args ...string) {
	t.Helper()
	run(t, exec.Command("nsenter", append([]string{"--net=" + n.NetNS, "ip"}, args...)...))
}

// keys makes a pair of keys.
func keys(t testing.TB, file string) {
	t.Helper()
	run(t, exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", file))
}

func run(t testing.TB, cmd *exec.Cmd) {
	t.Helper()
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", cmd.Args, err, out)
	}
}

// start starts a program that ends with the test, and returns its process.
func start(t testing.TB, log string, cmd *exec.Cmd) int {
	t.Helper()
	f, err := os.Create(log)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	cmd.Stdout, cmd.Stderr = f, f
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatalf("%v: %v", cmd.Args, err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			text, _ := os.ReadFile(log)
			t.Logf("%s:\n%s", filepath.Base(log), text)
		}
	})
	return cmd.Process.Pid
}

// await waits until something is so.
func await(t testing.TB, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !is(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited 20 s for %s", what)
		}
	}
}
