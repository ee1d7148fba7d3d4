// Package rapl reads the processor's energy counters, from the kernel's powercap files or as perf
// events. They cover the processor packages and, if the machine has such counters, their memory.
// They do not cover the whole machine, except for zone psys.
package rapl

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tare/internal/bench"
	"tare/internal/meter/power/source"
)

const (
	every  = bench.MinPowerInterval // RAPL read at 1 kHz has cost up to 47 % of the time
	update = time.Millisecond       // of the counters: Intel SDM 3, section 16.10.1
	// stepJ is the coarsest of the usual units of energy, 2^-14 J.
	stepJ = 61e-6
)

// Powercap is the energy of all zones that are counted, from
// /sys/class/powercap.
type Powercap struct {
	zones  []*zone
	source bench.PowerSource
}

// zone is a counter that wraps around.
type zone struct {
	name  string
	file  string
	size  float64 // microjoules at which it wraps around
	last  float64
	total float64 // since the first reading
	begun bool
}

// Check returns an error for a name without matching counters.
func Check(n *source.Name) error {
	_, err := n.Word("zone", "package", "psys")
	return err
}

// OpenPowercap opens the zones below root ("/"): packages and their memory, or
// the whole platform's with ?zone=psys.
func OpenPowercap(root string, n *source.Name) (*Powercap, error) {
	every, err := n.Every(every)
	if err != nil {
		return nil, err
	}
	want, err := n.Word("zone", "package", "psys")
	if err != nil {
		return nil, err
	}
	p := &Powercap{source: bench.PowerSource{Name: n.Text, StepJ: stepJ, Update: update.Seconds(), Every: every.Seconds(), Part: want == "package"}}
	dirs, err := filepath.Glob(filepath.Join(root, "sys/class/powercap/*-rapl:*"))
	if err != nil {
		return nil, n.Errorf("%w", err)
	}
	slices.Sort(dirs)
	for _, dir := range dirs {
		z, err := openZone(dir)
		if err != nil {
			return nil, n.Absent(err, "the counters may be read by root alone")
		}
		// Sub-zones core and uncore are part of their package; memory is not.
		if want == "psys" && z.name == "psys" || want == "package" && (strings.HasPrefix(z.name, "package-") || z.name == "dram") {
			p.zones = append(p.zones, z)
		}
	}
	if len(p.zones) == 0 {
		return nil, n.Absent(fmt.Errorf("no %s among the energy counters of this host", want), "virtual machines have none; on bare metal: modprobe intel_rapl_msr")
	}
	var names []string
	for _, z := range p.zones {
		names = append(names, z.name)
	}
	p.source.Of = "RAPL: " + strings.Join(names, ", ")
	return p, nil
}

func openZone(dir string) (*zone, error) {
	name, err := os.ReadFile(filepath.Join(dir, "name"))
	if err != nil {
		return nil, err
	}
	size, err := microjoules(filepath.Join(dir, "max_energy_range_uj"))
	if err != nil {
		return nil, err
	}
	if size == 0 {
		return nil, fmt.Errorf("%s: the counter's range is 0", dir)
	}
	return &zone{name: strings.TrimSpace(string(name)), file: filepath.Join(dir, "energy_uj"), size: size}, nil
}

// microjoules reads a counter or its range.
func microjoules(path string) (float64, error) {
	v, err := source.Whole(path)
	if err == nil && v < 0 {
		err = fmt.Errorf("%s: %d is not a number of microjoules", path, v)
	}
	return float64(v), err
}

// advance adds the counter's growth. The counter may have wrapped around once.
func (z *zone) advance(now float64) error {
	if now > z.size {
		return fmt.Errorf("%s: %g µJ are above the counter's range of %g", z.name, now, z.size)
	}
	if z.begun {
		d := now - z.last
		if d < 0 {
			d += z.size
		}
		z.total += d
	}
	z.last, z.begun = now, true
	return nil
}

func (p *Powercap) Meter() string             { return "rapl" }
func (p *Powercap) Level() bench.Level        { return bench.Power }
func (p *Powercap) Columns() []string         { return []string{bench.ColEnergy} }
func (p *Powercap) Source() bench.PowerSource { return p.source }

// Read adds the zones up.
func (p *Powercap) Read(values []float64) error {
	sum := 0.0
	var errs []error
	for _, z := range p.zones {
		now, err := microjoules(z.file)
		if err == nil {
			err = z.advance(now)
		}
		if err != nil {
			errs = append(errs, err)
		}
		sum += z.total / 1e6
	}
	return source.Fill(values, sum, errors.Join(errs...))
}

// Close has nothing to close.
func (p *Powercap) Close() error { return nil }

var _ bench.PowerReader = (*Powercap)(nil)
