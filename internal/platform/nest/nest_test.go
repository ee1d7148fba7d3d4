package nest

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tare/internal/bench"
	"tare/internal/guest/nested/wire"
	"tare/internal/platform/docker"
	"tare/internal/platform/native"
	"tare/internal/platform/qemu"
	"tare/internal/platform/xen"
)

func TestNameOptionsLabel(t *testing.T) {
	p := New(docker.New(""), qemu.TCG(), Setup{})
	if p.Name() != "docker@qemu-tcg" {
		t.Errorf("name %s", p.Name())
	}
	var inner, outer []string
	for _, o := range p.Options() {
		if name, is := bench.OuterOption(o.Name); is {
			outer = append(outer, name)
		} else {
			inner = append(inner, o.Name)
		}
	}
	if len(inner) != len(docker.New("").Options()) || len(outer) != len(qemu.TCG().Options()) {
		t.Errorf("options %v of the inner, %v of the outer", inner, outer)
	}
	for outer, want := range map[string]string{"": "nested", "emulated (tcg)": "nested, emulated (tcg)"} {
		if got := label(outer); got != want {
			t.Errorf("label %q, want %q", got, want)
		}
	}
}

// TestLaunchIsDivided: the limits go to the inner instance, room to the outer.
func TestLaunchIsDivided(t *testing.T) {
	e := &engine{p: New(docker.New(""), qemu.TCG(), Setup{}), disks: []string{"/golden", "/tools"}, env: bench.Env{Image: digest("sha256:1")}}
	shape := bench.Shape{CPUs: 2, CPUQuota: 1.5, CPUWeight: 50, Memory: bench.GiB, Disk: bench.GiB, Pids: 7}
	inner, outer := e.launches(bench.Launch{ID: "x", Shape: shape, CPUSet: []int{3, 5}, Dir: "/d",
		Options: map[string]string{"net": "host", "@cache": "writeback"}})
	want := wire.Start{Run: "nested", ID: "inner", Platform: "docker", Options: map[string]string{"net": "host"},
		Shape: shape, CPUs: []int{0, 1}, Digest: "sha256:1"}
	if d := cmp.Diff(want, inner); d != "" {
		t.Error(d)
	}
	wantOuter := bench.Launch{ID: "x", CPUSet: []int{3, 5}, Dir: "/d", Options: map[string]string{"cache": "writeback"},
		Shape: bench.Shape{CPUs: 2, CPUWeight: 50, Memory: bench.GiB + 512*bench.MiB, Disk: bench.GiB + diskRoom},
		Host:  &bench.Hosting{Disks: []string{"/golden", "/tools"}, Ports: []string{wire.Control, wire.Stream}}}
	if d := cmp.Diff(wantOuter, outer); d != "" {
		t.Error(d)
	}
	e.p = New(qemu.KVM(""), qemu.TCG(), Setup{})
	if _, outer := e.launches(bench.Launch{}); !outer.Host.Virtualization {
		t.Error("a virtual machine inside, and the outer guest cannot run one")
	}
}

// TestDeepNesting: the options of three platforms are told apart, and every
// guest on the way gets its room.
func TestDeepNesting(t *testing.T) {
	p := New(New(docker.New(""), xen.PVH(), Setup{}), qemu.TCG(), Setup{})
	if p.Name() != "docker@xen-pvh@qemu-tcg" {
		t.Errorf("name %s", p.Name())
	}
	ref := bench.PlatformRef{Name: "docker", Options: map[string]string{"net": "host"}, On: &bench.PlatformRef{
		Name: "xen-pvh", Options: map[string]string{"cache": "writeback"}, On: &bench.PlatformRef{Name: "qemu-tcg", Options: map[string]string{"cache": "none"}}}}
	known := map[string]bool{}
	for _, o := range p.Options() {
		known[o.Name] = true
	}
	for name := range ref.DriverOptions() {
		if !known[name] {
			t.Errorf("option %s is not one of the nesting's: %v", name, known)
		}
	}
	e := &engine{p: p, env: bench.Env{Image: digest("sha256:1")}, xen: "/xen", slow: 10}
	inner, outer := e.launches(bench.Launch{Options: ref.DriverOptions(), Shape: bench.Shape{Memory: bench.GiB, Disk: bench.GiB}})
	if d := cmp.Diff(map[string]string{"net": "host", "@cache": "writeback"}, inner.Options); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(map[string]string{"cache": "none"}, outer.Options); d != "" {
		t.Error(d)
	}
	if inner.Platform != "docker@xen-pvh" || inner.Shape.Memory != bench.GiB || inner.Slow != 10 {
		t.Errorf("inside: %+v", inner)
	}
	if want := bench.GiB + asks(docker.New("")).Memory + asks(xen.PVH()).Memory; outer.Shape.Memory != want || outer.Shape.Disk != bench.GiB+2*diskRoom {
		t.Errorf("the outer guest has %v and %v, want %v", outer.Shape.Memory, outer.Shape.Disk, want)
	}
	if !outer.Host.Virtualization || outer.Host.Control != asks(xen.PVH()).Control || outer.Host.Control == 0 {
		t.Errorf("hosting %+v", outer.Host)
	}
}

// TestTraits: a guest is prepared for the platform that it runs itself, and each
// guest on the way costs its time.
func TestTraits(t *testing.T) {
	domain := New(docker.New(""), xen.PVH(), Setup{})
	for _, c := range []struct {
		p      *Platform
		guest  bench.OuterGuest
		launch time.Duration
	}{{domain, bench.ControlGuest, launchTime}, {New(domain, qemu.TCG(), Setup{}), -1, 2 * launchTime}} {
		got := c.p.Traits()
		if got.Launch != c.launch || (got.Nesting == nil) != (c.guest < 0) || got.Nesting != nil && got.Nesting.Guest != c.guest {
			t.Errorf("%s: %+v", c.p.Name(), got)
		}
	}
}

// TestCautions: what the inner platform says is passed on, but not once more that it is nested.
func TestCautions(t *testing.T) {
	for said, want := range map[string]string{"": "", "nested": "", "nested, emulated (tcg)": "emulated (tcg)", "emulated (tcg)": "emulated (tcg)"} {
		i := &instance{started: wire.Started{Label: said, Caveats: []string{"slow"}}}
		if label, caveats := i.Cautions(); label != want || len(caveats) != 1 {
			t.Errorf("%q is told as %q, %q", said, label, caveats)
		}
	}
}

type digest string

func (d digest) Digest() string                               { return string(d) }
func (digest) Root(context.Context) (string, error)           { return "", nil }
func (digest) Tar(context.Context) (string, error)            { return "", nil }
func (digest) Disk(context.Context) (string, error)           { return "", nil }
func (digest) Kernel(context.Context) (string, string, error) { return "", "", nil }

func TestCheckWithoutImage(t *testing.T) {
	missing := Setup{Versions: func() (map[string]string, error) { return nil, bench.ErrUnavailable }}
	if _, err := New(native.New(), native.New(), missing).Check(t.Context()); !errors.Is(err, bench.ErrUnavailable) {
		t.Errorf("without the outer guests' image: %v", err)
	}
	lacks := Setup{Versions: func() (map[string]string, error) { return map[string]string{"runc": "1"}, nil }}
	if _, err := New(native.New(), native.New(), lacks).Check(t.Context()); !errors.Is(err, bench.ErrUnavailable) {
		t.Errorf("an image without the program: %v", err)
	}
}

// TestControl speaks with an other half that answers, refuses, answers
// nonsense, falls silent and goes away.
func TestControl(t *testing.T) {
	for name, c := range map[string]struct {
		reply string // to the one request
		want  string // the result, or a part of the error
		alive bool   // another question may follow
	}{
		"answer":  {`{"result":"10.0.0.1"}` + "\n", "10.0.0.1", true},
		"refusal": {`{"error":"no kvm","hint":"modprobe kvm","kind":"unavailable"}` + "\n", "no kvm", true},
		"garbage": {"\x00\x01", "invalid character", false},
		"other":   {`{"result":{"a":1}}` + "\n", "cannot unmarshal", true},
		"silence": {"", "deadline", false},
	} {
		t.Run(name, func(t *testing.T) {
			here, there := net.Pipe()
			defer there.Close()
			go func() {
				if err := json.NewDecoder(there).Decode(&wire.Request{}); err == nil {
					io.WriteString(there, c.reply)
				}
			}()
			ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
			defer cancel()
			k := newControl(here)
			var got string
			err := k.ask(ctx, wire.Request{Op: wire.OpAddr}, &got)
			if err != nil {
				got = err.Error()
			}
			if !strings.Contains(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
			if alive := k.gone() == nil; alive != c.alive {
				t.Errorf("alive %t: %v", alive, k.gone())
			}
		})
	}
}

func TestTailKeepsTheEnd(t *testing.T) {
	var s tail
	for range 3000 {
		s.add([]byte("words "))
	}
	s.end(bench.Output{Exit: 3}, nil)
	if got := s.String(); len(got) > keptWords+40 || !strings.HasSuffix(got, "(exit status 3)") {
		t.Errorf("%d bytes, ending %q", len(got), got[len(got)-20:])
	}
}
