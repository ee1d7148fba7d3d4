package rapl

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"

	"tare/internal/bench"
	"tare/internal/meter/power/source"
)

// Events are the energy counters as events of the kernel's PMU "power", one
// counter for each package and kind. The kernel makes them 64 bits wide.
type Events struct {
	counters []counter
	source   bench.PowerSource
}

type counter struct {
	fd    int
	scale float64 // joules per count
}

// kinds are the events to add up. A package includes its cores.
var kinds = []string{"energy-pkg", "energy-ram"}

// OpenEvents opens the events that the files below root ("/") describe.
func OpenEvents(root string, n *source.Name) (*Events, error) {
	every, err := n.Every(every)
	if err != nil {
		return nil, err
	}
	e := &Events{source: bench.PowerSource{Name: n.Text, StepJ: stepJ, Update: update.Seconds(), Every: every.Seconds(), Part: true}}
	pmu := filepath.Join(root, "sys/bus/event_source/devices/power")
	fail := func(err error) (*Events, error) {
		e.Close()
		return nil, n.Absent(err, "virtual machines have none; on bare metal: modprobe rapl, and run as root")
	}
	kind, err := source.Whole(filepath.Join(pmu, "type"))
	if err != nil {
		return fail(err)
	}
	cpus, err := list(filepath.Join(pmu, "cpumask"))
	if err != nil {
		return fail(err)
	}
	var names []string
	for _, name := range kinds {
		config, scale, err := event(pmu, name)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return fail(err)
		}
		for _, cpu := range cpus {
			attr := unix.PerfEventAttr{Type: uint32(kind), Config: config, Size: uint32(unsafe.Sizeof(unix.PerfEventAttr{}))}
			fd, err := unix.PerfEventOpen(&attr, -1, cpu, -1, unix.PERF_FLAG_FD_CLOEXEC)
			if err != nil {
				return fail(fmt.Errorf("open event power/%s on CPU %d: %w", name, cpu, err))
			}
			e.counters = append(e.counters, counter{fd, scale})
		}
		names = append(names, name)
	}
	if len(e.counters) == 0 {
		return fail(fmt.Errorf("%s: has none of %s", pmu, strings.Join(kinds, ", ")))
	}
	e.source.Of = fmt.Sprintf("RAPL: %s of %d packages", strings.Join(names, ", "), len(cpus))
	return e, nil
}

// event reads an event's configuration and its scale in joules per count.
func event(pmu, name string) (config uint64, scale float64, err error) {
	b, err := os.ReadFile(filepath.Join(pmu, "events", name))
	if err != nil {
		return 0, 0, err
	}
	if config, err = parseEvent(string(b)); err != nil {
		return 0, 0, fmt.Errorf("event %s: %w", name, err)
	}
	b, err = os.ReadFile(filepath.Join(pmu, "events", name+".scale"))
	if err != nil {
		return 0, 0, fmt.Errorf("event %s: %v", name, err) // there is an event, so it is not as if it did not exist
	}
	scale, err = strconv.ParseFloat(strings.TrimSpace(string(b)), 64)
	if err != nil || !(scale > 0) || scale > 1 {
		return 0, 0, fmt.Errorf("event %s: scale %.40q is not a number of joules", name, b)
	}
	return config, scale, nil
}

// parseEvent reads "event=0x02" and "event=0x02,umask=0x01".
func parseEvent(text string) (uint64, error) {
	var config uint64
	for _, term := range strings.Split(strings.TrimSpace(text), ",") {
		key, value, _ := strings.Cut(term, "=")
		v, err := strconv.ParseUint(value, 0, 8)
		switch {
		case err != nil:
			return 0, fmt.Errorf("%.60q: %q is not a term of an event", text, term)
		case key == "event":
			config |= v
		case key == "umask":
			config |= v << 8
		default:
			return 0, fmt.Errorf("%.60q: %q is not known", text, key)
		}
	}
	return config, nil
}

// list reads a list of CPUs, "0,32" or "0-1".
func list(path string) ([]int, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	cpus, err := parseList(strings.TrimSpace(string(b)))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return cpus, nil
}

const maxCPUs = 1 << 14

func parseList(text string) ([]int, error) {
	var cpus []int
	for _, part := range strings.Split(text, ",") {
		from, to, span := strings.Cut(part, "-")
		if !span {
			to = from
		}
		a, err1 := strconv.ParseUint(from, 10, 14)
		b, err2 := strconv.ParseUint(to, 10, 14)
		if err1 != nil || err2 != nil || b < a || len(cpus) > maxCPUs {
			return nil, fmt.Errorf("%.60q is not a list of CPUs", text)
		}
		for c := a; c <= b; c++ {
			cpus = append(cpus, int(c))
		}
	}
	return cpus, nil
}

func (e *Events) Meter() string             { return "rapl" }
func (e *Events) Level() bench.Level        { return bench.Power }
func (e *Events) Columns() []string         { return []string{bench.ColEnergy} }
func (e *Events) Source() bench.PowerSource { return e.source }

// Read adds the counters up.
func (e *Events) Read(values []float64) error {
	sum := 0.0
	for _, c := range e.counters {
		var b [8]byte
		n, err := unix.Read(c.fd, b[:])
		if err == nil && n != len(b) {
			err = fmt.Errorf("%d bytes of an event's counter", n)
		}
		if err != nil {
			return source.Fill(values, 0, fmt.Errorf("read event: %w", err))
		}
		sum += float64(binary.NativeEndian.Uint64(b[:])) * c.scale
	}
	return source.Fill(values, sum, nil)
}

// Close closes the events.
func (e *Events) Close() error {
	var errs []error
	for _, c := range e.counters {
		errs = append(errs, unix.Close(c.fd))
	}
	e.counters = nil
	return errors.Join(errs...)
}

var _ bench.PowerReader = (*Events)(nil)
