package usage

import (
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"tare/internal/bench"
	"tare/internal/result"
)

var nan = math.NaN()

func approx(t *testing.T, what string, got, want float64) {
	t.Helper()
	if !(math.Abs(got-want) <= 1e-9*max(1, math.Abs(want))) {
		t.Errorf("%s: got %.12g, want %.12g", what, got, want)
	}
}

// counters makes readings of one source at the given seconds, each column
// counting at its rate from 1000; mem_ columns stay.
func counters(level bench.Level, actor, meter string, rates map[string]float64, seconds ...float64) []bench.Sample {
	var out []bench.Sample
	for _, t := range seconds {
		values := map[string]float64{}
		for c, r := range rates {
			if gauge(c) {
				values[c] = r
			} else {
				values[c] = 1000 + r*(t-seconds[0])
			}
		}
		out = append(out, bench.Sample{At: int64(t * 1e9), Late: 1e6, Took: 2e6, CPU: 3e6, Level: level, Actor: actor, Meter: meter, Values: values})
	}
	return out
}

var every = []float64{8, 9, 10, 12, 15, 20, 21} // the window is from 10 to 20

// hostAt is a host whose busy counter and tasks differ by 0.01 cores.
func hostAt(busy float64) []bench.Sample { return hostWith(busy, busy-0.01, nil) }

func hostWith(busy, tasks float64, more map[string]float64) []bench.Sample {
	rates := map[string]float64{bench.ColCPUBusy: busy, bench.ColCPUSteal: 0.04, bench.ColCPUSoftIRQ: 0.03,
		bench.ColDiskRead: 5e6, bench.ColDiskWrite: 1e6, bench.ColNetRx: 1e3, bench.ColNetTx: 2e3, bench.ColMemUsed: 900e6}
	maps.Copy(rates, more)
	return slices.Concat(counters(bench.Host, "", "proc", rates, every...),
		counters(bench.Host, "", "tasks", map[string]float64{bench.ColCPUTasks: tasks, bench.ColObserver: 0.005}, every...))
}

func cgroupAt(actor string, busy float64) []bench.Sample {
	return counters(bench.Layer, actor, "cgroup", map[string]float64{bench.ColCPUBusy: busy, bench.ColCPUUser: busy, bench.ColMemUsed: 40e6, bench.ColMemShared: 2e6,
		bench.ColDiskRead: 4e6, bench.ColDiskWrite: 0.3e6}, every...)
}

func helpersAt(actor string, rss float64, parts map[string]float64) []bench.Sample {
	rates := map[string]float64{bench.ColMemRSS: rss}
	for p, v := range parts {
		rates[bench.CPUOf(p)] = v
		rates[bench.MemOf(p)] = rss / float64(len(parts))
		rates[bench.ReadOf(p)], rates[bench.WrittenOf(p)] = 0, 0
	}
	return counters(bench.Layer, actor, "helpers", rates, every...)
}

func agentAt(actor string, busy float64) []bench.Sample {
	return counters(bench.Guest, actor, "agent", map[string]float64{bench.ColCPUBusy: busy, bench.ColMemUsed: 50e6, bench.ColMemCache: 100e6,
		bench.ColNetRx: 3e6, bench.ColNetTx: 4e6, bench.ColDiskRead: 6e6, bench.ColDiskWrite: 0.5e6}, every...)
}

func process(part string) []bench.Process { return []bench.Process{{PID: 1, Part: part}} }

func subject(name string, scope *bench.Scope) bench.ActorOutcome {
	return bench.ActorOutcome{Actor: name, Role: bench.Subject, Platform: bench.PlatformRef{Name: "p"}, Scope: scope}
}

// idleIn is what the daemon of the platform p uses when idle, in the tests.
var idleIn = map[daemon]float64{{"p", "daemon"}: 0}

func shareOf(actors []bench.ActorOutcome, samples ...[]bench.Sample) *Launch {
	o := &bench.Outcome{Window: [2]int64{10e9, 20e9}, Actors: actors}
	tracks := Sources{}
	for _, s := range slices.Concat(samples...) {
		if s.At < o.Window[0] || s.At > o.Window[1] {
			continue
		}
		tracks.Add(&s)
	}
	return LaunchOf(o, tracks, idleIn)
}

// figureOf is the figure with the name in JSON.
func figureOf(s *Launch, name string) result.Measured {
	for _, f := range s.Figures() {
		if f.Name == name {
			return *f.Measured
		}
	}
	panic("no figure " + name)
}

func wantShare(t *testing.T, s *Launch, want map[string]float64) {
	t.Helper()
	for field, v := range want {
		got := figureOf(s, field)
		if math.IsNaN(v) {
			if got.Known {
				t.Errorf("%s is %g and should be absent", field, got.Value)
			}
			continue
		}
		if !got.Known {
			t.Errorf("%s is absent; notes %q", field, s.Notes)
			continue
		}
		approx(t, field, got.Value, v)
	}
}

func TestShareOfASharedKernel(t *testing.T) {
	s := shareOf([]bench.ActorOutcome{subject("subject", &bench.Scope{Helpers: process("shim"), Shared: process("daemon")})},
		hostAt(1.2), cgroupAt("subject", 0.9), helpersAt("subject", 10e6, map[string]float64{"shim": 0.03, "daemon": 0.07}), agentAt("subject", 1.2))
	wantShare(t, s, map[string]float64{"guest_cpu": 0.9, "layer_cpu": 0.1, "other_cpu": 0.19, "steal_cpu": 0.04, "guest_mem_bytes": 40e6, "layer_mem_bytes": 10e6,
		"busy_cpu": 1.2, "unattributed_cpu": 0.01, "softirq_cpu": 0.03, "other_mem_bytes": 850e6,
		"disk_read_bytes_per_s": 5e6, "disk_write_bytes_per_s": 1e6, "guest_disk_read_bytes_per_s": 4e6, "guest_disk_write_bytes_per_s": 0.3e6, "other_disk_read_bytes_per_s": 1e6, "other_disk_write_bytes_per_s": 0.7e6,
		"net_rx_bytes_per_s": 3e6, "net_tx_bytes_per_s": 4e6, "other_net_rx_bytes_per_s": 1e3, "other_net_tx_bytes_per_s": 2e3})
	approx(t, "observer", s.OtherParts[otherObserver], 0.005)
	approx(t, "other tasks", s.OtherParts[otherTasks], 0.185)
	approx(t, "daemon", s.Parts["daemon"], 0.07)
	if len(s.Notes) != 0 {
		t.Errorf("notes %q", s.Notes)
	}
}

// A sandbox's helpers in the instance's cgroup are taken out of its CPU time.
func TestShareOfHelpersInside(t *testing.T) {
	scope := &bench.Scope{OwnKernel: true, Helpers: []bench.Process{{PID: 1, Part: "runtime"}, {PID: 2, Part: "sandbox", Inside: true}}}
	s := shareOf([]bench.ActorOutcome{subject("subject", scope)},
		hostAt(1.2), cgroupAt("subject", 0.9), helpersAt("subject", 30e6, map[string]float64{"runtime": 0.02, "sandbox": 0.25}))
	wantShare(t, s, map[string]float64{"guest_cpu": 0.65, "layer_cpu": 0.27, "guest_mem_bytes": 40e6})
	approx(t, "sandbox", s.Parts["sandbox"], 0.25)
}

func TestShareOfAnOwnKernel(t *testing.T) {
	s := shareOf([]bench.ActorOutcome{subject("subject", &bench.Scope{OwnKernel: true, Helpers: append(process("vmm"), process("vhost")...)})},
		hostAt(1.5), cgroupAt("subject", 1.3), agentAt("subject", 0.8),
		helpersAt("subject", 600e6, map[string]float64{"vcpu": 1, "iothread": 0.2, "vmm": 0.1, "vhost": 0.05}))
	wantShare(t, s, map[string]float64{"guest_cpu": 0.8, "layer_cpu": 0.55, "other_cpu": 0.14, "unattributed_cpu": 0.01, "guest_mem_bytes": 50e6, "layer_mem_bytes": 450e6,
		"other_mem_bytes": 300e6, "guest_disk_read_bytes_per_s": 6e6, "other_disk_read_bytes_per_s": nan, "other_disk_write_bytes_per_s": 0.5e6})
	if !strings.Contains(strings.Join(s.Notes, "\n"), "its page cache serves them") {
		t.Errorf("notes %q", s.Notes)
	}
	approx(t, "vcpu beyond the guest", s.Parts["vcpu"], 0.2)

	s = shareOf([]bench.ActorOutcome{subject("subject", &bench.Scope{OwnKernel: true, Helpers: process("vmm")})},
		hostAt(1.5), agentAt("subject", 0.8), helpersAt("subject", 600e6, map[string]float64{"vcpu": 0.5, "iothread": 0, "vmm": 0.1}))
	wantShare(t, s, map[string]float64{"guest_cpu": 0.5, "layer_cpu": 0.1, "unattributed_cpu": 0.01})
	if !strings.Contains(strings.Join(s.Notes, "\n"), "took 0.80 cores for busy in which its vCPU threads ran 0.50 only") {
		t.Errorf("notes %q", s.Notes)
	}
}

// All of a user-mode kernel is in its control group.
func TestShareOfAUserModeKernel(t *testing.T) {
	s := shareOf([]bench.ActorOutcome{subject("subject", &bench.Scope{OwnKernel: true, Helpers: process("kernel")})},
		hostAt(1.5), cgroupAt("subject", 1.3), agentAt("subject", 0.8), helpersAt("subject", 600e6, map[string]float64{"kernel": 0.6}))
	wantShare(t, s, map[string]float64{"guest_cpu": 0.8, "layer_cpu": 0.5, "other_cpu": 0.19, "guest_mem_bytes": 50e6, "layer_mem_bytes": 450e6})
	if _, kernel := s.Parts["kernel"]; kernel {
		t.Errorf("parts %v", s.Parts)
	}
	approx(t, "beyond the guest", s.Parts["vcpu"], 0.5)
}

func TestSharedDaemonsCountOnceAndOthersApart(t *testing.T) {
	scope := &bench.Scope{Helpers: process("shim"), Shared: process("daemon")}
	peer := bench.ActorOutcome{Actor: "peer", Role: bench.Peer, Platform: bench.PlatformRef{Name: "native"}, Scope: &bench.Scope{}}
	parts := map[string]float64{"shim": 0.01, "daemon": 0.1}
	s := shareOf([]bench.ActorOutcome{peer, subject("subject", scope), subject("subject-2", scope)},
		hostAt(1.5), cgroupAt("peer", 0.3), cgroupAt("subject", 0.4), cgroupAt("subject-2", 0.5),
		helpersAt("subject", 9e6, parts), helpersAt("subject-2", 9e6, parts), agentAt("subject", 0), agentAt("subject-2", 0))
	wantShare(t, s, map[string]float64{"guest_cpu": 0.9, "layer_cpu": 0.12, "other_cpu": 1.49 - 0.3 - 0.9 - 0.12, "guest_mem_bytes": 80e6,
		"layer_mem_bytes": 9e6 + 4.5e6, "other_mem_bytes": 900e6 - 120e6 - 13.5e6})
	approx(t, "peer", s.Actors[bench.Peer], 0.3)
}

// What a cluster's members use is the subject's, and their daemons are counted once.
func TestMembersCountAsTheSubject(t *testing.T) {
	scope := &bench.Scope{Helpers: process("shim"), Shared: process("daemon")}
	member := subject("member", scope)
	member.Role = bench.Member
	parts := map[string]float64{"shim": 0.01, "daemon": 0.1}
	s := shareOf([]bench.ActorOutcome{subject("subject", scope), member}, hostAt(1.5), cgroupAt("subject", 0.4), cgroupAt("member", 0.5),
		helpersAt("subject", 9e6, parts), helpersAt("member", 9e6, parts), agentAt("subject", 0), agentAt("member", 0))
	wantShare(t, s, map[string]float64{"guest_cpu": 0.9, "layer_cpu": 0.12, "guest_mem_bytes": 80e6, "layer_mem_bytes": 9e6 + 4.5e6,
		"guest_disk_read_bytes_per_s": 8e6, "net_rx_bytes_per_s": 6e6})
	if len(s.Actors) > 0 {
		t.Errorf("beside the subject: %v", s.Actors)
	}
}

func TestDiskTrafficOfTheLayer(t *testing.T) {
	helpers := func(actor string, disk map[string]float64, parts ...string) []bench.Sample {
		cpu := map[string]float64{}
		for _, p := range parts {
			cpu[p] = 0.01
		}
		samples := helpersAt(actor, 1e6, cpu)
		for _, s := range samples {
			for p, v := range disk {
				s.Values[bench.ReadOf(p)] = 1000 + v*(float64(s.At)/1e9-every[0])
			}
		}
		return samples
	}
	scope := &bench.Scope{Helpers: process("shim"), Shared: process("daemon")}
	disk := map[string]float64{"shim": 0.1e6, "daemon": 0.3e6}
	s := shareOf([]bench.ActorOutcome{subject("subject", scope), subject("subject-2", scope)}, hostWith(1, 0.9, map[string]float64{bench.ColDiskRead: 10e6}),
		cgroupAt("subject", 0.1), cgroupAt("subject-2", 0.1), helpers("subject", disk, "shim", "daemon"), helpers("subject-2", disk, "shim", "daemon"))
	wantShare(t, s, map[string]float64{"guest_disk_read_bytes_per_s": 8e6, "layer_disk_read_bytes_per_s": 0.1e6 + 0.1e6 + 0.3e6, "other_disk_read_bytes_per_s": 1.5e6, "layer_disk_write_bytes_per_s": 0})

	vm := &bench.Scope{OwnKernel: true, Helpers: process("vmm")}
	for vmm, beyond := range map[float64]float64{6.5e6: 0.5e6, 2e6: 0} {
		s = shareOf([]bench.ActorOutcome{subject("subject", vm)}, hostWith(1, 0.9, map[string]float64{bench.ColDiskRead: 10e6}),
			agentAt("subject", 0.1), helpers("subject", map[string]float64{"vmm": vmm}, "vmm"))
		wantShare(t, s, map[string]float64{"guest_disk_read_bytes_per_s": 6e6, "layer_disk_read_bytes_per_s": beyond, "other_disk_read_bytes_per_s": 4e6 - beyond})
	}
}

func TestWhatWasNotMeasuredIsAbsent(t *testing.T) {
	scope := &bench.Scope{Helpers: process("shim")}
	ok := func() [][]bench.Sample {
		return [][]bench.Sample{hostAt(1), cgroupAt("subject", 0.5), helpersAt("subject", 1e6, map[string]float64{"shim": 0.01}), agentAt("subject", 0.5)}
	}
	rest := []string{"other_cpu", "unattributed_cpu"}
	for name, c := range map[string]struct {
		spoil func(s [][]bench.Sample)
		scope *bench.Scope
		gone  []string
		note  string
	}{
		"no host meter": {func(s [][]bench.Sample) { s[0] = nil }, scope, slices.Concat(rest, []string{"busy_cpu", "softirq_cpu", "steal_cpu", "other_mem_bytes",
			"disk_read_bytes_per_s", "disk_write_bytes_per_s", "other_disk_read_bytes_per_s", "other_disk_write_bytes_per_s", "other_net_rx_bytes_per_s", "other_net_tx_bytes_per_s"}), "host's proc meter was not read"},
		"no tasks": {func(s [][]bench.Sample) { s[0] = s[0][:len(every)] }, scope, []string{"unattributed_cpu"}, "host's tasks meter was not read"},
		"no traffic of helpers": {func(s [][]bench.Sample) {
			for i := range s[2] {
				delete(s[2][i].Values, bench.ReadOf("shim"))
			}
		}, scope, []string{"layer_disk_read_bytes_per_s"}, ""},
		"no cgroup": {func(s [][]bench.Sample) { s[1] = nil }, scope, slices.Concat(rest, []string{"guest_cpu", "guest_mem_bytes", "other_mem_bytes", "migrate_bytes",
			"guest_disk_read_bytes_per_s", "guest_disk_write_bytes_per_s", "other_disk_read_bytes_per_s", "other_disk_write_bytes_per_s"}), "subject's cgroup meter was not read"},
		"no helper": {func(s [][]bench.Sample) { s[2] = nil }, scope, slices.Concat(rest, []string{"layer_cpu", "layer_mem_bytes", "other_mem_bytes", "layer_disk_read_bytes_per_s", "layer_disk_write_bytes_per_s"}),
			"subject's helpers meter was not read"},
		"scope not known": {func([][]bench.Sample) {}, nil, slices.Concat(rest, []string{"guest_cpu", "layer_cpu", "guest_mem_bytes", "layer_mem_bytes", "other_mem_bytes", "migrate_bytes",
			"guest_disk_read_bytes_per_s", "guest_disk_write_bytes_per_s", "layer_disk_read_bytes_per_s", "layer_disk_write_bytes_per_s", "other_disk_read_bytes_per_s", "other_disk_write_bytes_per_s"}), "not recorded where its cost was paid"},
		"column missing": {func(s [][]bench.Sample) {
			for i := range s[1] {
				delete(s[1][i].Values, bench.ColCPUBusy)
			}
		}, scope, append([]string{"guest_cpu"}, rest...), "subject's cgroup meter lacks cpu_busy_s"},
		"missing at the edge": {func(s [][]bench.Sample) { delete(s[1][5].Values, bench.ColCPUBusy) }, scope, append([]string{"guest_cpu"}, rest...), "lacks cpu_busy_s"},
		"counter reset": {func(s [][]bench.Sample) {
			for i := 4; i < len(s[1]); i++ {
				s[1][i].Values[bench.ColCPUBusy] += 500 * float64(i-4) // ends above where it began
			}
			s[1][4].Values[bench.ColCPUBusy] = 0
		}, scope, append([]string{"guest_cpu"}, rest...), "cpu_busy_s went backwards"},
		"a part of the window": {func(s [][]bench.Sample) { s[1] = s[1][:5] }, scope, slices.Concat(rest, []string{"guest_cpu",
			"guest_disk_read_bytes_per_s", "guest_disk_write_bytes_per_s", "other_disk_read_bytes_per_s", "other_disk_write_bytes_per_s"}), "too little of the window"},
		"more than the host": {func(s [][]bench.Sample) { s[0] = hostAt(0.3) }, scope, rest, "0.22 cores more than the whole host"},
		"VMM not known": {func([][]bench.Sample) {}, &bench.Scope{OwnKernel: true},
			slices.Concat(rest, []string{"layer_cpu", "layer_mem_bytes", "other_mem_bytes", "migrate_bytes", "layer_disk_read_bytes_per_s", "layer_disk_write_bytes_per_s", "other_disk_read_bytes_per_s"}), "no vCPU threads were read"},
	} {
		samples := ok()
		c.spoil(samples)
		s := shareOf([]bench.ActorOutcome{subject("subject", c.scope)}, samples...)
		for _, f := range s.Figures() {
			if f.Known == slices.Contains(c.gone, f.Name) {
				t.Errorf("%s: %s known: %v; notes %q", name, f.Name, f.Known, s.Notes)
			}
		}
		if !strings.Contains(strings.Join(s.Notes, "\n"), c.note) {
			t.Errorf("%s: notes %q", name, s.Notes)
		}
	}
}

// A host's counters whose parts do not sum to its whole: what is missing shows,
// by itself, whatever the rest of the host does.
func TestWhatIsMissingIsUnattributed(t *testing.T) {
	scope := &bench.Scope{Helpers: process("shim")}
	usage := func(host []bench.Sample) result.Usage {
		s := shareOf([]bench.ActorOutcome{subject("subject", scope)}, host, cgroupAt("subject", 0.8),
			helpersAt("subject", 1e6, map[string]float64{"shim": 0.05}), agentAt("subject", 0.8))
		sc := &bench.Scene{ID: "s", Platform: bench.PlatformRef{Name: "p"}}
		return Of(sc, "", []*Launch{s})
	}
	for name, c := range map[string]struct {
		host               []bench.Sample
		rest, unattributed float64
		note               string
	}{
		"all found":                   {hostWith(1, 1, nil), 0.15, 0, ""},
		"2 %":                         {hostWith(1, 0.98, nil), 0.13, 0.02, ""},
		"10 %":                        {hostWith(1, 0.9, nil), 0.05, 0.1, "10.0 % of the host's busy time (0.100 cores) are unattributed"},
		"more than all":               {hostWith(1, 1.05, nil), 0.2, -0.05, "the parts exceed the host's busy time by 5.0 %"},
		"interrupts apart":            {hostWith(1, 0.9, map[string]float64{bench.ColCPUIRQ: 0.04, bench.ColCPUSoftIRQ: 0.05}), 0.14, 0.01, ""},
		"interrupts on idle CPUs":     {idling(sampledInterrupts(hostWith(1, 0.93, nil))), 0.14, 0.01, ""},
		"idle CPUs, interrupts apart": {idling(hostWith(1, 0.93, map[string]float64{bench.ColCPUIRQ: 0.04, bench.ColCPUSoftIRQ: 0.02})), 0.14, 0.01, ""},
		"interrupts sampled":          {sampledInterrupts(hostWith(1, 0.9, nil)), 0.05, 0.1, "unattributed"},
	} {
		u := usage(c.host)
		if !u.Unattributed.Known || u.UnattributedShare == nil {
			t.Errorf("%s: absent; notes %q", name, u.Notes)
			continue
		}
		approx(t, name+": rest", u.OtherCPU.Value, c.rest)
		approx(t, name+": unattributed", u.Unattributed.Value, c.unattributed)
		approx(t, name+": share", *u.UnattributedShare, c.unattributed)
		approx(t, name+": sum", u.GuestCPU.Value+u.LayerCPU.Value+u.OtherCPU.Value+u.Unattributed.Value, u.BusyCPU.Value)
		sum := 0.0
		for _, v := range u.OtherParts {
			sum += v
		}
		approx(t, name+": parts of the rest", sum, u.OtherCPU.Value)
		if notes := strings.Join(u.Notes, "\n"); (notes == "") != (c.note == "") || !strings.Contains(notes, c.note) {
			t.Errorf("%s: notes %q", name, notes)
		}
	}
}

// sampledInterrupts gives a host the counters of a kernel that samples
// interrupts at its ticks: hard ones are zero since boot, soft ones are in
// tasks' time already.
func sampledInterrupts(host []bench.Sample) []bench.Sample {
	for _, s := range host {
		if s.Meter == "proc" {
			s.Values[bench.ColCPUIRQ] = 0
		}
	}
	return host
}

// idling adds to a host what its CPUs do that run no task: 0.06 cores of
// interrupts, and 0.03 out of idle, which are in no part.
func idling(host []bench.Sample) []bench.Sample {
	return slices.Concat(host, counters(bench.Host, "", "idle",
		map[string]float64{bench.ColIdleIRQ: 0.06}, every...))
}

func TestBusyTimeOfAMachineIsCoarse(t *testing.T) {
	for fall, fell := range map[float64]bool{0.02: false, 0.05: true} {
		host := hostAt(1)
		host[3].Values[bench.ColCPUBusy] = host[2].Values[bench.ColCPUBusy] - fall
		s := shareOf(nil, host)
		if known := s.BusyCPU.Known; known == fell {
			t.Errorf("a fall by %g s: known: %v; notes %q", fall, known, s.Notes)
		}
	}
}

// Table 4 of tesfatsion2018: Xen used 4.2 % in the guest, 1.16 % in the
// hypervisor and 2.5 % in Dom0. The paper says 46 %, which is extra over
// total; its equation 3 gives 87 %.
func TestEquation3OnTheNumbersOfTable4(t *testing.T) {
	guest, layer := result.Known(0.042), result.Known(0.0116+0.025)
	got := equation3(guest, layer)
	if math.Round(100**got) != 87 {
		t.Errorf("%g", *got)
	}
	if wrong := layer.Value / (guest.Value + layer.Value); math.Abs(wrong-0.46) > 0.006 {
		t.Errorf("extra over total: %g", wrong)
	}
	layer.Known = false
	if equation3(guest, layer) != nil {
		t.Error("an overhead was made of what is absent")
	}
}

// Equation 3 of the disk is of reads and writes together, if both are known of both.
func TestTogether(t *testing.T) {
	guest, layer := together(result.Known(3e6), result.Known(1e6)), together(result.Known(0), result.Known(1e6))
	if got := equation3(guest, layer); got == nil || *got != 0.25 {
		t.Errorf("%v", got)
	}
	if got := together(result.Known(3e6), result.Measured{}); got.Known || got.Value != 0 {
		t.Errorf("%+v", got)
	}
}

// A program that has ended by the closing edge has given its memory back there.
func TestLevelWithinTheWindow(t *testing.T) {
	for name, c := range map[string]struct {
		readings []float64
		want     float64
	}{
		"one":         {[]float64{7}, 7},
		"two":         {[]float64{200, 5}, 200},
		"two, rising": {[]float64{5, 200}, 200},
		"three":       {[]float64{100, 150, 5}, 150},
		"a gap":       {[]float64{100, math.NaN(), 5}, 5},
	} {
		var tr Counters
		for i, v := range c.readings {
			s := bench.Sample{At: int64(i), Level: bench.Layer, Values: map[string]float64{bench.ColCPUBusy: float64(i)}}
			if i == 0 || !math.IsNaN(v) {
				s.Values[bench.ColMemUsed] = v
			}
			tr.Add(&s)
		}
		if got, why := tr.Level(bench.ColMemUsed); got != c.want || why != "" {
			t.Errorf("%s: %v (%s), want %v", name, got, why, c.want)
		}
	}
}

// Idle instances that are read as a crowd are among the others, and what
// they do not tell hides nothing of the rest.
func TestShareBesideIdleInstances(t *testing.T) {
	idle := func(name string) (bench.ActorOutcome, []bench.Sample) {
		a := subject(name, &bench.Scope{Cgroups: map[string]string{"cpuacct": "x"}, Helpers: process("shim")})
		a.Role = bench.Idle
		return a, counters(bench.Layer, name, "quiet", map[string]float64{bench.ColCPUBusy: 0.05, bench.ColMemCharged: 2e6, bench.ColMemRSS: 20e6}, every...)
	}
	one, first := idle("idle")
	two, second := idle("idle-2")
	alone := shareOf([]bench.ActorOutcome{subject("subject", &bench.Scope{})}, hostAt(1.3), cgroupAt("subject", 0.9))
	s := shareOf([]bench.ActorOutcome{subject("subject", &bench.Scope{}), one, two}, hostAt(1.3), cgroupAt("subject", 0.9), first, second)
	approx(t, "idle", s.Actors[bench.Idle], 0.1)
	approx(t, "rest memory", s.OtherMem.Value, alone.OtherMem.Value-44e6)
	for _, field := range []string{"guest_cpu", "layer_cpu", "guest_mem_bytes", "layer_mem_bytes", "disk_read_bytes_per_s", "guest_disk_read_bytes_per_s", "other_disk_read_bytes_per_s", "busy_cpu"} {
		if got, want := figureOf(s, field), figureOf(alone, field); got != want {
			t.Errorf("%s is %+v, without the idle ones %+v", field, got, want)
		}
	}
}

// Of a machine without an agent the host sees what its monitor's threads used, and the guest's part of
// it is not known; the sums hold all the same.
func TestAMachineWithoutAnAgentIsItsLayers(t *testing.T) {
	a := subject("subject", &bench.Scope{OwnKernel: true, Cgroups: map[string]string{"unified": "/x"}, Helpers: process("vmm")})
	a.Platform.Options = map[string]string{bench.GuestOption: bench.OwnGuest}
	s := shareOf([]bench.ActorOutcome{a}, hostAt(1.5), cgroupAt("subject", 0.9),
		helpersAt("subject", 80e6, map[string]float64{"vcpu": 0.7, "vmm": 0.2, "iothread": 0}))
	wantShare(t, s, map[string]float64{"guest_cpu": nan, "layer_cpu": 0.9, "guest_mem_bytes": nan, "layer_mem_bytes": 80e6, "other_cpu": 1.5 - 0.01 - 0.9, "other_mem_bytes": 820e6})
	if !s.GuestInLayer || len(s.Notes) == 0 || !strings.Contains(strings.Join(s.Notes, "; "), "subject has no agent: what its guest used is in the layer's figures") {
		t.Errorf("guest in layer: %t; notes %q", s.GuestInLayer, s.Notes)
	}
}

// What a peer on a further host used is that host's, whatever is known of it.
func TestAnotherHostPays(t *testing.T) {
	peer := bench.ActorOutcome{Actor: "peer", Role: bench.Peer, Host: "load1", Platform: bench.PlatformRef{Name: "native"}, Scope: &bench.Scope{OwnKernel: true}}
	s := shareOf([]bench.ActorOutcome{subject("a", &bench.Scope{Cgroups: map[string]string{"unified": "/x"}}), peer}, hostAt(1.2), cgroupAt("a", 0.7),
		counters(bench.Guest, "peer", "agent", map[string]float64{bench.ColCPUBusy: 3, bench.ColMemUsed: 8e9}, every...))
	approx(t, "the subject", s.GuestCPU.Value, 0.7)
	if len(s.Actors) > 0 || !s.OtherCPU.Known {
		t.Errorf("others %v, the rest of the host %+v", s.Actors, s.OtherCPU)
	}
	approx(t, "the rest of the host", s.OtherCPU.Value, 0.49)
}
