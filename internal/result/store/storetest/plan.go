package storetest

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"tare/internal/bench"
	"tare/internal/host"
	"tare/internal/result/store"
)

// A caseModel is what the generator knows of a case.
type caseModel struct {
	name, title string
	kind        bench.SceneKind
	workload    string
	factors     map[string]string
	params      bench.Params
	peer        bool
	instances   int
	metrics     []bench.Metric
	native      []float64 // value of each metric on native
	cores       float64   // CPU used by one instance on native
	disk, net   float64   // bytes per second on native
}

func rate(name, unit string) bench.Metric {
	return bench.Metric{Name: name, Unit: unit, Better: bench.HigherIsBetter, Combine: bench.Sum, Headline: true}
}

func latency(name, unit string) bench.Metric {
	return bench.Metric{Name: name, Unit: unit, Better: bench.LowerIsBetter, Combine: bench.Mean}
}

func percentile(name, unit string, q float64) bench.Metric {
	return bench.Metric{Name: name, Unit: unit, Better: bench.LowerIsBetter, Combine: bench.Merge, Histogram: "latency", Quantile: q}
}

var cases = []caseModel{
	{name: "cpu", title: "prime search, 1 thread", kind: bench.One, workload: "sysbench-cpu", instances: 1,
		factors: map[string]string{"threads": "1"}, params: bench.Params{"threads": "1", "max_prime": "20000"},
		metrics: []bench.Metric{rate("throughput", "events/s"), percentile("p95_latency", "ms", 0.95)}, native: []float64{1180, 0.87}, cores: 0.98},
	{name: "memory", title: "STREAM", kind: bench.One, workload: "stream", instances: 1,
		metrics: []bench.Metric{{Name: "copy", Unit: "GB/s", Better: bench.HigherIsBetter, Combine: bench.Sum},
			rate("triad", "GB/s")}, native: []float64{11.8, 12.6}, cores: 0.99},
	{name: "disk", title: "random read, 4 KiB", kind: bench.One, workload: "fio", instances: 1,
		params:  bench.Params{"mode": "randread", "block": "4096"},
		metrics: []bench.Metric{rate("iops", "IOPS"), percentile("p99_latency", "us", 0.99)}, native: []float64{17100, 410}, cores: 0.3, disk: 70e6},
	{name: "network", title: "request and response, 64 bytes", kind: bench.One, workload: "netperf", instances: 1, peer: true,
		params:  bench.Params{"mode": "TCP_RR", "size": "64"},
		metrics: []bench.Metric{rate("transactions", "transactions/s"), latency("mean_latency", "us")}, native: []float64{21000, 47}, cores: 0.6, net: 5e6},
	{name: "four-alike", title: "prime search in four instances", kind: bench.Alike, workload: "sysbench-cpu", instances: 4,
		params:  bench.Params{"threads": "1", "max_prime": "20000"},
		metrics: []bench.Metric{rate("throughput", "events/s"), percentile("p95_latency", "ms", 0.95)}, native: []float64{2340, 1.9}, cores: 0.49},
	{name: "beside", title: "prime search beside a disk hog", kind: bench.Beside, workload: "sysbench-cpu", instances: 1,
		params:  bench.Params{"threads": "1", "max_prime": "20000"},
		metrics: []bench.Metric{rate("throughput", "events/s"), percentile("p95_latency", "ms", 0.95)}, native: []float64{1010, 1.1}, cores: 0.9, disk: 50e6},
	{name: "startup", title: "start-up", kind: bench.Startup, instances: 1,
		metrics: bench.StartupMetrics, native: []float64{4.1, 6.2}, cores: 0.1},
}

// Cases lists the names that Options.Cases may hold.
func Cases() []string {
	names := make([]string, len(cases))
	for i, c := range cases {
		names[i] = c.name
	}
	return names
}

func caseOf(name string) caseModel {
	i := slices.IndexFunc(cases, func(c caseModel) bool { return c.name == name })
	if i < 0 {
		panic(fmt.Sprintf("storetest: no case %q", name))
	}
	return cases[i]
}

const spec = "# a synthetic run: nothing in it was measured\nname: synthetic\n"

func (g *generator) plan() *bench.Plan {
	p := &bench.Plan{
		Experiment: "synthetic", Title: "A synthetic run", Question: "What do isolation platforms cost here?",
		Seed: g.Seed, Blocks: g.Blocks, Baseline: g.Platforms[0].String(), Margin: 0.03,
		Metrics:  map[string][]bench.Metric{},
		Skipped:  []bench.Skip{{Platform: "kvm", Reason: "the trial boot did not finish within 20 s", Hint: "see tare doctor"}},
		Warnings: []string{"subject and observer share CPU 0: the host has 2 CPUs"},
	}
	for _, name := range g.Cases {
		c := caseOf(name)
		p.Metrics[name] = c.metrics
		for _, ref := range g.Platforms {
			p.Scenes = append(p.Scenes, g.scene(c, ref))
		}
	}
	for b := 1; b <= g.Blocks; b++ {
		for _, i := range g.rng.Perm(len(p.Scenes)) {
			p.Trials = append(p.Trials, bench.Trial{
				ID: fmt.Sprintf("b%02d-t%03d", b, len(p.Trials)+1), Block: b, Scene: p.Scenes[i].ID})
		}
	}
	p.Estimate = float64(len(p.Trials) * (g.Seconds + 8))
	return p
}

func (g *generator) scene(c caseModel, ref bench.PlatformRef) bench.Scene {
	s := bench.Scene{
		ID: c.name + "/" + ref.String(), Kind: c.kind, Case: c.name, Title: c.title, Platform: ref,
		Factors: maps.Clone(c.factors),
		Timing:  bench.Timing{Warmup: 5 * time.Second, Measure: time.Duration(g.Seconds) * time.Second, Cooldown: time.Second},
	}
	shape := bench.Shape{CPUs: 1, Memory: 512 * bench.MiB, Disk: bench.GiB}
	actor := func(name string, role bench.Role, p bench.PlatformRef, cpu int) *bench.Actor {
		s.Actors = append(s.Actors, bench.Actor{Name: name, Role: role, Host: "local", Platform: p, Shape: shape, CPUSet: []int{cpu}})
		return &s.Actors[len(s.Actors)-1]
	}
	for i := range c.instances {
		name := "subject"
		if i > 0 {
			name = fmt.Sprintf("subject-%d", i+1)
		}
		a := actor(name, bench.Subject, ref, 1)
		a.Workload, a.Params = c.workload, c.params
		if c.workload != "" {
			a.Part = bench.SubjectPart
		}
	}
	if c.peer {
		a := actor("peer", bench.Peer, bench.PlatformRef{Name: "native"}, 0)
		a.Workload, a.Params, a.Part, a.Serves = c.workload, c.params, "server", "subject"
	}
	if c.kind == bench.Beside {
		a := actor("neighbour", bench.Neighbour, ref, 0)
		a.Workload, a.Params, a.Part = "fio", bench.Params{"mode": "randwrite"}, bench.SubjectPart
	}
	return s
}

func header(o Options) store.Header {
	h := store.Header{
		Run: fmt.Sprintf("synthetic-%d", o.Seed), Tare: "0.1.0", Agent: "0.1.0",
		Image:     "sha256:5f2b7c0e7d0a4d6a0c7f4c1f8f0f2a6f7f5b8f6f3c9e1d2b3a4958677f6e5d4c",
		ImageMade: "2025-11-20T09:00:00Z",
		Programs:  map[string]string{"sysbench": "1.0.20", "fio": "3.39", "netperf": "2.7.1", "hpcc": "1.5.0"},
		Started:   "2025-11-21T10:00:00Z", Command: []string{"tare", "run", "quick"}, Spec: "quick", ObserverCPUs: []int{0},
		Platforms: map[string]store.Platform{},
	}
	for _, p := range o.Platforms {
		h.Platforms[p.Driver()] = store.Platform{Version: version(p.Name), Label: label(p.Name), Files: files(p.Name)}
	}
	return h
}

func version(platform string) string {
	switch platform {
	case "docker":
		return "20.10.24"
	case "lxc":
		return "5.0.2"
	case "kvm", "qemu-tcg":
		return "7.2.22"
	}
	return "6.12.1"
}

func files(platform string) []bench.ProgramFile {
	if platform != "lxc" {
		return nil
	}
	return []bench.ProgramFile{{Name: "lxc-execute", Path: "/usr/bin/lxc-execute", Size: 34_816,
		Digest: "sha256:9d2a6c51b0f2f0e7c87a4e2b90b1f6ad3c58e7f2d1a4960b7c3e5f8192a3b4c5"}}
}

func label(platform string) string {
	if platform == "qemu-tcg" {
		return "emulated (tcg)"
	}
	return ""
}

func facts() *host.Facts {
	return &host.Facts{
		Hostname: "synthetic", OS: "Debian GNU/Linux 12 (bookworm)", Kernel: "6.12.1", Arch: "x86_64",
		CPUModel: "Synthetic CPU", CPUs: 2, Usable: []int{0, 1}, Sockets: 1, NUMANodes: 1, SMT: "off",
		Caches: map[string]bench.Bytes{"L1d": 32 * bench.KiB, "L2": bench.MiB, "L3": 32 * bench.MiB}, LLC: 32 * bench.MiB,
		Memory: 24 * bench.GiB, Hypervisor: "kvm", Cgroup: "hybrid", Controllers: []string{"cpu", "memory"},
		Governor: "not exposed", Turbo: "not exposed", THP: "madvise", KSM: "off", ASLR: "random", ClockSource: "tsc",
		Mitigations: map[string]string{"spectre_v2": "Mitigation: Retpolines"}, Filesystem: "ext4 on /dev/vda",
		DiskFree: 100 * bench.GiB, MissingCaps: []string{"CAP_SYS_RESOURCE"}, NoFile: 20000, PSI: true,
		BootID: "00000000-0000-0000-0000-000000000001", Root: true,
		Caveats: []string{"this host is itself a virtual machine: steal time and neighbours are not ours to control"},
	}
}
