package spec

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"tare/internal/bench"
)

var (
	shapeKeys  = []string{"cpus", "memory", "disk", "cpu_quota", "cpu_period", "cpu_weight", "memory_soft", "memory_nodes", "swap", "disk_iops", "disk_bandwidth", "disk_weight", "pids"}
	timingKeys = []string{"warmup", "measure", "cooldown", "deadline"}
)

// The defaults.
var (
	defaultShape  = bench.Shape{CPUs: 1, Memory: bench.GiB, Disk: bench.GiB}
	defaultTiming = bench.Timing{Warmup: time.Second, Measure: 5 * time.Second, Cooldown: 500 * time.Millisecond}
)

const (
	defaultBlocks = 3
	defaultMargin = 0.03
)

// readShape sets the fields of the shape that the node has. It records their places below "shape".
func (d *decoder) readShape(n *node, s *bench.Shape, places Places) {
	f := d.fields(n, "shape", shapeKeys)
	d.integer(f["cpus"], 1, 4096, &s.CPUs)
	d.size(f["memory"], &s.Memory)
	d.size(f["disk"], &s.Disk)
	d.number(f["cpu_quota"], &s.CPUQuota)
	d.duration(f["cpu_period"], time.Millisecond, &s.CPUPeriod)
	d.integer(f["cpu_weight"], 1, 10000, &s.CPUWeight)
	d.size(f["memory_soft"], &s.MemorySoft)
	d.nodes(f["memory_nodes"], &s.MemoryNodes)
	d.size(f["swap"], &s.Swap)
	d.size(f["disk_bandwidth"], &s.DiskBandwidth)
	d.integer(f["disk_weight"], 1, 1000, &s.DiskWeight)
	d.integer(f["disk_iops"], 1, 1e9, &s.DiskIOPS)
	d.integer(f["pids"], 1, 1<<22, &s.Pids)
	for key, value := range f {
		places["shape."+key] = value.place
	}
	if n != nil {
		if s.MemorySoft > s.Memory {
			d.fail(places.At("shape.memory_soft"), "the soft limit %s is above the hard limit %s", s.MemorySoft, s.Memory)
		}
		if s.CPUPeriod > time.Second || s.CPUPeriod%time.Microsecond != 0 {
			d.fail(places.At("shape.cpu_period"), "a period of %s: from 1ms to 1s, in whole microseconds", s.CPUPeriod)
		}
		if s.CPUQuota > float64(s.CPUs) {
			d.fail(places.At("shape.cpu_quota"), "a quota of %g CPUs is above the %d the instance has", s.CPUQuota, s.CPUs)
		}
	}
}

// mostNode is the highest number of a node; the kernel has at most 1024 of them.
const mostNode = 1023

// nodes reads NUMA nodes, ascending and each once.
func (d *decoder) nodes(n *node, into *string) {
	var all []int
	for _, item := range d.list(n) {
		before, number := len(d.errs), 0
		if d.integer(item, 0, mostNode, &number); len(d.errs) == before {
			all = append(all, number)
		}
	}
	slices.Sort(all)
	var words []string
	for _, number := range slices.Compact(all) {
		words = append(words, strconv.Itoa(number))
	}
	if n != nil {
		*into = strings.Join(words, ",")
	}
}

// readTiming sets the fields of the timing that the node has. It records their places below
// "timing".
func (d *decoder) readTiming(n *node, t *bench.Timing, places Places) {
	f := d.fields(n, "timing", timingKeys)
	d.duration(f["warmup"], 0, &t.Warmup)
	d.duration(f["measure"], 100*time.Millisecond, &t.Measure)
	d.duration(f["cooldown"], 0, &t.Cooldown)
	d.duration(f["deadline"], time.Second, &t.Deadline)
	for key, value := range f {
		places["timing."+key] = value.place
	}
	if n != nil && t.Deadline > 0 && t.Deadline <= t.Warmup+t.Measure {
		d.fail(places.At("timing.deadline"), "the deadline %s would end every run: warm-up and measurement alone take %s",
			t.Deadline, t.Warmup+t.Measure)
	}
}
