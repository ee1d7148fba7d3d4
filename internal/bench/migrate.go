package bench

import "context"

// Migratory is an instance that can move to another monitor while it runs.
type Migratory interface {
	// Migrate moves it. Its stream goes on; nothing is lost of what is sent
	// either way, but writing waits until it has moved. After an error the
	// instance is where it was, or gone.
	Migrate(ctx context.Context) (Moved, error)
}

// Moved is a migration as the one who did it reports it.
type Moved struct {
	// Began is when it was asked for and Ended when the other end ran, in
	// nanoseconds of the host's CLOCK_MONOTONIC.
	Began, Ended int64
	// Downtime is for how long the monitor says that the guest was stopped, in milliseconds.
	Downtime float64
	// Bytes went over the wire.
	Bytes Bytes
	// Rounds is how often the monitor looked for pages written meanwhile.
	Rounds int
}

// The metrics of a scene of kind [Migration]: the move is the measurement.
var MigrationMetrics = []Metric{
	{Name: "migration", Unit: "ms", Better: LowerIsBetter, Combine: Mean, Headline: true,
		Doc: "from asking the source to migrate until the guest runs at the destination"},
	{Name: "gap", Unit: "ms", Better: LowerIsBetter, Combine: Mean,
		Doc: "the longest silence, by the host's clock, of a program inside that says something every 10 ms"},
	{Name: "downtime", Unit: "ms", Better: LowerIsBetter, Combine: Mean, Doc: "for how long the guest was stopped, as the monitor reports it"},
	{Name: "moved", Unit: "MB", Better: LowerIsBetter, Combine: Sum, Doc: "bytes from source to destination, in 10^6"},
	{Name: "rounds", Unit: "rounds", Better: LowerIsBetter, Combine: Mean, Doc: "how often pages written meanwhile were looked for"},
}
