package nest_test

import (
	"bytes"
	"crypto/rand"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"tare/internal/bench"
	"tare/internal/guest/agent"
	"tare/internal/platform/nest"
	"tare/internal/platform/qemu"
	"tare/internal/platform/xen"
)

// TestXenDomain asks of one domain what the conformance suite does not.
func TestXenDomain(t *testing.T) {
	in := startOne(t, nest.New(xen.PV(), qemu.TCG(), underXen(t)), bench.Shape{CPUs: 1, Memory: 256 * bench.MiB, Disk: 128 * bench.MiB})
	inner, err := agent.Dial(t.Context(), in.Stream())
	if err != nil {
		t.Fatalf("%v\n%s", err, in.Log())
	}
	t.Run("megabyte", func(t *testing.T) { testMegabyte(t, inner) })
	t.Run("meters", func(t *testing.T) { testXenMeters(t, in, inner) })
}

// testMegabyte sends a megabyte to a program in the domain and has it back: more
// than a console takes in the minute that the program is given.
func testMegabyte(t *testing.T, inner *agent.Client) {
	sent := make([]byte, 1<<20)
	rand.Read(sent)
	began := time.Now()
	out, err := inner.Exec(t.Context(), bench.Command{Argv: []string{"cat"}, Stdin: sent, Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(out.Stdout, sent) {
		t.Errorf("%d bytes came back of %d, or others", len(out.Stdout), len(sent))
	}
	t.Logf("there and back in %v", time.Since(began).Round(time.Millisecond))
}

// testXenMeters compares what the hypervisor tells the meter with what it tells xl.
func testXenMeters(t *testing.T, in bench.Instance, inner *agent.Client) {
	readers, err := in.(bench.Metered).Readers(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(readers, func(r bench.Reader) bool { return r.Level() == bench.Inner })
	if i < 0 {
		t.Fatal("nothing is read in the control domain")
	}
	read := func() (domain, control float64) {
		t.Helper()
		values := make([]float64, len(readers[i].Columns()))
		if err := readers[i].Read(values); err != nil {
			t.Fatal(err)
		}
		at := func(column string) float64 { return values[slices.Index(readers[i].Columns(), column)] }
		return at(bench.CPUOf("vcpu")), at(bench.CPUOf(bench.PartDom0))
	}
	before, dom0 := read()
	run(t, inner, "timeout", "4", "sh", "-c", "while :; do :; done")
	after, dom0After := read()
	outer := in.(outerAgent).OuterAgent()
	t.Logf("the domain ran %.2f s, the control domain %.2f s", after-before, dom0After-dom0)
	if ran := after - before; ran < 2 || ran > 30 {
		t.Errorf("a domain busy for 4 s ran %.2f s", ran)
	}
	if dom0After <= dom0 {
		t.Errorf("the control domain ran from %v to %v s", dom0, dom0After)
	}
	out := string(run(t, outer, "xl", "list", "inner").Stdout)
	fields := strings.Fields(out)
	said, err := strconv.ParseFloat(fields[len(fields)-1], 64) // Time(s)
	if err != nil {
		t.Fatalf("xl list: %q", out)
	}
	if now, _ := read(); said < after-0.1 || said > now+0.1 {
		t.Errorf("xl says that the domain ran %.1f s, the meter %.2f before and %.2f s afterwards", said, after, now)
	}
}
