package selftest

import (
	"fmt"
	"strings"

	"tare/internal/bench"
)

// mechanism is a way to make a platform slower by a known share.
type mechanism struct {
	// scene is the one on which it is tried, in the words of a specification;
	// what limits the slow side limits the other as well, so that only the
	// limit's height differs and the true ratio is known.
	scene string
	// key is the specification's word for the slowdown.
	key string
	// truth is the ratio of the headline value to that without the slowdown.
	truth func(slowdown float64) float64
	says  string // how the truth is known, for people
}

// mechanisms by the name of their case.
var mechanisms = map[string]mechanism{
	"cpu": {
		// The quotas are so low that they decide what the program gets, and not
		// eight others that want the same CPU. They are given out every 20 ms: at
		// what point of a period the program begins or ends matters little.
		scene: `
  - name: cpu
    title: Finding primes for two seconds, with a tenth of a CPU
    workload: command
    shape: {cpu_quota: 0.1, cpu_period: 20ms}
    params:
      argv: [sysbench, cpu, --cpu-max-prime=5000, --time=2, --events=0, run]
      metrics: [{name: throughput, unit: events/s, better: higher, regex: 'events per second: *([0-9.]+)', headline: true}]`,
		key:   "cpu",
		truth: func(x float64) float64 { return 1 - x },
		says:  "a tenth of a CPU by quota against that much less of it; the ratio of throughputs is that of the quotas",
	},
	"disk": {
		// The kernel hands such a limit out in slices of 100 ms, so the time is a
		// multiple of it, and fixed: a fixed number of reads would end a slice early
		// or late. The reads still in the queue at the end are counted by fio as well; with a
		// queue of 4 that moves the ratio by less than 0.3 % of itself.
		scene: `
  - name: disk
    title: Random reads of 4 KiB for two seconds, 200 a second
    workload: command
    shape: {disk_iops: 200}
    params:
      argv: [fio, --name=inject, --directory=/scratch, --size=4m, --rw=randread, --bs=4k, --direct=1, --ioengine=libaio,
        --iodepth=4, --thread, --time_based, --runtime=2s, --output-format=json]
      metrics: [{name: iops, unit: IOPS, better: higher, json: 'jobs[0].read.iops', headline: true}]`,
		key:   "disk",
		truth: func(x float64) float64 { return 1 - x },
		says:  "a limit of 200 reads a second against that much less; the ratio of rates is that of the limits",
	},
	"startup": {
		scene: `
  - name: startup
    title: Start-up to the end of the first command
    startup: true`,
		key:   "startup",
		truth: func(x float64) float64 { return 1 + x },
		says:  "each launch of the slow side is lengthened by that share of its own time; the ratio of times is exact",
	},
}

// InjectCases lists the slowdowns, by the name of the case they are tried on.
func InjectCases() []string { return []string{"cpu", "startup", "disk"} }

// slowName is the second name of a platform slowed by a share: cpu5.
func slowName(name string, slowdown float64) string {
	return name + strings.ReplaceAll(fmt.Sprintf("%g", percent(slowdown)), ".", "-")
}

// percent is a share in percent without the noise of its binary form.
func percent(share float64) float64 { return float64(int64(share*1e6+0.5)) / 1e4 }

// InjectSpec writes the experiment in which every platform is measured as it
// is and slowed down by each of the shares, of 1, in each of the cases.
func InjectSpec(platforms, names []string, slowdowns []float64, blocks int) ([]byte, error) {
	var b, inject, scenes strings.Builder
	all := append([]string{}, platforms...)
	for _, n := range names {
		m, ok := mechanisms[n]
		if !ok {
			return nil, fmt.Errorf("%w: %w", bench.UnknownWord("slowdown", n, InjectCases()), bench.ErrInvalid)
		}
		here := append([]string{}, platforms...)
		for _, p := range platforms {
			for _, x := range slowdowns {
				slow := withAlias(p, slowName(n, x))
				here = append(here, slow)
				fmt.Fprintf(&inject, "\n  - {platform: %q, %s: %g%%}", slow, m.key, percent(x))
			}
		}
		all = append(all, here[len(platforms):]...)
		fmt.Fprintf(&scenes, "%s\n    platforms: [%s]", m.scene, yamlList(here))
	}
	fmt.Fprintf(&b, "name: selftest-inject\ntitle: Is a known slowdown found?\nplatforms: [%s]\nbaseline: %q\n", yamlList(all), platforms[0])
	fmt.Fprintf(&b, "shape: {cpus: 1, memory: 256MiB, disk: 256MiB}\ntiming: {warmup: 0s, measure: 2s, cooldown: 0s}\n")
	fmt.Fprintf(&b, "blocks: %d\nmargin: %g\ninject:%s\nscenes:%s\n", blocks, margin, inject.String(), scenes.String())
	return []byte(b.String()), nil
}

func yamlList(names []string) string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = fmt.Sprintf("%q", n)
	}
	return strings.Join(out, ", ")
}
