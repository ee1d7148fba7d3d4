package agent

import "time"

// Version is the protocol version this package speaks; MinVersion the oldest
// it still understands.
const (
	Version    = 1
	MinVersion = 1
)

// AgentVersion is the release of the agent, for records only.
const AgentVersion = "0.1.0"

const (
	// MaxOutput is how much of each output stream of a command is kept, in
	// bytes. What comes after it is read and dropped, and Output.Truncated set.
	MaxOutput = 16 << 20
	// MaxStdin bounds Command.Stdin, in bytes.
	MaxStdin = 64 << 20
	// maxFrame bounds a frame's payload, in bytes.
	maxFrame = 1 << 20
	// maxData is the most data one frame carries, in bytes, so that a small
	// answer never waits behind a large frame.
	maxData = 32 << 10
	// window is how much data of one direction of one operation may be under
	// way before the receiver grants more, in bytes.
	window = 256 << 10
	// maxNoise bounds what is skipped before a greeting, in bytes.
	maxNoise = 1 << 20
)

// magic begins each direction. It cannot occur in text, and a line discipline
// that translates line ends breaks it at once. Its first byte occurs only once.
const magic = "\x16TARE-AGENT\r\n\xff\x00\n"

// The frame types.
const (
	typeHello   = 'H' // both ways: JSON Hello, JSON clientHello
	typeExec    = 'X' // JSON execRequest
	typePut     = 'P' // JSON putRequest
	typeData    = 'd' // raw: standard input or file content
	typeEnd     = '.' // empty: no more data
	typeKill    = 'K' // JSON killRequest
	typeSample  = 'S' // empty
	typeClock   = 'C' // empty
	typeFacts   = 'F' // JSON FactsRequest
	typeBye     = 'B' // both ways, empty
	typeWindow  = 'w' // both ways: stream byte, uint32 bytes granted
	typeStarted = 's' // JSON startedReply
	typeStdout  = 'o' // raw
	typeStderr  = 'e' // raw
	typeExit    = 'x' // JSON exitReply
	typeReply   = 'r' // the answer to put, kill (empty), sample and clock (binary), facts (JSON object of texts)
	typeError   = 'E' // JSON errorReply
)

// Hello is what the agent says of itself and of the instance it is in.
type Hello struct {
	Version    int    `json:"version"`     // newest protocol version the agent speaks
	MinVersion int    `json:"min_version"` // oldest
	Agent      string `json:"agent"`       // release of the agent
	PID        int    `json:"pid"`         // in the instance's own PID namespace
	// OwnKernel: the instance has a kernel of its own, and samples are that kernel's.
	OwnKernel bool   `json:"own_kernel"`
	Kernel    string `json:"kernel"` // release
	Hostname  string `json:"hostname"`
	CPUs      []int  `json:"cpus"` // usable, by sched_getaffinity(2)
	Nice      int    `json:"nice"` // after the agent tried to set it to 0
	Now       int64  `json:"now"`  // the instance's CLOCK_MONOTONIC, nanoseconds
	// Began and Serving are by the same clock: the first instruction of the
	// agent's program, and the end of what it does as the init of a guest.
	Began   int64 `json:"began,omitempty"`
	Serving int64 `json:"serving,omitempty"`
	// Columns are what a sample holds, in order.
	Columns []string `json:"columns"`
}

type clientHello struct {
	Version int `json:"version"` // the one chosen for the rest of the stream
}

type execRequest struct {
	Argv    []string          `json:"argv"`
	Env     map[string]string `json:"env,omitempty"`
	User    string            `json:"user,omitempty"`
	Dir     string            `json:"dir,omitempty"`
	Stdin   int               `json:"stdin,omitempty"` // bytes of data frames that follow
	Timeout time.Duration     `json:"timeout,omitempty"`
	Bare    bool              `json:"bare,omitempty"` // see bench.Command
}

type putRequest struct {
	Path string `json:"path"`
	Mode uint32 `json:"mode"`
}

type killRequest struct {
	Exec uint32 `json:"exec"` // the id of the exec frame
}

type startedReply struct {
	PID int `json:"pid"`
}

type exitReply struct {
	Exit     int           `json:"exit"`
	Signal   string        `json:"signal,omitempty"`
	TimedOut bool          `json:"timed_out,omitempty"`
	Wall     time.Duration `json:"wall"`
	User     time.Duration `json:"user"`
	System   time.Duration `json:"system"`
}

type errorReply struct {
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
}
