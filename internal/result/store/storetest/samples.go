package storetest

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"tare/internal/bench"
)

// A source is one reader of a trial with the rates of its counters and the
// levels of its gauges.
type source struct {
	level bench.Level
	actor string
	meter string
	took  int64
	rates map[string]float64 // per second, of counters
	now   map[string]float64 // gauges
	total map[string]float64
}

// samples reads every source at the window's edges and once a second between.
func (g *generator) samples(c caseModel, s *bench.Scene, window [2]int64) []bench.Sample {
	sources := g.sources(c, s)
	var out []bench.Sample
	for at := window[0]; at <= window[1]; at += second {
		for i, src := range sources {
			late := int64(i) * 40_000
			if src.meter != "tasks" { // read right after the host's other counters
				late += int64(30_000 * g.jitter(0.8))
			}
			values := make(map[string]float64, len(src.rates)+len(src.now))
			for k, r := range src.rates {
				if at > window[0] {
					src.total[k] += r * (1 + 0.05*math.Sin(float64(at/second)+phase(k)))
				}
				values[k] = math.Round(src.total[k]*1e6) / 1e6
			}
			for k, v := range src.now {
				values[k] = math.Round(v * (1 + 0.01*math.Sin(float64(at/second))))
			}
			smp := bench.Sample{At: at, Late: late, Took: src.took, CPU: src.took * 9 / 10,
				Level: src.level, Actor: src.actor, Meter: src.meter, Values: values}
			if src.level == bench.Guest {
				smp.Guest = at + late - 900*second
			}
			out = append(out, smp)
		}
	}
	return out
}

// phase sets counters apart in how they swing. What the whole host counts swings
// with what its instances do.
func phase(column string) float64 {
	if column == bench.ColCPUTasks {
		column = bench.ColCPUBusy
	}
	return float64(len(column))
}

func (g *generator) sources(c caseModel, s *bench.Scene) []source {
	var out []source
	add := func(src source) {
		src.total = map[string]float64{}
		for k, r := range src.rates {
			src.total[k] = math.Round(1000 * (r + 1))
		}
		out = append(out, src)
	}
	busy, disk, net, mem := 0.06, 2e4, 1e3, 300e6 // of the rest of the host
	shared := false                               // Docker's daemons are counted
	for _, a := range s.Actors {
		cores := cmp.Or(g.Cores, c.cores)
		switch a.Role {
		case bench.Peer:
			cores = 0.25
		case bench.Neighbour:
			cores = 0.2
		}
		d, n := c.disk, c.net
		if a.Role != bench.Subject {
			d, n = 0, 0
		}
		ratio := g.Ratio[a.Platform.Name]
		layer := layerCPU(a.Platform.Name)
		vcpu := 0.0
		cg := cores
		if ownKernel(a.Platform.Name) {
			vcpu, cg = cores+0.02, 0
		}
		disk, net = disk+d*ratio, net+n*ratio
		add(source{level: bench.Guest, actor: a.Name, meter: "agent", took: 150_000,
			rates: map[string]float64{bench.ColCPUUser: cores * 0.9, bench.ColCPUSystem: cores * 0.1, bench.ColCPUIdle: 1 - cores,
				bench.ColCPUIOWait: 0.01, bench.ColCPUSteal: 0.003, bench.ColCPUBusy: cores, bench.ColDiskRead: d * ratio,
				bench.ColDiskWrite: 1e3, bench.ColNetRx: n * ratio, bench.ColNetTx: n * ratio},
			now: map[string]float64{bench.ColMemUsed: 60e6, bench.ColMemCache: 120e6}})
		for _, part := range slices.Sorted(maps.Keys(layer)) {
			if common := part == "daemon" || part == "containerd"; !common || !shared {
				busy += layer[part]
			}
		}
		shared = shared || a.Platform.Name == "docker"
		if mem += helperMem(a.Platform.Name); cg > 0 {
			mem += 42e6
			add(source{level: bench.Layer, actor: a.Name, meter: "cgroup", took: 90_000,
				rates: map[string]float64{bench.ColCPUBusy: cg, bench.ColCPUUser: cg * 0.9, bench.ColCPUSystem: cg * 0.1,
					bench.ColDiskRead: d * ratio, bench.ColDiskWrite: 1e3},
				now: map[string]float64{bench.ColMemUsed: 42e6, bench.ColMemCache: 100e6, bench.ColMemShared: 3e6, bench.ColMemRSS: 30e6}})
			busy += cg
		}
		if len(layer) > 0 {
			h := source{level: bench.Layer, actor: a.Name, meter: "helpers", took: 110_000,
				rates: map[string]float64{}, now: map[string]float64{bench.ColMemRSS: helperMem(a.Platform.Name)}}
			for part, cores := range layer {
				h.rates[bench.CPUOf(part)] = cores
				h.rates[bench.ReadOf(part)], h.rates[bench.WrittenOf(part)] = 10, 20
				h.now[bench.MemOf(part)] = helperMem(a.Platform.Name) / float64(len(layer))
			}
			if vcpu > 0 {
				h.rates[bench.CPUOf("vcpu")] = vcpu
				busy += vcpu
			}
			add(h)
		}
	}
	add(source{level: bench.Host, meter: "proc", took: 260_000,
		rates: map[string]float64{bench.ColCPUUser: busy * 0.85, bench.ColCPUSystem: busy * 0.15, bench.ColCPUNice: 0,
			bench.ColCPUIdle: math.Max(0, 2-busy), bench.ColCPUIOWait: 0.02, bench.ColCPUIRQ: 0, bench.ColCPUSoftIRQ: softIRQ,
			bench.ColCPUSteal: 0.04, bench.ColCPUGuest: 0, bench.ColCPUBusy: busy,
			bench.ColDiskRead: disk, bench.ColDiskWrite: 4e4, bench.ColDiskReadOps: disk / 4096, bench.ColDiskWriteOps: 10,
			bench.ColNetRx: net, bench.ColNetTx: net, bench.ColNetRxPackets: net / 100, bench.ColNetTxPackets: net / 100,
			bench.ColPSICPU: 0.05, bench.ColPSIMemory: 0, bench.ColPSIIO: 0.02},
		now: map[string]float64{bench.ColMemUsed: mem, bench.ColMemCache: 4e9}})
	add(source{level: bench.Host, meter: "tasks", took: 20_000,
		rates: map[string]float64{bench.ColCPUTasks: busy - softIRQ - unattributed, bench.ColObserver: 0.004}})
	return out
}

// The host's kernel measures soft interrupts apart from tasks; unattributed is
// what its busy time holds beyond both. In cores.
const softIRQ, unattributed = 0.01, 0.005

// layerCPU is what the helpers of an instance use, in cores, by part.
func layerCPU(platform string) map[string]float64 {
	switch platform {
	case "docker":
		return map[string]float64{"shim": 0.001, "daemon": 0.004, "containerd": 0.002}
	case "lxc":
		return map[string]float64{"monitor": 0.0005}
	case "kvm", "qemu-tcg":
		return map[string]float64{"iothread": 0.01, "vmm": 0.03}
	}
	return nil
}

func helperMem(platform string) float64 {
	switch platform {
	case "docker":
		return 108e6
	case "lxc":
		return 1.4e6
	}
	return 640e6
}
