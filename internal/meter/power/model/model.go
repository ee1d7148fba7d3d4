// Package model estimates power without a meter, as a linear function of CPU time. Its figures are
// marked as estimated wherever they are shown.
package model

import (
	"fmt"
	"math"
	"time"

	"tare/internal/bench"
	"tare/internal/host/proc"
	"tare/internal/meter/power/source"
)

// Model is a linear function: the watts at rest, plus a number of watts for each busy core.
type Model struct {
	idle, core float64
	stat       *proc.File
	seconds    func() float64
	began      float64
	busy       float64 // core seconds at the beginning
	source     bench.PowerSource
}

// Open reads model:idle=60,core=12 (watts at rest; watts more for each busy core),
// with the CPU time from procDir.
func Open(procDir string, n *source.Name) (*Model, error) {
	every, err := n.Every(bench.MinPowerInterval)
	if err != nil {
		return nil, err
	}
	m := &Model{seconds: proc.Uptime,
		source: bench.PowerSource{Name: n.Text, Every: every.Seconds(), Update: 10 * time.Millisecond.Seconds(), Modelled: true}}
	if m.idle, m.core, err = line(n); err != nil {
		return nil, err
	}
	m.source.Of = fmt.Sprintf("a straight line over the CPU time: %g W at rest and %g W for each busy core", m.idle, m.core)
	m.source.StepJ = 0.01 * m.core // the CPU time comes in 10 ms
	if m.stat, err = proc.Open(procDir + "/stat"); err != nil {
		return nil, n.Absent(err, "")
	}
	return m, nil
}

// Check returns an error for a name without valid parameters.
func Check(n *source.Name) error {
	_, _, err := line(n)
	return err
}

// line returns the watts at rest and the additional watts for each busy core.
func line(n *source.Name) (idle, core float64, err error) {
	if idle, err = n.Number("idle", math.NaN(), 0, 1e6); err != nil {
		return 0, 0, err
	}
	if core, err = n.Number("core", math.NaN(), 0, 1e5); err != nil {
		return 0, 0, err
	}
	if math.IsNaN(idle) || math.IsNaN(core) {
		return 0, 0, fmt.Errorf("power meter %s: a model needs idle and core, in watts: %w%w", n.Text, bench.ErrInvalid,
			bench.Hint("such as model:idle=60,core=12; the report of a run with a meter gives both for its host"))
	}
	return idle, core, nil
}

func (m *Model) Meter() string             { return "model" }
func (m *Model) Level() bench.Level        { return bench.Power }
func (m *Model) Columns() []string         { return []string{bench.ColEnergy} }
func (m *Model) Source() bench.PowerSource { return m.source }

// Read computes the energy since the first reading.
func (m *Model) Read(values []float64) error {
	v, err := m.joules()
	return source.Fill(values, v, err)
}

func (m *Model) joules() (float64, error) {
	b, err := m.stat.Read()
	if err != nil {
		return 0, err
	}
	c, err := proc.ParseStat(b)
	if err != nil {
		return 0, err
	}
	now := m.seconds()
	busy := c.Busy(now)
	if m.began == 0 {
		m.began, m.busy = now, busy
	}
	// Busy time is computed by subtraction and may fall by some ticks.
	return m.idle*(now-m.began) + m.core*max(0, busy-m.busy), nil
}

// Close closes the file.
func (m *Model) Close() error {
	m.stat.Close()
	return nil
}

var _ bench.PowerReader = (*Model)(nil)
