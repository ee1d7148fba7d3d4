package run

import (
	"net/netip"
	"strings"
	"testing"

	"tare/internal/bench"
	"tare/internal/platform/fake"
)

// found is a served workload that keeps where its load is told to find the subject.
type found struct {
	served
	at *netip.Addr
}

func (f found) Steps(part string, p bench.Params, s bench.Setting) (bench.Part, error) {
	if part != bench.SubjectPart {
		*f.at = s.Addr[bench.SubjectPart]
	}
	return f.served.Steps(part, p, s)
}

// afar is a scene whose load runs on a further host.
func afar() bench.Scene {
	sc := servedScene("afar", bench.Subject, "echo ready; sleep 60", "sleep 0.2; echo 7")
	sc.Actors[1].Host, sc.Actors[1].CPUSet = "load1", nil
	return sc
}

// A peer on a further host finds the subject at the address that was named for it.
func TestPeerOnAFurtherHost(t *testing.T) {
	var at netip.Addr
	r, s := newRunner(t, found{at: &at}, fake.Options{}, afar())
	reach := netip.MustParseAddr("10.0.0.7")
	r.Shared = netip.MustParseAddr("127.0.0.1") // the fake's
	r.Hosts = map[string]FurtherHost{"load1": {Engine: r.Engines["fake"].Engine, Kernel: "6.1.0-far", CPUs: 64, Reach: reach}}
	if err := r.Run(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	o := s.outcomes[0]
	if o.Status != bench.Done || len(o.Values) != 1 || o.Values[0].Value != 7 {
		t.Fatalf("%s: %s: values %v", o.Status, o.Error, o.Values)
	}
	if at != reach {
		t.Errorf("the load is told to find the subject at %v", at)
	}
	for _, a := range o.Actors {
		if a.Role == bench.Peer && (a.Version != "6.1.0-far" || len(a.CPUSet) > 0 || a.Facts == nil) {
			t.Errorf("the peer: version %q, CPUs %v, facts %v", a.Version, a.CPUSet, a.Facts)
		}
	}
}

// What has a network of its own is not found from a further host, and a host may not be connected: both end the
// trial with the reason.
func TestPeerOnAFurtherHostCannot(t *testing.T) {
	for want, change := range map[string]func(*Runner){
		"has a network of its own, in which no further host finds it": func(r *Runner) { r.Shared = netip.MustParseAddr("10.231.0.1") },
		"host load1 is not connected":                                 func(r *Runner) { r.Hosts = nil },
	} {
		r, s := newRunner(t, served{}, fake.Options{}, afar())
		r.Hosts = map[string]FurtherHost{"load1": {Engine: r.Engines["fake"].Engine, CPUs: 64, Reach: netip.MustParseAddr("10.0.0.7")}}
		change(r)
		if err := r.Run(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		if o := s.outcomes[0]; o.Status != bench.Failed || !strings.Contains(o.Error, want) {
			t.Errorf("%s: %s, want %q", o.Status, o.Error, want)
		}
	}
}

// absent is a served workload whose load runs a program that is nowhere.
type absent struct{ served }

func (a absent) Steps(part string, p bench.Params, s bench.Setting) (bench.Part, error) {
	does, err := a.served.Steps(part, p, s)
	if part != bench.SubjectPart {
		does.Main.Argv = []string{"no-such-program"}
	}
	return does, err
}

// A program that is missing on a further host is to be installed there, and not in the image.
func TestProgramMissingOnAFurtherHost(t *testing.T) {
	r, s := newRunner(t, absent{}, fake.Options{}, afar())
	r.Shared = netip.MustParseAddr("127.0.0.1")
	r.Hosts = map[string]FurtherHost{"load1": {Engine: r.Engines["fake"].Engine, CPUs: 64, Reach: netip.MustParseAddr("10.0.0.7")}}
	if err := r.Run(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if o := s.outcomes[0]; o.Status != bench.Failed || !strings.Contains(o.Error, `"no-such-program" not found`) || !strings.Contains(o.Hint, "install this one on load1") {
		t.Errorf("%s: %s, hint %q", o.Status, o.Error, o.Hint)
	}
}
