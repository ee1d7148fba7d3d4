package bench

// Status is what became of a trial.
type Status string

const (
	Done   Status = "done"
	Failed Status = "failed" // it started and did not finish: data, counted in the report
	// DidNotFinish: beside a neighbour or in a pool of memory, a subject was killed or missed its own
	// deadline; or it crashed, or printed nothing that can be parsed, where the neighbour means harm or
	// a scene without it is compared. This is a result, not a failure of the run.
	DidNotFinish Status = "dnf"
	// Overdue: the containments' time ended before the subject did. The bound was written in the
	// specification or chosen to protect the host. It says nothing about the platform.
	Overdue Status = "overdue"
	// Aborted: stopped from outside (Ctrl-C, a time limit of the run). Resume runs it again.
	Aborted Status = "aborted"
)

// Final reports whether resume skips a trial with the status.
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
	// GivenUp is the platform that kept the trial from running: its launches had failed twice in
	// the same way.
	GivenUp string `json:"given_up,omitempty"`
	// Started is the wall-clock time in RFC 3339. Origin is the CLOCK_MONOTONIC of the same moment,
	// in nanoseconds.
	Started string  `json:"started"`
	Origin  int64   `json:"origin"`
	Phases  []Phase `json:"phases"`
	// Window is the measured stretch, in nanoseconds of CLOCK_MONOTONIC.
	Window [2]int64 `json:"window"`
	// Unmetered: the trial has no samples because the scene asks for none.
	Unmetered bool `json:"unmetered,omitempty"`
	// Values are the scene's: the subjects' values combined by each metric's rule.
	Values []Value        `json:"values,omitempty"`
	Actors []ActorOutcome `json:"actors"`
	// Watch is how responsive the host was while the scene had an adversary.
	Watch *Watch `json:"watch,omitempty"`
	// Pool is how the scene's pool of memory fared.
	Pool *Pool `json:"pool,omitempty"`
	// Turns is how the turns of a scene went that has them.
	Turns *Turns `json:"turns,omitempty"`
	// Density is what a ramp found.
	Density *Density `json:"density,omitempty"`
	// Refused are the readings that cannot be true.
	Refused []Refusal `json:"refused,omitempty"`
	// Outside is other work on the host before and during the launch; nil if it was not looked for.
	Outside *Outside `json:"outside,omitempty"`
	// Disturbed says which other work held the host, if it was more than the plan's bound.
	Disturbed string `json:"disturbed,omitempty"`
	// Repeat counts the launches of the trial that other work disturbed before this one.
	Repeat int `json:"repeat,omitempty"`
	// Waited is how long the run waited before the trial until other work on the host was below the
	// bound, in seconds.
	Waited float64 `json:"waited_s,omitempty"`
	// Mixed lists what changed in the host and the program since the run began. It is empty unless
	// the user allowed such trials to be mixed.
	Mixed []string `json:"mixed,omitempty"`
	// Warnings travel with every number of the trial.
	Warnings []string `json:"warnings,omitempty"`
}

// Watch is how responsive the host was. A process outside every containment started another one ten
// times a second: fork, exec, exit and wait. Times are in milliseconds.
type Watch struct {
	Starts    []float64 `json:"starts_ms"`         // of each process started, in order
	P50       float64   `json:"p50_ms"`            // the median
	P99       float64   `json:"p99_ms"`            // the 99th percentile
	Max       float64   `json:"max_ms"`            // the longest, or the wait so far for one that has not ended
	Available Bytes     `json:"available"`         // the least memory available to new programs
	OOMInside int       `json:"oom_inside"`        // processes killed by the OOM killer in the containments
	OOM       int       `json:"oom_outside"`       // those killed elsewhere on the host
	Peak      int       `json:"pids_peak"`         // the most tasks in the containments at once, as sampled
	Died      []string  `json:"died,omitempty"`    // processes of the run outside the containments that are gone
	Ended     string    `json:"ended,omitempty"`   // why the scene was ended to protect the host
	Overdue   bool      `json:"overdue,omitempty"` // the containments' time ended before the subjects did
}

// Pool is how a scene's pool of memory fared.
type Pool struct {
	Memory  Bytes `json:"memory"`  // its size
	Used    Bytes `json:"used"`    // the peak use since the first launch
	Swapped Bytes `json:"swapped"` // the most swap space that its instances used
	// Killed are the actors that lost processes to the OOM killer.
	Killed []string `json:"killed,omitempty"`
}

// Balloon is how an instance gave memory back.
type Balloon struct {
	Target Bytes   `json:"target"`   // the memory it was asked to shrink to
	Actual Bytes   `json:"actual"`   // the memory it had once it had settled
	MS     float64 `json:"ms"`       // the time until then, in milliseconds
	Before Bytes   `json:"resident"` // the resident memory of its monitor before
	After  Bytes   `json:"resident_after"`
}

// Limits of its own that stop a neighbour's program.
const (
	OwnMemory = "memory"
	OwnTasks  = "tasks"
	OwnDisk   = "disk"
)

// ActorOutcome is one actor's share of a trial.
type ActorOutcome struct {
	Actor    string      `json:"actor"`
	Role     Role        `json:"role"`
	Host     string      `json:"host,omitempty"` // the further one that it ran on, which pays for it
	Platform PlatformRef `json:"platform"`
	Version  string      `json:"version"`
	Label    string      `json:"label,omitempty"` // "emulated (tcg)"
	// Caveats are the driver's known deviations from a plain measurement: "O_DIRECT not honoured".
	Caveats []string `json:"caveats,omitempty"`
	CPUSet  []int    `json:"cpuset"`
	// CPUsSeen is the number of CPUs the agent found usable inside.
	CPUsSeen   int      `json:"cpus_seen,omitempty"`
	Kernel     string   `json:"kernel,omitempty"`
	Unenforced []string `json:"unenforced,omitempty"`
	// Facts describe a subject's instance, or a peer's on a further host, as the agent and the host see it. A fact that could not
	// be read is absent. See docs/PROTOCOL.md.
	Facts map[string]string `json:"facts,omitempty"`
	// Launch is the platform's own start command. Command is what was measured inside.
	Launch  []string `json:"launch,omitempty"`
	Command []string `json:"command,omitempty"`
	// Polls says that Command never sleeps, so that its CPU time is no sign of its load.
	Polls bool `json:"polls,omitempty"`
	// ReadyMS is the time from Launch to the first byte from inside, in milliseconds.
	ReadyMS float64 `json:"ready_ms,omitempty"`
	// StartUp is how the launch went. It is nil if its stamps contradict each other; a warning then
	// says so.
	StartUp *StartUp `json:"start_up,omitempty"`
	// ClockOffset is guest minus host CLOCK_MONOTONIC, and its uncertainty, in nanoseconds.
	ClockOffset      int64     `json:"clock_offset,omitempty"`
	ClockUncertainty int64     `json:"clock_uncertainty,omitempty"`
	Clock            *ClockFit `json:"clock,omitempty"`
	Scope            *Scope    `json:"scope,omitempty"`
	Balloon          *Balloon  `json:"balloon,omitempty"`
	Values           []Value   `json:"values,omitempty"`
	// Histograms are those of a subject's requests, if its program reports them.
	Histograms []Histogram `json:"histograms,omitempty"`
	// Series are how a subject's metrics went within the window, if its program tells.
	Series []Series `json:"series,omitempty"`
	// Ended says when and how a neighbour's program ended before the measurement did. EndedAt is when,
	// in nanoseconds of CLOCK_MONOTONIC; 0 in what earlier versions wrote.
	Ended   string `json:"ended,omitempty"`
	EndedAt int64  `json:"ended_at,omitempty"`
	// EndedBy is the limit of its own that stopped the neighbour: one of the constants, or empty where
	// none is known.
	EndedBy string  `json:"ended_by,omitempty"`
	Output  *Output `json:"output,omitempty"` // of Main; its text is in output/TRIAL/
	Log     string  `json:"log,omitempty"`    // the end of the platform's output, after a failure
}
