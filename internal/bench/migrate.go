package bench

import "context"

// The ways in which an instance can move.
const (
	// Live: it runs while its memory is copied and is paused for the last part.
	Live = "live"
	// Checkpoint: it is frozen, written to files, ended and restored from the files.
	Checkpoint = "checkpoint"
)

// Migratory is an instance that can move while its programs run: to another
// monitor on the host, or through files into another container.
type Migratory interface {
	// Migrate moves the instance. Its stream stays open and loses no data in either direction, but
	// writes wait until the move is done. After an error the instance is where it was, or gone.
	Migrate(ctx context.Context) (Moved, error)
}

// Moved is a migration as the driver reports it.
type Moved struct {
	// Began is when the move was requested. Ended is when the destination ran. Both are in
	// nanoseconds of the host's CLOCK_MONOTONIC.
	Began, Ended int64
	// Downtime is how long it was stopped, as the monitor or CRIU reports it, in milliseconds.
	Downtime float64
	// Bytes is the amount sent over the wire or written to files.
	Bytes Bytes
	// Rounds is how often dirty pages were looked for, or memory was dumped.
	Rounds int
	// Dumped, for a checkpoint, is when the files were written and the first instance was gone, by
	// the same clock. Pages is how many of the bytes are memory contents.
	Dumped int64
	Pages  Bytes
}

// The metrics of a scene in which the subject moves: the move is the measurement.
var MigrationMetrics = []Metric{
	{Name: "migration", Unit: "ms", Better: LowerIsBetter, Combine: Mean, Headline: true,
		Doc: "from asking for the move until the instance runs where it moved to"},
	{Name: "gap", Unit: "ms", Better: LowerIsBetter, Combine: Mean,
		Doc: "the longest silence, by the host's clock, of a program inside that says something every 10 ms"},
	{Name: "downtime", Unit: "ms", Better: LowerIsBetter, Combine: Mean, Doc: "for how long it was stopped, as the monitor or CRIU reports it"},
	{Name: "moved", Unit: "MB", Better: LowerIsBetter, Combine: Sum, Doc: "bytes from source to destination, or in the files of a checkpoint, in 10^6"},
	{Name: "rounds", Unit: "rounds", Better: LowerIsBetter, Combine: Mean, Doc: "how often pages written meanwhile were looked for, or memory was dumped"},
}

// The further metrics of a scene in which the subject moves by a checkpoint.
var CheckpointMetrics = []Metric{
	{Name: "dump", Unit: "ms", Better: LowerIsBetter, Combine: Mean, Of: Checkpointing, Doc: "from asking for the checkpoint until its files are written and the container is gone"},
	{Name: "restore", Unit: "ms", Better: LowerIsBetter, Combine: Mean, Of: Checkpointing, Doc: "from then until the restored container runs"},
	{Name: "pages", Unit: "MB", Better: LowerIsBetter, Combine: Sum, Of: Checkpointing, Doc: "of the bytes moved those that are contents of memory, in 10^6"},
}
