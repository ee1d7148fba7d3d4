package bench

import "time"

// Role is what an actor is there for.
type Role string

const (
	Subject   Role = "subject"   // measured
	Neighbour Role = "neighbour" // runs beside the subject to disturb it
	Idle      Role = "idle"      // takes up room
	Peer      Role = "peer"      // the other end of a workload
)

// Actor is one instance in a scene and what it does there.
type Actor struct {
	Name     string      `json:"name"` // unique in the scene, such as "subject", "subject-2", "neighbour", "peer"
	Role     Role        `json:"role"`
	Host     string      `json:"host"` // "local"
	Platform PlatformRef `json:"platform"`
	Shape    Shape       `json:"shape"`
	CPUSet   []int       `json:"cpuset"` // where the plan placed it
	// Workload is empty for an idle actor and in a start-up scene.
	Workload string `json:"workload,omitempty"`
	Params   Params `json:"params,omitempty"`
	// Part is which part of the workload it runs: "main", or such as "server" for a peer.
	Part string `json:"part,omitempty"`
	// Serves names the actor whose workload this one is a part of.
	Serves string `json:"serves,omitempty"`
	// Injection is a slowdown put there on purpose, to see whether it is found.
	Injection *Injection `json:"injection,omitempty"`
	// Cage holds what means harm; nil for everything else.
	Cage *Cage `json:"cage,omitempty"`
}

// Cage are the limits of the outer cage: a control group of Tare's own around
// the instance, whatever the platform itself enforces. Their sum over a scene
// leaves the host a share.
type Cage struct {
	Pids   int   `json:"pids"`   // tasks of the host
	Memory Bytes `json:"memory"` // swap included
	// Time is how long the cage stands once the harm has begun; then everything in it is killed.
	Time time.Duration `json:"time"`
}

// Relative says that a scene is to be set against another on the same
// platform, and where the result stands in the table.
type Relative struct {
	To     string `json:"to"` // the other's case
	Row    string `json:"row"`
	Column string `json:"column"`
}

// Injection is a known slowdown of a subject. Shares are of 1: 0.05 is 5 %.
type Injection struct {
	// CPU is taken off the CPU time it may use; the plan has lowered Shape.CPUQuota by it.
	CPU float64 `json:"cpu,omitempty"`
	// Disk is taken off the reads and writes per second it may make; the plan
	// has lowered Shape.DiskIOPS by it.
	Disk float64 `json:"disk,omitempty"`
	// Startup is added to the time of every launch, as a share of that time,
	// before the clock of the first command is stopped.
	Startup float64 `json:"startup,omitempty"`
}

// SceneKind is the shape of a scene, for people and for the report.
type SceneKind string

const (
	One     SceneKind = "one"     // one instance
	Alike   SceneKind = "alike"   // several alike, the load split equally
	Beside  SceneKind = "beside"  // a victim beside a neighbour
	Startup SceneKind = "startup" // no workload: the launch is the measurement
	// Migration: the subject moves, perhaps while its workload runs, and that is the measurement.
	Migration SceneKind = "migration"
	// Checkpointing: it does so by files.
	Checkpointing SceneKind = "checkpoint"
	Resting       SceneKind = "rest" // no instance: the machine at rest
	Ramped        SceneKind = "ramp" // idle instances are added until a limit
)

// Sampled says whether trials of the kind have a window in which meters are read.
func (k SceneKind) Sampled() bool { return k != Startup && !k.Moves() }

// Moves says whether the subject of trials of the kind moves.
func (k SceneKind) Moves() bool { return k == Migration || k == Checkpointing }

// Scene is what one trial sets up.
type Scene struct {
	// ID is unique in the experiment: CASE/PLATFORM.
	ID   string    `json:"id"`
	Kind SceneKind `json:"kind"`
	// Case names everything but the platform: scenes of one case are compared with each other.
	Case string `json:"case"`
	// Title is the case for people.
	Title string `json:"title"`
	// Platform is the subject's.
	Platform PlatformRef `json:"platform"`
	// Factors are the crossed factors' levels of this scene besides the platform.
	Factors map[string]string `json:"factors,omitempty"`
	Actors  []Actor           `json:"actors"`
	// Relative, if set, sets the scene against another on the same platform.
	Relative *Relative `json:"relative,omitempty"`
	// Ramp, of a scene of that kind, is how its actors come up: in order, until a limit.
	Ramp *Ramp `json:"ramp,omitempty"`
	// Pool is how many of the host's CPUs the actors were placed on, where that was asked for.
	Pool int `json:"pool,omitempty"`
	// MemoryPool, if not 0, is the memory that all actors but peers share: a host
	// of that size, which may be less than the sum of their shapes.
	MemoryPool Bytes `json:"memory_pool,omitempty"`
	// Conditions of the host, such as "thp": "never".
	Conditions map[string]string `json:"conditions,omitempty"`
	Timing     Timing            `json:"timing"`
	// Cache is the state of the host's page cache that the launches of the subjects
	// meet: as it happens to be, or one of the constants.
	Cache string `json:"cache,omitempty"`
	// Unmetered: no meter is opened and no clock compared while it runs, to see
	// what observing costs.
	Unmetered bool `json:"unmetered,omitempty"`
	// Estimate is how long a trial of the scene is expected to take, in seconds.
	Estimate float64 `json:"estimate_s"`
}

// States of the page cache before a launch.
const (
	// Warm: the platform was launched before, with nothing dropped since.
	Warm = "warm"
	// Cold: of the files that a launch reads, all that nobody has mapped was dropped.
	Cold = "cold"
)

// MemoryRatio is the memory of the instances for each byte of the pool they
// share; 0 without a pool.
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
}

// Together joins those left out for one reason, their names one after the
// other, so that people read it once.
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

// Plan is an experiment worked out: every scene, every trial in order.
type Plan struct {
	Experiment string  `json:"experiment"`
	Title      string  `json:"title"`
	Question   string  `json:"question,omitempty"`
	Seed       uint64  `json:"seed"`
	Blocks     int     `json:"blocks"`
	Baseline   string  `json:"baseline"` // platform reference compared against
	Margin     float64 `json:"margin"`   // of equivalence, such as 0.03
	// Until, if set, lets cases end before Blocks, which is then its Max.
	Until   *Until  `json:"until,omitempty"`
	Scenes  []Scene `json:"scenes"`
	Trials  []Trial `json:"trials"`
	Skipped []Skip  `json:"skipped,omitempty"`
	// Studies are checks of the fairness audit whose difference between platforms
	// is what the experiment asks about, so that it makes no comparison invalid.
	Studies  []string `json:"studies,omitempty"`
	Warnings []string `json:"warnings,omitempty"` // such as CPUs that could not be kept apart
	// Metrics by case, so that results can be read without the workloads.
	Metrics map[string][]Metric `json:"metrics"`
	// Estimate is the expected duration in seconds.
	Estimate float64 `json:"estimate_s"`
	// Rest is how long the machine's power at rest is measured before and after
	// the trials of each block; 0 if no meter is read.
	Rest time.Duration `json:"rest,omitempty"`
	// KeepTrying: no platform is given up whose launches fail.
	KeepTrying bool `json:"keep_trying,omitempty"`
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
