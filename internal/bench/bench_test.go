package bench

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseBytes(t *testing.T) {
	for in, want := range map[string]Bytes{
		"0": 0, "4096": 4096, "1KiB": 1024, "1.5 GiB": 3 * GiB / 2, "10GB": 10e9, "7 B": 7, "2TiB": 2 * TiB,
	} {
		if got, err := ParseBytes(in); err != nil || got != want {
			t.Errorf("%q: got %d, %v; want %d", in, got, err, want)
		}
	}
	for _, bad := range []string{"", "MiB", "-1GiB", "1 GiBs", "0x1p3 GiB", "1e3 GiB", "NaN", "1 gib", "99999999999TiB", "1.2.3KiB"} {
		if got, err := ParseBytes(bad); err == nil {
			t.Errorf("%q was accepted as %d", bad, got)
		}
	}
}

func TestBytesString(t *testing.T) {
	for b, want := range map[Bytes]string{0: "0 B", 1023: "1023 B", GiB: "1 GiB", 3 * GiB / 2: "1.5 GiB", 300 * MiB: "300 MiB"} {
		if got := b.String(); got != want {
			t.Errorf("%d: got %q, want %q", int64(b), got, want)
		}
	}
}

func TestPlatformRefString(t *testing.T) {
	r := PlatformRef{Name: "docker", Options: map[string]string{"storage": "volume", "net": "host"}}
	if got, want := r.String(), "docker[net=host,storage=volume]"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	r.On = &PlatformRef{Name: "kvm", Options: map[string]string{"cache": "none", AliasOption: "b"}}
	if got, want := r.String(), "docker[net=host,storage=volume]@kvm[as=b,cache=none]"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := r.Driver(); got != "docker@kvm" {
		t.Errorf("driver %q", got)
	}
	if got, want := r.DriverOptions(), map[string]string{"storage": "volume", "net": "host", "@cache": "none"}; !maps.Equal(got, want) {
		t.Errorf("options %v, want %v", got, want)
	}
}

func TestCaveats(t *testing.T) {
	a := Availability{Caveats: []Caveat{{Text: "always"}, {Text: "sometimes", With: map[string]string{"user": "rootless"}}}}
	if got := a.CaveatsOf(map[string]string{"user": "rootless", "net": "host"}); len(got) != 2 {
		t.Errorf("got %q", got)
	}
	if got := a.CaveatsOf(map[string]string{"user": "root"}); len(got) != 1 || got[0] != "always" {
		t.Errorf("got %q", got)
	}
	if got := a.Caveats[1].String(); got != "user=rootless: sometimes" {
		t.Errorf("got %q", got)
	}
}

func TestHint(t *testing.T) {
	err := fmt.Errorf("start docker: %w%w", ErrUnavailable, Hint("install docker.io"))
	if got := err.Error(); got != "start docker: unavailable" {
		t.Errorf("the hint shows in %q", got)
	}
	if HintOf(fmt.Errorf("run: %w", err)) != "install docker.io" || !errors.Is(err, ErrUnavailable) {
		t.Error("hint or cause lost on the way")
	}
	for _, full := range []error{syscall.ENOSPC, fmt.Errorf("write: %w", syscall.EDQUOT), errors.New(`mkfs: "No space left on device"`)} {
		if !strings.Contains(HintOf(full), "disk is full") {
			t.Errorf("%v: hint %q", full, HintOf(full))
		}
	}
	if HintOf(errors.New("x")) != "" || HintOf(nil) != "" {
		t.Error("a hint from nowhere")
	}
}

func TestThreads(t *testing.T) {
	known := &Threads{VCPU: []string{"CPU */*", "fc_vcpu *", "vcpu[0-9]*"}, IO: []string{"IO *", "worker"}}
	for name, want := range map[string]string{
		"CPU 0/KVM": "vcpu", "CPU 127/TCG": "vcpu", "CPU burner": "vmm", "CPU": "vmm", "fc_vcpu 31": "vcpu", "fc_api": "vmm",
		"vcpu12": "vcpu", "vcpu": "vmm", "vcpus": "vmm", "IO io0": "iothread", "worker": "iothread", "workers": "vmm",
		"iou-wrk-4711": "iothread", "vhost-4711": "iothread", "qemu-system-x86": "vmm", "": "vmm",
	} {
		if got := known.Part(name); got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
	var none *Threads
	if cpu, kernel := none.Part("CPU 0/KVM"), none.Part("vhost-4711"); cpu != "vmm" || kernel != "iothread" {
		t.Errorf("of an unknown monitor: %s, %s", cpu, kernel)
	}
}

func TestLacks(t *testing.T) {
	var a Availability
	a.Lack("runtime", "kata", nil)
	a.Lack("runtime", "crun", ErrUnavailable)
	a.Lacks = append(a.Lacks, Lack{map[string]string{"net": "host", "driver": "vfs"}, ErrInvalid})
	known := []Option{{Name: "net", Default: "bridge"}, {Name: "runtime", Default: "runc"}, {Name: "driver", Default: "vfs"}}
	for runtime, want := range map[string]error{"kata": nil, "crun": ErrUnavailable, "runc": nil} {
		if got := a.Lacking(Variant(known, map[string]string{"runtime": runtime})); got != want {
			t.Errorf("runtime=%s: %v", runtime, got)
		}
	}
	if got := a.Lacking(Variant(known, map[string]string{"net": "host"})); got != ErrInvalid {
		t.Errorf("net=host with the default driver: %v", got)
	}
}

func TestTogether(t *testing.T) {
	got := Together([]Skip{{"kvm", "no KVM", "a", false}, {"xen", "no Xen", "a", false}, {"kvm[bus=ide]", "no KVM", "a", false}, {"runc", "no KVM", "b", false}})
	want := []Skip{{"kvm, kvm[bus=ide]", "no KVM", "a", false}, {"xen", "no Xen", "a", false}, {"runc", "no KVM", "b", false}}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestReason(t *testing.T) {
	for want, err := range map[string]error{
		"x: unknown":                  fmt.Errorf("x: unknown: %w%w", ErrInvalid, Hint("y")),
		"no answer: docker: killed":   fmt.Errorf("no answer: %w: %w", ErrUnavailable, fmt.Errorf("docker: killed: %w", ErrUnavailable)),
		"not tried (it may lie)":      fmt.Errorf("%w (it may lie)", fmt.Errorf("not tried: %w", ErrUnavailable)),
		`"x": invalid syntax, so bad`: fmt.Errorf(`"x": invalid syntax, so bad: %w`, ErrInvalid),
	} {
		if got := Reason(err); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
