// Package sensor reads power from sensors with a kernel driver: hwmon, such as an ACPI power meter
// or a board's own chip, and batteries.
package sensor

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"tare/internal/bench"
	"tare/internal/meter/power/source"
)

// Meter reads one file in millionths of a watt or of a joule.
type Meter struct {
	kind    string
	column  string
	read    func() (float64, error)
	source  bench.PowerSource
	counter bool
}

// CheckHwmon returns an error for a name that no sensor can match.
func CheckHwmon(n *source.Name) error {
	_, err := n.Word("covers", "part", "machine")
	return err
}

// OpenHwmon opens a sensor of hwmon below root ("/"): hwmon:chip=NAME,sensor=power1. Both are
// optional if there is only one sensor.
func OpenHwmon(root string, n *source.Name) (*Meter, error) {
	every, err := n.Every(bench.MinPowerInterval)
	if err != nil {
		return nil, err
	}
	chip, sensor := n.Option("chip", ""), n.Option("sensor", "")
	files, err := filepath.Glob(filepath.Join(root, "sys/class/hwmon/hwmon*/*"))
	if err != nil {
		return nil, n.Errorf("%w", err)
	}
	type found struct{ chip, sensor, file, label string }
	var fit []found
	var all []string
	for _, file := range files {
		base := filepath.Base(file)
		name, kind, _ := strings.Cut(base, "_")
		power := strings.HasPrefix(name, "power") && (kind == "input" || kind == "average")
		energy := strings.HasPrefix(name, "energy") && kind == "input"
		if !power && !energy {
			continue
		}
		if _, err := os.Stat(filepath.Join(filepath.Dir(file), name+"_input")); kind == "average" && err == nil {
			continue // the sensor has the power now as well
		}
		f := found{word(filepath.Join(filepath.Dir(file), "name")), name, file, word(filepath.Join(filepath.Dir(file), name+"_label"))}
		all = append(all, "chip="+f.chip+",sensor="+f.sensor)
		if (chip == "" || chip == f.chip) && (sensor == "" || sensor == f.sensor) {
			fit = append(fit, f)
		}
	}
	if len(all) == 0 {
		return nil, n.Absent(errors.New("no sensor of this host's measures power or energy"), "")
	}
	if len(fit) != 1 {
		return nil, fmt.Errorf("power meter %s: %d sensors fit: %w%w", n.Text, len(fit), bench.ErrInvalid,
			bench.Hint("name one: hwmon:"+strings.Join(all, " or hwmon:")))
	}
	m := &Meter{kind: "hwmon", column: bench.ColPower, read: func() (float64, error) { return millionths(fit[0].file) }}
	m.source = bench.PowerSource{Name: n.Text, Every: every.Seconds(), Of: strings.TrimSpace(fmt.Sprintf("sensor %s of chip %s %s", fit[0].sensor, fit[0].chip, fit[0].label))}
	if m.counter = strings.HasPrefix(fit[0].sensor, "energy"); m.counter {
		m.column, m.source.StepJ = bench.ColEnergy, 1e-6
		m.source.StepJ, err = n.Number("step", m.source.StepJ, 0, 1e6)
	} else {
		m.source.StepW, err = n.Number("step", 1, 0, 1e4)
	}
	if err != nil {
		return nil, err
	}
	up, err := n.Update(time.Second)
	if err != nil {
		return nil, err
	}
	m.source.Update = up.Seconds()
	// Only the machine's builder knows what a chip's sensor covers.
	covers, err := n.Word("covers", "part", "machine")
	if err != nil {
		return nil, err
	}
	m.source.Part = covers == "part"
	return m, nil
}

// OpenBattery opens a battery below root: battery:name=BAT0. It measures only while the machine
// runs on the battery.
func OpenBattery(root string, n *source.Name) (*Meter, error) {
	every, err := n.Every(time.Second)
	if err != nil {
		return nil, err
	}
	want := n.Option("name", "")
	dirs, err := filepath.Glob(filepath.Join(root, "sys/class/power_supply/*"))
	if err != nil {
		return nil, n.Errorf("%w", err)
	}
	dir := ""
	for _, d := range dirs {
		if word(filepath.Join(d, "type")) == "Battery" && word(filepath.Join(d, "scope")) != "Device" &&
			(want == "" || want == filepath.Base(d)) {
			dir = d
			break
		}
	}
	if dir == "" {
		return nil, n.Absent(errors.New("no battery"), "")
	}
	m := &Meter{kind: "battery", column: bench.ColPower, read: func() (float64, error) { return discharge(dir) }}
	m.source = bench.PowerSource{Name: n.Text, Every: every.Seconds(), Of: "battery " + filepath.Base(dir)}
	if m.source.StepW, err = n.Number("step", 0.01, 0, 1e4); err != nil {
		return nil, err
	}
	up, err := n.Update(2 * time.Second)
	if err != nil {
		return nil, err
	}
	m.source.Update = up.Seconds()
	return m, nil
}

// discharge returns the power drawn from a battery, in watts.
func discharge(dir string) (float64, error) {
	if s := word(filepath.Join(dir, "status")); s != "Discharging" {
		return 0, fmt.Errorf("battery %s is %q: it measures what the machine draws only while it runs on it", filepath.Base(dir), s)
	}
	w, err := millionths(filepath.Join(dir, "power_now"))
	if !errors.Is(err, fs.ErrNotExist) {
		return w, err
	}
	amperes, err := millionths(filepath.Join(dir, "current_now"))
	if err != nil {
		return 0, err
	}
	volts, err := millionths(filepath.Join(dir, "voltage_now"))
	if amperes < 0 { // some drivers report the direction as a sign
		amperes = -amperes
	}
	return amperes * volts, err
}

func millionths(path string) (float64, error) {
	v, err := source.Whole(path)
	return float64(v) / 1e6, err
}

// word returns the trimmed content of a small file, or "".
func word(path string) string {
	b, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

func (m *Meter) Meter() string             { return m.kind }
func (m *Meter) Level() bench.Level        { return bench.Power }
func (m *Meter) Columns() []string         { return []string{m.column} }
func (m *Meter) Source() bench.PowerSource { return m.source }

// Read reads the sensor's file.
func (m *Meter) Read(values []float64) error {
	v, err := m.read()
	if err == nil && !m.counter {
		err = source.Watts(v)
	}
	return source.Fill(values, v, err)
}

// Close has nothing to close.
func (m *Meter) Close() error { return nil }

var _ bench.PowerReader = (*Meter)(nil)
