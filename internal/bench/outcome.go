package bench

// Status is what became of a trial.
type Status string

const (
	Done   Status = "done"
	Failed Status = "failed" // it started and did not finish: data, counted in the report
	// DidNotFinish: a subject crashed, told nothing that can be read or was not
	// through within its own deadline beside a neighbour or in a pool of memory.
	// It is what was asked, and no failure of the run.
	DidNotFinish Status = "dnf"
	// Overdue: the time of the cages was over before the subject was through.
	// It is a bound that was written or chosen for the host's sake, and says
	// nothing of the platform.
	Overdue Status = "overdue"
	// Aborted: stopped from outside (Ctrl-C, a time limit of the run); resume runs it again.
	Aborted Status = "aborted"
)

// Final reports whether a trial with the status is never run again.
func (s Status) Final() bool {
	return s == Done || s == Failed || s == DidNotFinish || s == Overdue
}

// Phase is a stretch of a trial, in nanoseconds of the host's CLOCK_MONOTONIC.
type Phase struct {
	// Name: "setup", "launch", "prepare", "warmup", "measure", "collect", "close", "cooldown".
	Name  string `json:"name"`
	Start int64  `json:"start"`
	End   int64  `json:"end"`
}

// Outcome is what became of a trial, one line of trials.jsonl.
type Outcome struct {
	Trial  string `json:"trial"`
	Block  int    `json:"block"`
	Scene  string `json:"scene"`
	Status Status `json:"status"`
	// Phase, Error and Hint say where and why a trial failed.
	Phase string `json:"phase,omitempty"`
	Error string `json:"error,omitempty"`
	Hint  string `json:"hint,omitempty"`
	// GivenUp is the platform for whose sake the trial was not run: its launches had
	// failed twice in the same way.
	GivenUp string `json:"given_up,omitempty"`
	// Started is the wall-clock time in RFC 3339; Origin the CLOCK_MONOTONIC
	// nanoseconds of the same moment.
	Started string  `json:"started"`
	Origin  int64   `json:"origin"`
	Phases  []Phase `json:"phases"`
	// Window is the measured stretch, CLOCK_MONOTONIC nanoseconds.
	Window [2]int64 `json:"window"`
	// Unmetered: the trial has no samples, because nothing was to be read.
	Unmetered bool `json:"unmetered,omitempty"`
	// Values of the scene: the subjects' combined by each metric's rule.
	Values []Value        `json:"values,omitempty"`
	Actors []ActorOutcome `json:"actors"`
	// Watch is how the host fared while something in the scene meant harm.
	Watch *Watch `json:"watch,omitempty"`
	// Pool is how the scene's pool of memory fared.
	Pool *Pool `json:"pool,omitempty"`
	// Crowd is what a ramp found.
	Crowd *Crowd `json:"crowd,omitempty"`
	// Refused are the readings that cannot be true.
	Refused []Refusal `json:"refused,omitempty"`
	// Mixed says what of host and program was otherwise than when the run began;
	// empty unless its user allowed such trials to be mixed.
	Mixed []string `json:"mixed,omitempty"`
	// Warnings travel with every number of the trial.
	Warnings []string `json:"warnings,omitempty"`
}

// Watch is how usable the host was, by a process outside of every cage that
// started another one ten times a second: fork, exec, exit and wait. Times in milliseconds.
type Watch struct {
	Starts    []float64 `json:"starts_ms"`         // of every process started, in order
	P50       float64   `json:"p50_ms"`            // the smallest start not below half of them
	P99       float64   `json:"p99_ms"`            // and not below 99 of 100
	Max       float64   `json:"max_ms"`            // the longest, or how long the last had not ended
	Available Bytes     `json:"available"`         // least memory available to new programs
	OOMInside int       `json:"oom_inside"`        // processes killed for want of memory in the cages
	OOM       int       `json:"oom_outside"`       // and elsewhere on the host
	Peak      int       `json:"pids_peak"`         // most tasks in the cages at once, as sampled
	Died      []string  `json:"died,omitempty"`    // processes of the run outside the cages that are gone
	Ended     string    `json:"ended,omitempty"`   // why the scene was ended for the host's sake
	Overdue   bool      `json:"overdue,omitempty"` // the cages' time was over before the subjects were through
}

// Pool is how a scene's pool of memory fared.
type Pool struct {
	Memory  Bytes `json:"memory"`  // its size
	Used    Bytes `json:"used"`    // the most of it, from the first launch on
	Swapped Bytes `json:"swapped"` // the most that its instances had in swap space
	// Killed are the actors of which the kernel killed processes for want of memory.
	Killed []string `json:"killed,omitempty"`
}

// Balloon is how an instance was made to give memory back.
type Balloon struct {
	Target Bytes   `json:"target"`   // what it was asked to make do with
	Actual Bytes   `json:"actual"`   // what it had when its memory had settled
	MS     float64 `json:"ms"`       // until then, milliseconds
	Before Bytes   `json:"resident"` // memory of its monitor before
	After  Bytes   `json:"resident_after"`
}

// ActorOutcome is one actor's share of a trial.
type ActorOutcome struct {
	Actor    string      `json:"actor"`
	Role     Role        `json:"role"`
	Platform PlatformRef `json:"platform"`
	Version  string      `json:"version"`
	Label    string      `json:"label,omitempty"` // "emulated (tcg)"
	// Caveats are what the driver knows to be unlike a plain measurement: "O_DIRECT not honoured".
	Caveats []string `json:"caveats,omitempty"`
	CPUSet  []int    `json:"cpuset"`
	// CPUsSeen is the number of CPUs the agent found usable inside.
	CPUsSeen   int      `json:"cpus_seen,omitempty"`
	Kernel     string   `json:"kernel,omitempty"`
	Unenforced []string `json:"unenforced,omitempty"`
	// Facts are what a subject's instance looks like from inside, and what the host
	// tells of it; a fact that could not be read is absent. See docs/PROTOCOL.md.
	Facts map[string]string `json:"facts,omitempty"`
	// Launch is the platform's own start command; Command what was measured inside.
	Launch  []string `json:"launch,omitempty"`
	Command []string `json:"command,omitempty"`
	// ReadyMS is from Launch to the first byte from inside, milliseconds.
	ReadyMS float64 `json:"ready_ms,omitempty"`
	// StartUp is how the launch went; nil if its stamps contradict each other, which a warning says.
	StartUp *StartUp `json:"start_up,omitempty"`
	// ClockOffset is guest minus host CLOCK_MONOTONIC, and its uncertainty, in nanoseconds.
	ClockOffset      int64     `json:"clock_offset,omitempty"`
	ClockUncertainty int64     `json:"clock_uncertainty,omitempty"`
	Clock            *ClockFit `json:"clock,omitempty"`
	Scope            *Scope    `json:"scope,omitempty"`
	Balloon          *Balloon  `json:"balloon,omitempty"`
	Values           []Value   `json:"values,omitempty"`
	// Histograms are of a subject's requests, where its program tells them.
	Histograms []Histogram `json:"histograms,omitempty"`
	// Ended says when and how a neighbour's program ended before the measurement did.
	Ended  string  `json:"ended,omitempty"`
	Output *Output `json:"output,omitempty"` // of Main; its text is in output/TRIAL/
	Log    string  `json:"log,omitempty"`    // the platform's last words, after a failure
}
