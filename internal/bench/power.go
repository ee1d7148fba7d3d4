package bench

import (
	"fmt"
	"time"
)

// Columns of readers at level [Power]. A reader has at least one of the two.
const (
	ColPower  = "power_w"  // the current power, as the meter reports it
	ColEnergy = "energy_j" // the energy since some moment before the run, cumulative
)

// A PowerReader is a [Reader] of the machine's power or energy. Its Read may wait a few seconds for
// a remote meter. So it runs on its own goroutine, never between the readings of a tick.
type PowerReader interface {
	Reader
	// Source says what is read and how precisely. It is fixed for the reader's life.
	Source() PowerSource
}

// PowerSource is a power meter as a run used it. It holds no secret.
type PowerSource struct {
	// Name is the meter as the user named it: "snmp://pdu/raritan?outlet=3".
	Name string `json:"name"`
	// Of describes what is measured: "outlet 3 of the PDU at pdu", "processors and their memory".
	Of string `json:"of"`
	// StepW is the resolution in watts, StepJ that of a counter in joules. 0 is unknown or none.
	StepW float64 `json:"step_w,omitempty"`
	StepJ float64 `json:"step_j,omitempty"`
	// Update is the time between two new values of the meter, in seconds. 0 is unknown.
	Update float64 `json:"update_s,omitempty"`
	// Every is the time between two readings, in seconds.
	Every float64 `json:"every_s"`
	// Part: the meter covers only a part of the machine, such as RAPL's processors.
	Part bool `json:"part,omitempty"`
	// Modelled: estimated from CPU use, not measured.
	Modelled bool `json:"modelled,omitempty"`
}

// MinPowerInterval is the least time between two readings of one power meter.
const MinPowerInterval = 100 * time.Millisecond

// IdleScene is the scene of a stretch in which only the run's open daemons and meters are active.
// It is in no list of scenes.
const IdleScene = "rest"

// IdleID names the stretch of rest before (1) or after (2) the trials of a block.
func IdleID(block, n int) string { return fmt.Sprintf("b%02d-rest%d", block, n) }

// Idles returns a plan's stretches of rest, none if nothing measures power.
func (p *Plan) Idles() []Trial {
	var rests []Trial
	for block := 1; p.Idle > 0 && block <= p.Blocks; block++ {
		for n := 1; n <= 2; n++ {
			rests = append(rests, Trial{ID: IdleID(block, n), Block: block, Scene: IdleScene})
		}
	}
	return rests
}

// IdleSettle is how long the machine is left alone before a stretch of rest is measured, so that
// meters no longer show earlier load.
const IdleSettle = time.Second
