package all

import (
	"context"
	"strings"
	"testing"

	"tare/internal/bench"
	"tare/internal/platform/native"
)

// Every nesting has a name of its own, that says what each of its images is needed for.
func TestNestingsAndTheirImages(t *testing.T) {
	seen := map[string]bool{}
	for _, p := range Nestings(t.TempDir()) {
		if seen[p.Name()] {
			t.Errorf("%s is listed twice", p.Name())
		}
		seen[p.Name()] = true
	}
	for name, want := range map[string][2]bool{
		"runc@qemu-tcg": {true, false}, "xen-pv@qemu-tcg": {false, true}, "runc@xen-pv@qemu-tcg": {true, true},
		"runc@xen-pv": {true, false}, "docker@kvm@qemu-tcg": {true, false}, "gvisor@kvm": {true, false},
	} {
		if !seen[name] {
			t.Errorf("%s is not listed", name)
		}
		if hosts, xen := Images(name); hosts != want[0] || xen != want[1] {
			t.Errorf("%s needs the image of hosts %t, under Xen %t; want %v", name, hosts, xen, want)
		}
	}
}

// What a nesting's outer guest is asked to run it finds in its own list.
func TestInnerNestingsAreKnownInside(t *testing.T) {
	inside := map[string]bool{}
	for _, p := range Inside(t.TempDir(), setups(t.TempDir()).hosts) {
		inside[p.Name()] = true
	}
	for _, p := range nestings(t.TempDir()) {
		n, ok := p.(interface{ Inner() string })
		if !ok || !inside[n.Inner()] {
			t.Errorf("%s: what is inside is not known there", p.Name())
		}
	}
}

// counted counts how often it is asked.
type counted struct {
	bench.Platform
	err  error
	asks int
}

func (c *counted) Check(context.Context) (bench.Availability, error) {
	c.asks++
	return bench.Availability{Version: strings.Repeat("x", c.asks)}, c.err
}

func TestOnceChecked(t *testing.T) {
	c := &counted{Platform: native.New(), err: context.DeadlineExceeded}
	p := once(c)
	for range 2 {
		_, _ = p.Check(t.Context()) // given up, and so asked again
	}
	c.err = nil
	for range 2 {
		if a, err := p.Check(t.Context()); a.Version != "xxx" || err != nil {
			t.Errorf("found %+v, %v", a, err)
		}
	}
}
