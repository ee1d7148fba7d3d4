package bench

import (
	"fmt"
	"time"
)

// Columns of readers at level [Power]. A reader has at least one of the two.
const (
	ColPower  = "power_w"  // drawn now, as the meter tells it
	ColEnergy = "energy_j" // drawn since some moment before the run, cumulative
)

// A PowerReader is a [Reader] of what the machine draws. Its Read may wait for
// a meter elsewhere, for a few seconds at the most, so it is called on a
// goroutine of its own, never between the readings of a tick.
type PowerReader interface {
	Reader
	// Source says what is read and how well; fixed for the reader's life.
	Source() PowerSource
}

// PowerSource is a power meter as a run used it. It holds no secret.
type PowerSource struct {
	// Name is the meter as the user named it: "snmp://pdu/raritan?outlet=3".
	Name string `json:"name"`
	// Of says in words what is measured: "outlet 3 of the PDU at pdu", "processors and their memory".
	Of string `json:"of"`
	// StepW is the least difference in watts the meter shows, StepJ of a counter
	// in joules; 0 is unknown or none.
	StepW float64 `json:"step_w,omitempty"`
	StepJ float64 `json:"step_j,omitempty"`
	// Update is how often the meter has a new value, in seconds; 0 is unknown.
	Update float64 `json:"update_s,omitempty"`
	// Every is the time between two readings, in seconds.
	Every float64 `json:"every_s"`
	// Part: not the whole machine, such as RAPL's processors.
	Part bool `json:"part,omitempty"`
	// Modelled: worked out from the use of the CPU, not measured.
	Modelled bool `json:"modelled,omitempty"`
}

// MinPowerInterval is the least time between two readings of one power meter.
const MinPowerInterval = 100 * time.Millisecond

// RestScene is the scene of a stretch in which the machine does nothing but
// what the run has open. It is in no list of scenes.
const RestScene = "rest"

// RestID names the stretch of rest before (1) or after (2) the trials of a block.
func RestID(block, n int) string { return fmt.Sprintf("b%02d-rest%d", block, n) }

// Rests are the stretches of rest of a plan, none if nothing measures power.
func (p *Plan) Rests() []Trial {
	var rests []Trial
	for block := 1; p.Rest > 0 && block <= p.Blocks; block++ {
		for n := 1; n <= 2; n++ {
			rests = append(rests, Trial{ID: RestID(block, n), Block: block, Scene: RestScene})
		}
	}
	return rests
}

// RestSettle is how long the machine is left alone before a stretch of rest is
// measured, so that a meter no longer shows what was before.
const RestSettle = time.Second
