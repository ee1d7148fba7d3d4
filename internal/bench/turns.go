package bench

import "time"

// A scene in turns has a partner beside its subject: the subject's twin on the baseline. Both are
// up at once on the same CPUs, and the freezer lets one work while the other waits. So both have
// the same weather, and their ratio scatters less than that of launches apart.

// Bounds of a turn's length, and how many a window must have.
const (
	LeastTurn = 20 * time.Millisecond // freezing takes 0.2 ms of it
	MostTurn  = time.Second
	// LeastTurns are those of both sides together.
	LeastTurns = 20
)

// TurnMetrics are the metrics of a scene in turns.
var TurnMetrics = []Metric{
	{Name: "rate_in_turns", Unit: "of the partner's", Better: HigherIsBetter, Combine: Mean, Headline: true,
		Doc: "work per second of its own turns, over that of the baseline's instance it takes turns with"},
}

// A Counter is a workload whose program counts its work, and goes on where it was after it has been
// frozen.
type Counter interface {
	// Countless returns an error that wraps [ErrInvalid], with a hint, if with these parameters the
	// program does not, and nil if it does.
	Countless(p Params) error
	// Counted returns how much work an output that Parse accepts counts, and how long the program
	// counted, to its end, by its own clock.
	Counted(p Params, out Output) (work float64, took time.Duration, err error)
}

// Turns is how the turns of a trial went. They were taken from the opening of the window until both
// programs had ended.
type Turns struct {
	Taken int `json:"taken"` // by both sides together
	// Slowest is the longest time until a side was frozen, in milliseconds.
	Slowest float64 `json:"slowest_freeze_ms"`
	// Sides are the subject's and the partner's.
	Sides []TurnSide `json:"sides"`
}

// TurnSide is one actor's share of the turns.
type TurnSide struct {
	Actor string  `json:"actor"`
	Work  float64 `json:"work"` // what its program counted, in the program's own unit
	// Seconds are those in which it was not frozen while its program counted.
	Seconds float64 `json:"seconds"`
}

// Rate is the side's work per second.
func (s TurnSide) Rate() float64 { return s.Work / s.Seconds }
