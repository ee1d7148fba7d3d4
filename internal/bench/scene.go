package bench

import (
	"slices"
	"strings"
	"time"
)

// Role is an actor's purpose.
type Role string

const (
	Subject   Role = "subject"   // measured
	Neighbour Role = "neighbour" // runs beside the subject to disturb it
	Idle      Role = "idle"      // takes up room
	Peer      Role = "peer"      // the other end of a workload
	Partner   Role = "partner"   // works in turns with the subject, on the baseline
	Member    Role = "member"    // does a share of the subject's job, on its platform, as in a cluster
)

// OfSubject reports whether what an actor of the role uses is the subject's: it is the subject, or
// a member of its cluster.
func (r Role) OfSubject() bool { return r == Subject || r == Member }

// Actor is one instance in a scene and what it does there.
type Actor struct {
	Name     string      `json:"name"` // unique in the scene, such as "subject", "subject-2", "neighbour", "peer"
	Role     Role        `json:"role"`
	Host     string      `json:"host"` // [LocalHost], or the name of one of [Plan.Hosts]
	Platform PlatformRef `json:"platform"`
	Shape    Shape       `json:"shape"`
	// DiskAsked: the specification gives the size of the scratch space, so whether it is held to that matters.
	DiskAsked bool  `json:"disk_asked,omitempty"`
	CPUSet    []int `json:"cpuset"` // where the plan placed it
	// Workload is empty for an idle actor and in a start-up scene.
	Workload string `json:"workload,omitempty"`
	Params   Params `json:"params,omitempty"`
	// Part is the part of the workload that it runs: "main", or for example "server" for a peer and
	// "worker" for a member.
	Part string `json:"part,omitempty"`
	// Serves names the actor whose workload this one is a part of.
	Serves string `json:"serves,omitempty"`
	// Injection is a deliberate slowdown, to test whether the analysis finds it.
	Injection *Injection `json:"injection,omitempty"`
	// Containment bounds an adversarial actor; nil for all others.
	Containment *Containment `json:"containment,omitempty"`
	// Read, of a neighbour: its program runs once, in the window that it has in common with the
	// subject's, and its output is read, too.
	Read bool `json:"read,omitempty"`
}

// Containment holds the limits of a control group that Tare puts around the instance, in addition
// to the platform's own limits. Their sum over a scene leaves the host a share.
type Containment struct {
	Pids   int   `json:"pids"`   // tasks of the host
	Memory Bytes `json:"memory"` // swap included
	// Time is how long the containment lasts after the attack has begun. Then everything in it is
	// killed.
	Time time.Duration `json:"time"`
}

// Relative says that a scene is compared with another on the same platform, and where the result
// stands in the table.
type Relative struct {
	To     string `json:"to"` // the other's case
	Row    string `json:"row"`
	Column string `json:"column"`
}

// Peak says when a rate that a scene asks for is held, in a curve over rates.
type Peak struct {
	Loop Loop `json:"loop"`
	// Bound is the most that the latency may be.
	Bound time.Duration `json:"bound"`
	// Errors is the share that may fail, and Short that by which what is got may be less than what is
	// asked for. Both are of 1.
	Errors float64 `json:"errors"`
	Short  float64 `json:"short"`
}

// Family names the scenes that are compared with each other and so run one after
// the other: those of a case on every platform, with the cases that are set against it.
func (s *Scene) Family() string {
	if s.Relative != nil {
		return s.Relative.To
	}
	return s.Case
}

// Injection is a known slowdown of a subject. Shares are of 1: 0.05 is 5 %.
type Injection struct {
	// CPU reduces the CPU time it may use. The plan has lowered Shape.CPUQuota by it.
	CPU float64 `json:"cpu,omitempty"`
	// Disk reduces its reads and writes per second. The plan has lowered Shape.DiskIOPS by it.
	Disk float64 `json:"disk,omitempty"`
	// Startup lengthens every launch by this share of its time, before the end of the first command
	// is stamped.
	Startup float64 `json:"startup,omitempty"`
}

// SceneKind is the shape of a scene, for people and for the report.
type SceneKind string

const (
	One     SceneKind = "one"     // one instance
	Alike   SceneKind = "alike"   // several alike, the load split equally
	Beside  SceneKind = "beside"  // a victim beside a neighbour
	Cluster SceneKind = "cluster" // a subject and its members, which do one job
	Startup SceneKind = "startup" // no workload: the launch is the measurement
	// Migration: the subject moves, perhaps while its workload runs. The move is the measurement.
	Migration SceneKind = "migration"
	// Checkpointing: the subject moves through files.
	Checkpointing SceneKind = "checkpoint"
	Idling        SceneKind = "rest" // no instance: the machine at rest
	Ramped        SceneKind = "ramp" // idle instances are added until a limit
)

// Sampled says whether trials of the kind have a window in which meters are read.
func (k SceneKind) Sampled() bool { return k != Startup && !k.Moves() }

// Moves says whether the subject of trials of the kind moves.
func (k SceneKind) Moves() bool { return k == Migration || k == Checkpointing }

// FactorWords are a factor's name for people: "message size" for message-size, "memory" for shape.memory.
func FactorWords(name string) string {
	if name == "alike" {
		return "instances"
	}
	return strings.NewReplacer("_", " ", "-", " ").Replace(name[strings.LastIndexByte(name, '.')+1:])
}

// Scene is what one trial sets up.
type Scene struct {
	// ID is unique in the experiment: CASE/PLATFORM.
	ID   string    `json:"id"`
	Kind SceneKind `json:"kind"`
	// Case names everything but the platform. Scenes of one case are compared with each other.
	Case string `json:"case"`
	// Title is the case for people.
	Title string `json:"title"`
	// Short is what a sentence calls the case's work: "random reads".
	Short string `json:"short,omitempty"`
	// Platform is the subject's.
	Platform PlatformRef `json:"platform"`
	// Factors are the crossed factors' levels of this scene besides the platform.
	Factors map[string]string `json:"factors,omitempty"`
	Actors  []Actor           `json:"actors"`
	// Relative, if set, compares the scene with another on the same platform.
	Relative *Relative `json:"relative,omitempty"`
	// Peak, if set, says when the rate of the scene is held.
	Peak *Peak `json:"peak,omitempty"`
	// Ramp, for a scene of that kind, is how its actors start: in order, until a limit.
	Ramp *Ramp `json:"ramp,omitempty"`
	// Pool is how many of the host's CPUs the actors were placed on, if the specification asks for
	// it.
	Pool int `json:"pool,omitempty"`
	// MemoryPool, if not 0, is the memory that all actors but peers share. It stands for a host of
	// that size. It may be less than the sum of their shapes.
	MemoryPool Bytes `json:"memory_pool,omitempty"`
	// Conditions of the host, such as "thp": "never".
	Conditions map[string]string `json:"conditions,omitempty"`
	Timing     Timing            `json:"timing"`
	// Turns, if not 0, is how long the subject and its partner work in turn.
	Turns time.Duration `json:"turns,omitempty"`
	// Cache is the state of the host's page cache at the subjects' launches: one of the constants,
	// or empty for no particular state.
	Cache string `json:"cache,omitempty"`
	// Unmetered: no meter is opened and no clock compared while it runs, to see
	// what observing costs.
	Unmetered bool `json:"unmetered,omitempty"`
	// Control: the platform is the baseline once more, to compare it with itself.
	Control bool `json:"control,omitempty"`
	// Estimate is how long a trial of the scene is expected to take, in seconds.
	Estimate float64 `json:"estimate_s"`
}

// States of the page cache before a launch.
const (
	// Warm: the platform was launched before, with nothing dropped since.
	Warm = "warm"
	// Cold: all unmapped pages of the launch's files were evicted.
	Cold = "cold"
)

// MemoryRatio returns the memory of the instances over that of the pool they share; 0 without a
// pool.
func (s *Scene) MemoryRatio() float64 {
	if s.MemoryPool == 0 {
		return 0
	}
	var sum Bytes
	for _, a := range s.Actors {
		if a.Role != Peer {
			sum += a.Shape.Memory
		}
	}
	return float64(sum) / float64(s.MemoryPool)
}

// Members returns how many members the scene's subject has.
func (s *Scene) Members() (n int) {
	for _, a := range s.Actors {
		if a.Role == Member {
			n++
		}
	}
	return n
}

// Trial is one execution of a scene.
type Trial struct {
	ID    string `json:"id"`    // "b02-t07": second block, seventh trial of the run
	Block int    `json:"block"` // from 1
	Scene string `json:"scene"` // Scene.ID
}

// Skip is a platform left out of a run, with the reason.
type Skip struct {
	Platform string `json:"platform"`
	Reason   string `json:"reason"`
	Hint     string `json:"hint,omitempty"`
	// Named: the experiment names it, and does not just take what there is.
	Named bool `json:"named,omitempty"`
}

// Together joins the skips with the same reason into one that lists their names.
func Together(skips []Skip) []Skip {
	var out []Skip
	at := map[[2]string]int{}
	for _, s := range skips {
		why := [2]string{s.Reason, s.Hint}
		if i, ok := at[why]; ok {
			out[i].Platform += ", " + s.Platform
			continue
		}
		at[why] = len(out)
		out = append(out, s)
	}
	return out
}

// Plan is an expanded experiment: every scene, and every trial in order.
type Plan struct {
	Experiment string  `json:"experiment"`
	Title      string  `json:"title"`
	Question   string  `json:"question,omitempty"`
	Seed       uint64  `json:"seed"`
	Blocks     int     `json:"blocks"`
	Baseline   string  `json:"baseline"` // platform reference compared against
	Margin     float64 `json:"margin"`   // of equivalence, such as 0.03
	// Rare is the share of launches that may behave otherwise, unseen, where platforms count as
	// equivalent without reserve. 0 is the default.
	Rare float64 `json:"rare,omitempty"`
	// Until, if set, lets cases end before Blocks. Blocks is then its Max.
	Until *Until `json:"until,omitempty"`
	// Disturbed says which launches are repeated for other work on the host. Plans made before they
	// said so have none, and nothing is repeated.
	Disturbed *Disturbance `json:"disturbed,omitempty"`
	Scenes    []Scene      `json:"scenes"`
	Trials    []Trial      `json:"trials"`
	// Exchanged says by block, from the first, which CPU stands in for which of those that actors
	// and observer were placed on; null for none. Without it all are where they were placed.
	Exchanged []map[int]int `json:"exchanged,omitempty"`
	Skipped   []Skip        `json:"skipped,omitempty"`
	// Answers are the metrics that answer the question: they are shown first, in the place of the
	// headline metrics of the cases that have them.
	Answers []string `json:"answers,omitempty"`
	// Studies names checks of the fairness audit. The experiment studies the differences they
	// check, so a difference there does not invalidate a comparison.
	Studies  []string `json:"studies,omitempty"`
	Warnings []string `json:"warnings,omitempty"` // such as CPUs that could not be kept apart
	// Metrics by case. With them, results can be read without the workloads.
	Metrics map[string][]Metric `json:"metrics"`
	// Resources by case say what its workload mainly stresses. Plans made before they
	// did have none.
	Resources map[string]string `json:"resources,omitempty"`
	// Image is what the image holds beyond the base.
	Image ImageNeeds `json:"image,omitzero"`
	// Hosts are the further hosts that peers run on.
	Hosts []FurtherHost `json:"hosts,omitempty"`
	// Estimate is the expected duration in seconds.
	Estimate float64 `json:"estimate_s"`
	// Idle is how long the machine's power at rest is measured before and after
	// the trials of each block; 0 if no meter is read.
	Idle time.Duration `json:"rest,omitempty"`
	// KeepTrying: platforms whose launches fail are not given up.
	KeepTrying bool `json:"keep_trying,omitempty"`
}

// CPUsIn returns where CPUs that were placed on lie in a block, ascending.
func (p *Plan) CPUsIn(block int, cpus []int) []int {
	cpus = slices.Clone(cpus)
	if block < 1 || block > len(p.Exchanged) {
		return cpus
	}
	for i, c := range cpus {
		if other, ok := p.Exchanged[block-1][c]; ok {
			cpus[i] = other
		}
	}
	slices.Sort(cpus)
	return cpus
}

// Scene returns the scene with the id, or nil.
func (p *Plan) Scene(id string) *Scene {
	for i := range p.Scenes {
		if p.Scenes[i].ID == id {
			return &p.Scenes[i]
		}
	}
	return nil
}
