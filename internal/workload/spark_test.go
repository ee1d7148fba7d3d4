package workload

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/netip"
	"strings"
	"testing"
	"time"

	"tare/internal/bench"
)

// clustered is what the parts of a cluster with two workers are told.
func clustered(member int) bench.Setting {
	s := setting()
	s.Members = []netip.Addr{netip.MustParseAddr("10.99.0.4"), netip.MustParseAddr("10.99.0.5")}
	s.Member = member
	return s
}

// taskOf is what a command of spark.py is to do.
func taskOf(t *testing.T, c bench.Command, role string) sparkTask {
	t.Helper()
	var task sparkTask
	if len(c.Argv) != 4 || c.Argv[1] != sparkFile || c.Argv[2] != role {
		t.Fatalf("not spark.py in the role %s: %q", role, c.Argv)
	}
	if err := json.Unmarshal([]byte(c.Argv[3]), &task); err != nil {
		t.Fatal(err)
	}
	return task
}

func TestSparkSteps(t *testing.T) {
	p := fill(t, spark{}, bench.Params{"job": "terasort", "executor-memory": "512MiB"})
	main, err := spark{}.Steps(bench.SubjectPart, p, clustered(0))
	if err != nil {
		t.Fatal(err)
	}
	if main.Service || main.Begin != sparkBegin || main.End != sparkEnd || !main.GoesOn || len(main.Files) != 1 || len(main.Prepare) != 1 {
		t.Errorf("main: %+v", main)
	}
	taskOf(t, main.Prepare[0], "master")
	job := taskOf(t, main.Main, "job")
	if job.Members != 2 || job.Hosts["main"] != "10.99.0.3" || job.Hosts["worker-2"] != "10.99.0.5" || job.Job != "terasort" || job.Records != 1<<18 ||
		*job.Executor != 512*bench.MiB || *job.Warm != 1<<15 || job.Driver != bench.GiB-sparkRoom {
		t.Errorf("job: %+v", job)
	}
	worker, err := spark{}.Steps(sparkWorker, p, clustered(1))
	if err != nil {
		t.Fatal(err)
	}
	if task := taskOf(t, worker.Main, "worker"); !worker.Service || task.Name != "worker-2" || task.Cores != 2 || task.Memory != bench.GiB-sparkRoom {
		t.Errorf("worker: %+v", task)
	}
	cold := clustered(0)
	cold.Timing.Warmup, cold.Timing.Deadline = 0, 5*time.Minute
	if main, err = (spark{}).Steps(bench.SubjectPart, p, cold); err != nil {
		t.Fatal(err)
	}
	if job := taskOf(t, main.Main, "job"); *job.Warm != 0 || job.Patience != 150 || main.Main.Timeout != 5*time.Minute {
		t.Errorf("without a warm-up, with a deadline of 5 minutes: %+v, %v", job, main.Main.Timeout)
	}
}

func TestSparkRefuses(t *testing.T) {
	small, lost, alone := clustered(0), clustered(0), clustered(0)
	small.Shape.Memory = 512 * bench.MiB
	lost.Members = []netip.Addr{{}}
	alone.Addr = nil
	for _, c := range []struct {
		part  string
		given bench.Params
		s     bench.Setting
		is    error
		says  string
	}{
		{bench.SubjectPart, nil, small, bench.ErrInvalid, "512 MiB of memory leave 0 B for a driver, and Spark takes no less than 450 MiB"},
		{sparkWorker, nil, small, bench.ErrInvalid, "for a worker's executor"},
		{bench.SubjectPart, bench.Params{"executor-memory": "100MiB"}, clustered(0), bench.ErrInvalid, "Spark takes no less than 450 MiB"},
		{bench.SubjectPart, nil, lost, bench.ErrUnavailable, "a member has no address"},
		{sparkWorker, nil, alone, bench.ErrUnavailable, "has no address"},
	} {
		_, err := spark{}.Steps(c.part, fill(t, spark{}, c.given), c.s)
		if !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s %v: %v, not %q", c.part, c.given, err, c.says)
		}
	}
}

// sparkCaptured are jobs with a real output of each, and the seconds that it says.
var sparkCaptured = map[string]float64{
	"wordcount": 3.5387542449998364, "terasort": 7.24019890100044, "pagerank": 15.946546027000295, "kmeans": 20.826099758000055,
}

// ended is what spark.py printed.
func ended(text []byte) bench.Output { return bench.Output{Stdout: text} }

func TestSparkParse(t *testing.T) {
	for job, want := range sparkCaptured {
		p := fill(t, spark{}, bench.Params{"job": job, "records": "100000"})
		values, err := spark{}.Parse(p, clustered(0), ended(captured(t, "spark-"+job+".txt")))
		if err != nil {
			t.Fatalf("%s: %v", job, err)
		}
		checkValues(t, spark{}, p, values)
		if got := value(t, values, "job_time"); got != want || value(t, values, "records") != 100000/want {
			t.Errorf("%s: %v, want %v s", job, values, want)
		}
	}
}

func TestSparkParseRefuses(t *testing.T) {
	good := captured(t, "spark-wordcount.txt")
	swap := func(old, new string) []byte {
		if !bytes.Contains(good, []byte(old)) {
			t.Fatalf("%q is not in the capture", old)
		}
		return bytes.Replace(good, []byte(old), []byte(new), 1)
	}
	for _, c := range []struct {
		name string
		out  bench.Output
		says string
	}{
		{"nothing", bench.Output{}, "result: not found in nothing"},
		{"cut before the result", ended([]byte("spark begins\nspark ends\n")), "result: not found"},
		{"cut within it", ended(good[:len(good)-40]), "result: not found"},
		{"not JSON", ended(swap(`{"job"`, `{job`)), "invalid character"},
		{"another job", ended(swap("wordcount", "terasort")), `not the checked result of wordcount`},
		{"other records", ended(swap("100000", "100001")), "with 100000 records"},
		{"unchecked", ended(swap(`"checked": "`, `"unchecked": "`)), "not the checked result"},
		{"no time", ended(swap(`"seconds": `, `"seconds": -`)), "seconds: not above zero"},
		{"a wrong result", bench.Output{Exit: 1, Stdout: []byte("spark begins\nspark ends\n"), Stderr: captured(t, "spark-wrong.txt")}, "are counted wrongly"},
		{"no memory", bench.Output{Exit: 1, Stderr: captured(t, "spark-memory.txt")}, "a worker cannot start its executor"},
		{"too late", bench.Output{TimedOut: true, Stdout: good}, "killed at its deadline"},
	} {
		_, err := spark{}.Parse(fill(t, spark{}, bench.Params{"records": "100000"}), clustered(0), c.out)
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, not %q", c.name, err, c.says)
		}
	}
}

func FuzzSparkParse(f *testing.F) {
	for job := range sparkCaptured {
		f.Add(captured(f, "spark-"+job+".txt"))
	}
	f.Fuzz(func(t *testing.T, stdout []byte) {
		p := fill(t, spark{}, bench.Params{"records": "100000"})
		if values, err := (spark{}).Parse(p, clustered(0), ended(stdout)); err == nil {
			checkValues(t, spark{}, p, values)
		}
	})
}
