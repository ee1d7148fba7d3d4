// Package result is the document that an analysis publishes: the tables of a
// run's effects, their types and the words for them. It holds no analysis; a
// report shows it, a comparison sets two side by side.
package result

import "tare/internal/bench"

// Format is the version of the JSON of a [Result].
const Format = "tare-result/2"

// Result is everything a report shows of a run. It is the JSON of
// "tare report --format json".
type Result struct {
	Format     string  `json:"format"` // "tare-result/2"
	Run        string  `json:"run"`
	Experiment string  `json:"experiment"`
	Repeat     string  `json:"repeat"` // the command that measures it anew, in another order
	Title      string  `json:"title"`
	Question   string  `json:"question,omitempty"`
	Started    string  `json:"started"` // RFC 3339
	Seconds    float64 `json:"seconds"` // wall time spent
	Seed       uint64  `json:"seed"`
	Baseline   string  `json:"baseline"`
	Margin     float64 `json:"margin"`
	// Answers are the metrics that answer the question, if they are not the headline metrics.
	Answers []string `json:"answers,omitempty"`
	Blocks  int      `json:"blocks"` // planned
	// Summary is all of it in short.
	Summary  *Summary `json:"summary"`
	Complete bool     `json:"complete"` // every trial that is asked for has an outcome
	// Going: another process is still measuring it.
	Going  bool   `json:"going,omitempty"`
	Trials Counts `json:"trials"`
	Cases  []Case `json:"cases"`
	// Controls are of the baseline against itself; nil if the run did not measure it twice.
	Controls  *Controls    `json:"controls,omitempty"`
	Platforms []Platform   `json:"platforms"`
	Skipped   []bench.Skip `json:"skipped,omitempty"`
	Failures  []Failure    `json:"failures,omitempty"`
	// Unfinished are the launches that did not finish beside their neighbour or in their pool of memory: a finding, no failure of the run.
	Unfinished []Failure `json:"unfinished,omitempty"`
	// Overdue are those that were ended when the time of their containments was over, which says nothing of the platform.
	Overdue []Failure `json:"overdue,omitempty"`
	// Relative is the table of scenes set against others on the same platform.
	Relative *Matrix `json:"relative,omitempty"`
	// Watches are how usable the host was beside an adversary.
	Watches   []HostWatch    `json:"watches,omitempty"`
	Series    *Series        `json:"series,omitempty"` // one trial's, all levels aligned
	Observer  Observer       `json:"observer"`
	Procedure []ProcedureRow `json:"procedure,omitempty"`
	Image     string         `json:"image"` // digest
	Warnings  []string       `json:"warnings,omitempty"`
	Layout    []Placement    `json:"layout"`
	HostFacts []Fact         `json:"host"` // in the order to show
	// Method says in a sentence how the intervals were made.
	Method string `json:"method"`
	// Sweeps are the curves of metrics over factors with numbers for levels.
	Sweeps []Sweep `json:"sweeps,omitempty"`
	// Until is the stopping rule, and Stops what came of it by case.
	Until *bench.Until `json:"until,omitempty"`
	Stops []Stop       `json:"stops,omitempty"`
	// Clocks has a row per platform that was sampled inside.
	Clocks []ClockRow `json:"clocks,omitempty"`
	// Power has an entry for each meter of what the machine drew.
	Power []Power `json:"power,omitempty"`
	// Mixed is set if not all trials are of the host and the program that the run began with.
	Mixed *Mixed `json:"mixed,omitempty"`
	// SelfTest is what the program found when it tested itself on the run's
	// host; nil if it did not. Whoever reports fills it in.
	SelfTest *SelfTest `json:"self_test,omitempty"`
}

// Mixed are trials of a run that was resumed where something was otherwise.
type Mixed struct {
	Trials int `json:"trials"` // how many there are
	// Differs is what was otherwise, as it was when the run began and then.
	Differs []string `json:"differs"`
}

// SelfTest cites the certificate of the run's host.
type SelfTest struct {
	Claims []SelfTestClaim `json:"claims"`
}

// SelfTestClaim is one number the program promises, as found on the host.
type SelfTestClaim struct {
	Part    string `json:"part"`
	Date    string `json:"date"`  // RFC 3339
	Tare    string `json:"tare"`  // the version that was tested
	RestsOn string `json:"rests"` // how much it rests on: "60 comparisons, fewer than 200"
	Claim   string `json:"claim"`
	Found   string `json:"found"`
	Held    string `json:"held"` // yes, no or open
}

// Counts of trials by status.
type Counts struct {
	Planned int `json:"planned"` // at most
	Asked   int `json:"asked"`   // that the stopping rule asked for so far, or that were made
	Done    int `json:"done"`
	Failed  int `json:"failed"`
	DNF     int `json:"dnf,omitempty"`     // did not finish beside a neighbour
	Overdue int `json:"overdue,omitempty"` // ended when the time of their containments was over
	Missing int `json:"missing"`           // of those asked for, without a final outcome, the aborted among them
	Aborted int `json:"aborted,omitempty"`
	// Repeated is how many launches other work on the host disturbed, so that their trials were
	// launched again.
	Repeated int `json:"repeated,omitempty"`
	// NotNeeded were planned for blocks beyond the end of their case.
	NotNeeded int `json:"not_needed,omitempty"`
}

// Platform is one platform as it took part.
type Platform struct {
	Name    string `json:"name"` // with options
	Version string `json:"version"`
	Label   string `json:"label,omitempty"` // "emulated (tcg)": shown wherever the name is
	Kernel  string `json:"kernel,omitempty"`
	// Files are those of its programs on the host.
	Files []bench.ProgramFile `json:"files,omitempty"`
	// Caveats are what its driver says of every figure: "O_DIRECT not honoured".
	Caveats []string `json:"caveats,omitempty"`
}

// Failure is a trial that did not finish.
type Failure struct {
	Trial    string `json:"trial"`
	Scene    string `json:"scene"`
	Platform string `json:"platform"`
	Phase    string `json:"phase"`
	Error    string `json:"error"`
	Hint     string `json:"hint,omitempty"`
	// Log is the platform's last words.
	Log string `json:"log,omitempty"`
}

// Observer is what observing cost, per level.
type Observer struct {
	Levels []ObserverLevel `json:"levels"`
}

// ObserverLevel is the cost of observing one level.
type ObserverLevel struct {
	Level bench.Level `json:"level"`
	// CPU is the share of one core spent reading.
	CPU float64 `json:"cpu"`
	// LateP50 and LateP99 are how late reads began, in milliseconds.
	LateP50 float64 `json:"late_p50_ms"`
	LateP99 float64 `json:"late_p99_ms"`
	// TookP99 is the wall time of a read, in milliseconds; inside a guest that
	// of the whole round trip.
	TookP99 float64 `json:"took_p99_ms"`
	Samples int     `json:"samples"`
}

// ProcedureRow is how long each phase took, per platform: median seconds.
type ProcedureRow struct {
	Platform string             `json:"platform"`
	Phases   map[string]float64 `json:"phases"`
	// Overhead is the time neither warming up, measuring nor cooling down, seconds.
	Overhead float64 `json:"overhead_s"`
	N        int     `json:"n"`
}

// Placement says on which CPUs actors of a role ran.
type Placement struct {
	Scene  string     `json:"scene"`
	Actor  string     `json:"actor"`
	Role   bench.Role `json:"role"`
	CPUSet []int      `json:"cpuset"`
	// Also are the other CPUs it was on in some blocks, where places are exchanged.
	Also [][]int `json:"also,omitempty"`
}

// Fact is one line about the host.
type Fact struct {
	Name   string `json:"name"`
	Value  string `json:"value"`
	Caveat string `json:"caveat,omitempty"` // why it matters to these numbers, if it does
}

// ClockRow is how well the clock inside a platform's instances is known, over its launches.
type ClockRow struct {
	Platform string `json:"platform"`
	// Uncertainty is the largest, in milliseconds; Drift the largest in absolute value, in ppm.
	Uncertainty float64 `json:"uncertainty_ms"`
	Drift       float64 `json:"drift_ppm"`
	Launches    int     `json:"launches"`
	Refused     int     `json:"refused,omitempty"` // samples that cannot be true
	Faults      int     `json:"faults,omitempty"`  // launches whose clock cannot be trusted
}
