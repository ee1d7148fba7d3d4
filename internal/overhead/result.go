// Package overhead turns the outcomes and samples of a run into tables of
// effects: what each platform costs compared with the baseline, how sure that
// is, and where on the host the cost is paid.
package overhead

import (
	"tare/internal/audit"
	"tare/internal/bench"
)

// Verdict is what the data allow to be said of an effect.
type Verdict string

const (
	// Differs: the interval lies wholly outside ratio 1.
	Differs Verdict = "differs"
	// Equivalent: the interval lies wholly within the margin around 1.
	Equivalent Verdict = "equivalent"
	// Inconclusive: neither; more blocks or a quieter host may decide.
	Inconclusive Verdict = "inconclusive"
	// Refused: no interval is given; Why says the reason.
	Refused Verdict = "refused"
	// Unfair: the audit found the two sides not comparable; no ratio is given.
	Unfair Verdict = "unfair"
)

// Result is everything a report shows of a run. It is the JSON of
// "tare report --format json".
type Result struct {
	Format     string       `json:"format"` // "tare-result/1"
	Run        string       `json:"run"`
	Experiment string       `json:"experiment"`
	Repeat     string       `json:"repeat"` // the command that measures it anew, in another order
	Title      string       `json:"title"`
	Question   string       `json:"question,omitempty"`
	Started    string       `json:"started"` // RFC 3339
	Seconds    float64      `json:"seconds"` // wall time spent
	Seed       uint64       `json:"seed"`
	Baseline   string       `json:"baseline"`
	Margin     float64      `json:"margin"`
	Blocks     int          `json:"blocks"`   // planned
	Complete   bool         `json:"complete"` // every planned trial has an outcome or is not needed
	Trials     Counts       `json:"trials"`
	Cases      []Case       `json:"cases"`
	Platforms  []Platform   `json:"platforms"`
	Skipped    []bench.Skip `json:"skipped,omitempty"`
	Failures   []Failure    `json:"failures,omitempty"`
	// Unfinished are the launches that did not finish beside their neighbour or in their pool of memory: a finding, no failure of the run.
	Unfinished []Failure `json:"unfinished,omitempty"`
	// Overdue are those that were ended when the time of their cages was over, which says nothing of the platform.
	Overdue []Failure `json:"overdue,omitempty"`
	// Relative is the table of scenes set against others on the same platform.
	Relative *Matrix `json:"relative,omitempty"`
	// Watches are how usable the host was beside what meant harm.
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
	Part  string `json:"part"`
	Date  string `json:"date"`  // RFC 3339
	Tare  string `json:"tare"`  // the version that was tested
	Rests string `json:"rests"` // how much it rests on: "60 comparisons, fewer than 200"
	Claim string `json:"claim"`
	Found string `json:"found"`
	Held  string `json:"held"` // yes, no or open
}

// Counts of trials by status.
type Counts struct {
	Planned int `json:"planned"`
	Done    int `json:"done"`
	Failed  int `json:"failed"`
	DNF     int `json:"dnf,omitempty"`     // did not finish beside a neighbour
	Overdue int `json:"overdue,omitempty"` // ended when the time of their cages was over
	Missing int `json:"missing"`           // without a final outcome, the aborted among them
	Aborted int `json:"aborted,omitempty"`
	// NotNeeded were planned for blocks beyond the end of their case.
	NotNeeded int `json:"not_needed,omitempty"`
}

// Platform is one platform as it took part.
type Platform struct {
	Name    string `json:"name"` // with options
	Version string `json:"version"`
	Label   string `json:"label,omitempty"` // "emulated (tcg)": shown wherever the name is
	Kernel  string `json:"kernel,omitempty"`
	// Caveats are what its driver says of every figure: "O_DIRECT not honoured".
	Caveats []string `json:"caveats,omitempty"`
}

// Case is a set of scenes that differ in the platform only.
type Case struct {
	Name     string            `json:"name"`
	Title    string            `json:"title"`
	Kind     bench.SceneKind   `json:"kind"`
	Workload string            `json:"workload,omitempty"`
	Resource string            `json:"resource"` // cpu, memory, disk, network, startup, migration, other
	Factors  map[string]string `json:"factors,omitempty"`
	// Conditions of the host that were set for its trials.
	Conditions map[string]string `json:"conditions,omitempty"`
	// SwapSpaces are those the host had in its trials, with their sizes, where swap
	// is a condition: the host's own are used where they are large enough.
	SwapSpaces string `json:"swap_spaces,omitempty"`
	// Answer is the case in one sentence, built from the effects.
	Answer string `json:"answer"`
	Rows   []Row  `json:"rows"`
	// MemoryPool is the memory its instances share, 0 for the host's; Pools are how
	// they fared in it, a row per platform.
	MemoryPool bench.Bytes `json:"memory_pool,omitempty"`
	Pools      []PoolRow   `json:"pools,omitempty"`
	// Usage is where the resources went, a row per platform.
	Usage []Usage `json:"usage,omitempty"`
	// Crowd has a row per platform with a finished ramp, in a case of that kind.
	Crowd []CrowdRow `json:"crowd,omitempty"`
	// StartUp is how the launches of a start-up case went, a row per platform.
	StartUp []StartUp `json:"start_up,omitempty"`
	// Latency has a row per histogram and platform, where the program tells
	// how long every request took.
	Latency []Latency `json:"latency,omitempty"`
	// Energy has a row per power meter and platform.
	Energy []Energy `json:"energy,omitempty"`
	// Scheduling has a row per platform and domain, where the host's scheduler was read.
	Scheduling []Scheduling `json:"scheduling,omitempty"`
}

// Row is one metric of one platform in one case.
type Row struct {
	Metric   bench.Metric `json:"metric"`
	Platform string       `json:"platform"`
	Label    string       `json:"label,omitempty"`
	Baseline bool         `json:"baseline,omitempty"`
	// Points are the values of every finished launch, in block order.
	Points []Point `json:"points"`
	Median float64 `json:"median"`
	N      int     `json:"n"`
	// Failed counts launches of this scene that failed, Missing those without an outcome.
	Failed  int `json:"failed,omitempty"`
	Missing int `json:"missing,omitempty"`
	// DNF counts launches that did not finish beside their neighbour or in their
	// pool of memory, and Overdue those that were ended when the time of their cages was over.
	DNF     int `json:"dnf,omitempty"`
	Overdue int `json:"overdue,omitempty"`
	// Fairness is that between alike subjects; nil with one.
	Fairness *Fairness `json:"fairness,omitempty"`
	// Effect compares with the baseline; nil for the baseline itself.
	Effect *Effect `json:"effect,omitempty"`
	// Reproduce is a command that measures this row again.
	Reproduce string   `json:"reproduce"`
	Warnings  []string `json:"warnings,omitempty"`
}

// Point is one launch.
type Point struct {
	Block int     `json:"block"`
	Trial string  `json:"trial"`
	Value float64 `json:"value"`
}

// Effect is a ratio to the baseline, paired by block.
type Effect struct {
	// Ratio is the geometric mean over blocks of value / baseline value.
	Ratio float64 `json:"ratio"`
	// Low and High bound the interval of Ratio; both are 0 if it is refused.
	Low  float64 `json:"low"`
	High float64 `json:"high"`
	// Confidence is the level the interval was made at: 0.95, or higher where a
	// stopping rule looks more than once so that 0.95 remains over all looks.
	Confidence float64 `json:"confidence,omitempty"`
	// P is of the permutation test of no effect, Holm the same corrected over
	// the headline effects of the table, Equivalence of the two one-sided tests
	// of an effect beyond the margin; nil if there are too few blocks.
	P           *float64 `json:"p,omitempty"`
	Holm        *float64 `json:"p_holm,omitempty"`
	Equivalence *float64 `json:"p_equivalence,omitempty"`
	// Drift of the ratios over blocks, if there are enough to tell.
	Drift *Drift `json:"drift,omitempty"`
	// Audit is the fairness of the comparison.
	Audit *audit.Audit `json:"audit,omitempty"`
	// Unfair says why the comparison is invalid; it is shown wherever the effect is.
	Unfair string `json:"unfair,omitempty"`
	// N is the number of blocks in which both finished.
	N int `json:"n"`
	// Overhead is equation 1 of tesfatsion2018 with the sign kept:
	// (virt - native) / native. Positive means the number went up.
	Overhead float64 `json:"overhead"`
	// Cost is the same in the direction that hurts: positive is worse whatever the metric's direction.
	Cost    float64 `json:"cost"`
	Verdict Verdict `json:"verdict"`
	// Why explains a refusal or a doubt.
	Why string `json:"why,omitempty"`
	// Words says the effect in words with its direction, such as "7.1 % slower (5.0 to 9.3)".
	Words string `json:"words"`
	// Caution, if not empty, must be shown wherever the effect is: the two
	// sides were not measured alike, such as an emulated platform beside a real one.
	Caution string `json:"caution,omitempty"`
	// Ratios are the paired ratios by block, every one.
	Ratios []Point `json:"ratios"`
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

// Series are the samples of one trial as rates, aligned on the host's clock.
type Series struct {
	Trial    string `json:"trial"`
	Case     string `json:"case"`
	Platform string `json:"platform"`
	Label    string `json:"label,omitempty"`
	// Window is the measured stretch in seconds from the first sample.
	Window [2]float64 `json:"window"`
	Lines  []Line     `json:"lines"`
}

// Line is one quantity over time.
type Line struct {
	Level    bench.Level `json:"level"`
	Quantity string      `json:"quantity"` // "cpu", "memory", "disk", "network"
	Name     string      `json:"name"`     // for the legend
	Unit     string      `json:"unit"`     // "cores", "bytes", "bytes/s"
	// T is in seconds from the first sample. Y at T is the level then or, of a
	// rate, the mean since the reading before.
	T []float64 `json:"t"`
	Y []float64 `json:"y"`
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
}

// Fact is one line about the host.
type Fact struct {
	Name   string `json:"name"`
	Value  string `json:"value"`
	Caveat string `json:"caveat,omitempty"` // why it matters to these numbers, if it does
}
