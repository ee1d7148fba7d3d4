package bench

import (
	"net/netip"
	"time"
)

// Params are a workload's parameters as written, with every default filled in. Scalars are text in
// canonical form (sizes in bytes, durations as Go writes them). Lists and maps are JSON text.
type Params map[string]string

// ParamKind is the type of a parameter.
type ParamKind string

const (
	KindInt      ParamKind = "int"
	KindFloat    ParamKind = "float"
	KindSize     ParamKind = "size"
	KindDuration ParamKind = "duration"
	KindWord     ParamKind = "word" // one of Words
	KindString   ParamKind = "string"
	KindJSON     ParamKind = "json" // any list or map, kept as JSON
)

// Param describes a parameter of a workload.
type Param struct {
	Name     string    `json:"name"`
	Kind     ParamKind `json:"kind"`
	Default  string    `json:"default,omitempty"`
	Required bool      `json:"-"`
	Words    []string  `json:"words,omitempty"` // for KindWord
	Min      float64   `json:"-"`               // for numbers and sizes; values below are refused
	Max      float64   `json:"-"`               // the same of values above; 0 for none
	Doc      string    `json:"doc"`
	// Load marks the parameter that sets the load. It is divided among the instances that share a
	// scene's load equally.
	Load bool `json:"-"`
}

// Timing is the procedure of tesfatsion2018 section 3.3: warm up for X,
// measure for Y, wait Z before the next trial.
type Timing struct {
	Warmup   time.Duration `json:"warmup"`   // X
	Measure  time.Duration `json:"measure"`  // Y
	Cooldown time.Duration `json:"cooldown"` // Z
	// Deadline bounds each command and the instance's start. With 0 the workload and the platform
	// decide.
	Deadline time.Duration `json:"deadline,omitempty"`
}

// Setting is the information a workload has when it builds its commands.
type Setting struct {
	Timing Timing
	Shape  Shape
	// LLC is the size of the host's last-level cache in bytes.
	LLC Bytes
	// Addr maps the scene's parts, such as "server", to their addresses. Of a member's part it is
	// the address of the member itself.
	Addr map[string]netip.Addr
	// Members are the addresses of a cluster's members, in their order.
	Members []netip.Addr
	// Member is which of them the part is for, from 0.
	Member int
	// Image is how the instance's image says its programs are run; nil for the golden one.
	Image *ImageConfig
}

// CommandPath is where a command's program is looked for, unless its environment has a PATH.
const CommandPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// Command is a program to run inside an instance. No shell is involved.
type Command struct {
	Argv  []string          `json:"argv"`
	Env   map[string]string `json:"env,omitempty"` // added to a minimal environment
	Dir   string            `json:"dir,omitempty"`
	User  string            `json:"user,omitempty"` // as an image names it: USER, UID, USER:GROUP; "" is root
	Stdin []byte            `json:"stdin,omitempty"`
	// Timeout is a hard deadline after which the command and all its children are killed.
	Timeout time.Duration `json:"timeout"`
	// Bare: the agent starts it without first protecting itself from the command. It is for the
	// command whose time is part of a start-up.
	Bare bool `json:"bare,omitempty"`
}

// Output is the result of a command. A non-zero exit is not an error of Exec.
type Output struct {
	Stdout   []byte        `json:"-"`
	Stderr   []byte        `json:"-"`
	Exit     int           `json:"exit"`             // exit status, or 128+signal
	Signal   string        `json:"signal,omitempty"` // such as "killed", when a signal ended it
	TimedOut bool          `json:"timed_out,omitempty"`
	Wall     time.Duration `json:"wall"`
	User     time.Duration `json:"user"`
	System   time.Duration `json:"system"`
	// Truncated: the command printed more than is kept (see agent.MaxOutput).
	Truncated bool `json:"truncated,omitempty"`
}

// File is a small file placed inside the instance before Prepare.
type File struct {
	Path string
	Mode uint32
	Data []byte
	// HostPath, if set, is a file on the host whose content is sent instead of Data.
	HostPath string
}

// Part is what one instance of a workload does. A workload may have a server and a client, or a
// master and workers.
type Part struct {
	Files   []File
	Prepare []Command // before warm-up, in order; a non-zero exit fails the trial
	Warm    []Command // the warm-up, if it is a run of its own
	// Main is the measured command. For a service it is started first and killed last, and its
	// output is not parsed. Where [SubjectPart] is a service, another part is its load: that one's
	// Main is measured, and Parse reads its output.
	Main    Command
	Service bool
	// Listen, for a service, is the TCP port that accepts once it is ready; 0 for none.
	Listen int
	// Further: clients call the service on ports besides Listen, too, which it chooses.
	Further bool
	// Ready is how long a service may take until it accepts; 0 for ten seconds.
	Ready time.Duration
	// Ramp is how long after Main's start the measured window opens, for a
	// program that warms up within its run.
	Ramp time.Duration
	// Begin and End, if set, are texts in Main's standard output that open and close the measured
	// window. Main is killed once End was seen, unless it GoesOn. That kill is not a failure.
	Begin, End string
	// Polls: Main never sleeps, so that its CPU time does not tell whether it had more to do than it could.
	Polls bool
	// GoesOn: after End, Main has more to do, such as to check its result, and ends by itself.
	GoesOn bool
	// OKExit are exit statuses of Main, besides 0, that are not failures.
	OKExit []int
}

// A Histogrammer is a workload whose program reports a latency histogram.
type Histogrammer interface {
	// Histograms reads them from an output that Parse accepts.
	Histograms(p Params, s Setting, out Output) ([]Histogram, error)
}

// A Progresser is a workload whose program tells how its work went on within the measured window,
// without that changing what it measures.
type Progresser interface {
	// Series reads that from an output that Parse accepts. It returns none, without an error, where
	// the parameters or the length of the window give none.
	Series(p Params, s Setting, out Output) ([]Series, error)
}

// A Clustered workload does one job on several instances: the subject, which runs [SubjectPart], and
// its members. They are instances of the subject's platform, and count as the subject's own.
type Clustered interface {
	// Members returns the part, one of Parts, that each member runs. It is a service.
	Members() string
}

// MembersPart returns the part that a cluster's members run; "" for a workload without members.
func MembersPart(w Workload) string {
	if c, ok := w.(Clustered); ok {
		return c.Members()
	}
	return ""
}

// Loop names the parts of an open loop.
type Loop struct {
	// Rate is the parameter that says what is asked for in a second, of all instances together.
	Rate string `json:"rate"`
	// Got is the metric of what was done of it in a second, Answered that of the percentage that did
	// not fail, and Latency that of the latency to be bounded.
	Got      string `json:"got"`
	Answered string `json:"answered"`
	Latency  string `json:"latency"`
}

// An OpenLoop is a workload that may be asked for something at a rate that does not depend on the
// answers.
type OpenLoop interface {
	// Loop returns an empty one where the parameters make no open loop.
	Loop(p Params) Loop
}

// A Sized workload knows how much memory an instance must have for its main part.
type Sized interface {
	// Memory returns that amount. It does not depend on the shape.
	Memory(p Params, s Setting) (Bytes, error)
}

// An Adversary is an adversarial workload: it takes all it can get. Its actors run only
// inside a [Containment].
type Adversary interface {
	// Attacks reports whether the part attacks. The other parts are its first victims.
	Attacks(part string) bool
}

// IsAdversary reports whether a workload is one.
func IsAdversary(w Workload) bool { _, is := w.(Adversary); return is }

// A Carrier is a workload whose parameters name programs to run and files of the host to copy. Both
// are shown to a user who runs someone else's specification.
type Carrier interface {
	// Carries returns the command lines and the paths as written.
	Carries(p Params) (commands [][]string, files []string, err error)
	// Program returns the parameter that names a part's program.
	Program(part string) (param string)
}

// Resources are what a workload may mainly stress.
var Resources = []string{"cpu", "memory", "disk", "network", "other"}

// SubjectPart is the name of the part that is measured, in every workload.
const SubjectPart = "main"

// A Workload turns parameters into commands, and their output into values. It is pure: it runs
// nothing itself.
type Workload interface {
	Name() string
	Summary() string
	// Resource returns what it mainly stresses: one of [Resources].
	Resource() string
	Params() []Param
	// Metrics lists what Parse returns for these parameters.
	Metrics(p Params) ([]Metric, error)
	// Parts returns the names of the parts besides [SubjectPart] that a scene must supply, such as
	// "server".
	Parts() []string
	// Programs returns the programs that it runs inside the image.
	Programs() []string
	// Steps returns the part's commands. For an impossible combination of parameters and setting it
	// returns an error that wraps ErrInvalid.
	Steps(part string, p Params, s Setting) (Part, error)
	// Parse reads Main's output. For a missing value it returns an error that quotes the text that
	// did not parse, never a zero.
	Parse(p Params, s Setting, out Output) ([]Value, error)
}
