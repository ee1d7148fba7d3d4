package workload

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"time"

	"tare/internal/bench"
)

// spark is a job of a standalone Spark cluster: the instance is its master and runs the driver, and
// its members are the workers. The jobs are HiBench's, as in ruan2016 section 4.4: see spark.py.
type spark struct{}

//go:embed spark.py
var sparkScript []byte

const (
	sparkWorker = "worker"
	sparkBegin  = "spark begins"
	sparkEnd    = "spark ends"
	sparkFile   = bench.ScratchDir + "/spark.py"

	// sparkRoom is what an instance needs beside the heap of its driver or executor: the master or
	// the worker, Python, and what Java needs beyond its heaps.
	sparkRoom = 560 * bench.MiB
	// sparkLeast is the least memory that Spark lets an executor or a driver have.
	sparkLeast = 471859200
	// sparkPatience is how long programs of the cluster wait for each other, in an emulated machine, too.
	sparkPatience = 3 * time.Minute
	// sparkWarm is the share of the records that a run before the window has.
	sparkWarm = 8
)

func (spark) Name() string { return "spark" }

func (spark) Summary() string {
	return "a job of a Spark cluster: the instance is the master and its members are the workers"
}

func (spark) Resource() string { return "cpu" }

func (spark) Parts() []string { return []string{sparkWorker} }

// Members implements [bench.Clustered].
func (spark) Members() string { return sparkWorker }

// Family implements [bench.Familied].
func (spark) Family() string { return "cluster" }

func (spark) Programs() []string { return []string{"spark", "java", "python3"} }

func (spark) Params() []bench.Param {
	return []bench.Param{
		{Name: "job", Kind: bench.KindWord, Default: "wordcount", Words: []string{"wordcount", "terasort", "pagerank", "kmeans"}, Doc: "what is worked out"},
		{Name: "records", Kind: bench.KindInt, Default: "262144", Min: 1000, Max: 1 << 30,
			Doc: "lines of 16 words, records of 100 bytes, links of a tenth as many pages; or points of 6 dimensions"},
		{Name: "seed", Kind: bench.KindInt, Default: "1", Max: 1 << 20, Doc: "what the input is made from"},
		{Name: "partitions", Kind: bench.KindInt, Default: "8", Min: 1, Max: 4096, Doc: "parts that data are worked on in"},
		{Name: "executor-memory", Kind: bench.KindSize, Default: "0", Doc: "heap of each worker's executor; 0 is all that the smallest worker offers, which is 560 MiB less than it has"},
	}
}

func (spark) Metrics(bench.Params) ([]bench.Metric, error) {
	return []bench.Metric{
		{Name: "job_time", Unit: "s", Better: bench.LowerIsBetter, Combine: bench.Max, Headline: true, Doc: "from the job's first task to its result, without making the input and checking the result"},
		{Name: "records", Unit: "records/s", Better: bench.HigherIsBetter, Combine: bench.Sum, Doc: "records of the input by that time"},
	}, nil
}

// sparkTask is what spark.py is to do.
type sparkTask struct {
	Name       string            `json:"name"`     // of the instance, in Hosts
	Hosts      map[string]string `json:"hosts"`    // addresses by name
	Patience   int               `json:"patience"` // seconds
	Members    int               `json:"members,omitempty"`
	Cores      int               `json:"cores,omitempty"`
	Memory     bench.Bytes       `json:"memory,omitempty"` // that a worker offers
	Driver     bench.Bytes       `json:"driver,omitempty"` // heap
	Executor   *bench.Bytes      `json:"executor,omitempty"`
	Job        string            `json:"job,omitempty"`
	Records    int64             `json:"records,omitempty"`
	Warm       *int64            `json:"warm,omitempty"` // records of a run before the window, 0 for none
	Seed       int64             `json:"seed,omitempty"`
	Partitions int64             `json:"partitions,omitempty"`
}

// command is spark.py in one of its roles.
func (t sparkTask) command(role string, limit time.Duration) bench.Command {
	text, err := json.Marshal(t)
	if err != nil {
		panic("workload: a task of Spark is plain data: " + err.Error())
	}
	return bench.Command{Argv: []string{"python3", sparkFile, role, string(text)}, Timeout: limit}
}

func (w spark) Steps(part string, p bench.Params, s bench.Setting) (bench.Part, error) {
	addr, err := served(w, s)
	if err != nil {
		return bench.Part{}, err
	}
	task := sparkTask{Name: bench.SubjectPart, Hosts: map[string]string{bench.SubjectPart: addr.String()}, Patience: int(sparkPatience.Seconds())}
	if s.Timing.Deadline > 0 {
		task.Patience = max(1, int(min(sparkPatience, s.Timing.Deadline/2).Seconds()))
	}
	for i, member := range s.Members {
		if !member.IsValid() {
			return bench.Part{}, fmt.Errorf("%s: a member has no address at which others find it: %w", w.Name(), bench.ErrUnavailable)
		}
		task.Hosts[fmt.Sprintf("%s-%d", sparkWorker, i+1)] = member.String()
	}
	heap := s.Shape.Memory - sparkRoom
	if heap < sparkLeast {
		return bench.Part{}, fmt.Errorf("%s: %s of memory leave %s for a %s, and Spark takes no less than %s: %w%w", w.Name(), s.Shape.Memory, max(0, heap),
			map[bool]string{true: "driver", false: "worker's executor"}[part == bench.SubjectPart], bench.Bytes(sparkLeast), bench.ErrInvalid,
			bench.Hint("give the subject and its members 1 GiB or more: shape: {memory: 1GiB}"))
	}
	steps := bench.Part{Files: []bench.File{{Path: sparkFile, Mode: 0o644, Data: sparkScript}}}
	switch part {
	case bench.SubjectPart:
		steps.Begin, steps.End, steps.GoesOn = sparkBegin, sparkEnd, true
		err = w.driver(&steps, task, heap, p, s)
		return steps, err
	case sparkWorker:
		task.Name, task.Cores, task.Memory = fmt.Sprintf("%s-%d", sparkWorker, s.Member+1), s.Shape.CPUs, heap
		steps.Main, steps.Service = task.command("worker", serviceLimit), true
		return steps, nil
	}
	return bench.Part{}, unknownPart(w, part)
}

// driver has the master started, and then the job.
func (w spark) driver(steps *bench.Part, task sparkTask, heap bench.Bytes, p bench.Params, s bench.Setting) error {
	master, err := timeout(s.Timing, sparkPatience)
	if err != nil {
		return err
	}
	steps.Prepare = []bench.Command{task.command("master", master)}
	limit, err := timeout(s.Timing, w.Estimate(p, s))
	if err != nil {
		return err
	}
	for name, field := range map[string]*int64{"records": &task.Records, "seed": &task.Seed, "partitions": &task.Partitions} {
		if *field, err = intOf(w, p, name); err != nil {
			return err
		}
	}
	executor, err := intOf(w, p, "executor-memory")
	if err != nil {
		return err
	}
	asked, warm := bench.Bytes(executor), int64(0)
	if asked > 0 && asked < sparkLeast {
		return &ParamError{w.Name(), "executor-memory", fmt.Errorf("%s: Spark takes no less than %s", asked, bench.Bytes(sparkLeast))}
	}
	if s.Timing.Warmup > 0 {
		warm = max(1, task.Records/sparkWarm)
	}
	task.Members, task.Driver, task.Executor, task.Job, task.Warm = len(s.Members), heap, &asked, p["job"], &warm
	steps.Main = task.command("job", limit)
	return nil
}

// sparkResult is the line that spark.py prints.
type sparkResult struct {
	Job     string  `json:"job"`
	Seconds float64 `json:"seconds"`
	Records int64   `json:"records"`
	Checked string  `json:"checked"` // what was found right
}

func (w spark) Parse(p bench.Params, _ bench.Setting, out bench.Output) ([]bench.Value, error) {
	if err := finished("spark", out); err != nil {
		return nil, err
	}
	_, text, ok := bytes.Cut(out.Stdout, []byte(sparkEnd+"\n"))
	text, _, whole := bytes.Cut(text, []byte("\n"))
	if !ok || !whole {
		return nil, fmt.Errorf("spark: result: %w in %s", errMissing, excerpt(out.Stdout))
	}
	var r sparkResult
	if err := json.Unmarshal(text, &r); err != nil {
		return nil, fmt.Errorf("spark: result: %w: %s", err, excerpt(text))
	}
	records, err := intOf(w, p, "records")
	switch {
	case err != nil:
		return nil, err
	case r.Job != p["job"] || r.Records != records || r.Checked == "":
		return nil, fmt.Errorf("spark: not the checked result of %s with %d records: %s", p["job"], records, excerpt(text))
	case !(r.Seconds > 0):
		return nil, fmt.Errorf("spark: seconds: not above zero: %s", excerpt(text))
	}
	return []bench.Value{{Metric: "job_time", Value: r.Seconds}, {Metric: "records", Value: float64(r.Records) / r.Seconds}}, nil
}

// Estimate is for a cluster on two cores: Spark's start, the input, and a job that runs until it is through.
func (w spark) Estimate(p bench.Params, s bench.Setting) time.Duration {
	records, err := intOf(w, p, "records")
	if err != nil {
		return 0
	}
	perMillion := map[string]float64{"wordcount": 20, "terasort": 30, "pagerank": 60, "kmeans": 60}[p["job"]]
	return 25*time.Second + time.Duration(perMillion*float64(records)/1e6*float64(time.Second))
}
