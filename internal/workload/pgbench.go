package workload

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"tare/internal/bench"
)

// pgbench is a PostgreSQL server under the transactions of its own pgbench from a peer, in a closed
// loop.
type pgbench struct{}

//go:embed pgbench.pl
var pgbenchScript []byte

const (
	pgbenchPort = 5432
	pgbenchUser = "postgres" // PostgreSQL refuses root
	pgbenchBin  = "/usr/lib/postgresql/17/bin/"
	pgbenchData = bench.ScratchDir + "/postgres"
)

func (pgbench) Name() string { return "pgbench" }

func (pgbench) Summary() string {
	return "a PostgreSQL server in the instance, under the transactions of pgbench from a machine beside it"
}

func (pgbench) Resource() string { return "disk" }

func (pgbench) Parts() []string { return []string{servicePart} }

// Family implements [bench.Familied].
func (pgbench) Family() string { return "postgres" }

func (pgbench) Programs() []string {
	return []string{pgbenchBin + "postgres", pgbenchBin + "initdb", pgbenchBin + "pgbench", pgbenchBin + "psql"}
}

func (pgbench) Params() []bench.Param {
	return []bench.Param{
		{Name: "mix", Kind: bench.KindWord, Default: "tpcb-like", Words: []string{"tpcb-like", "simple-update", "select-only"},
			Doc: "what a transaction does, by pgbench's name"},
		{Name: "clients", Kind: bench.KindInt, Default: "4", Min: 1, Max: 1000, Load: true, Doc: "clients, each with one transaction at a time"},
		{Name: "scale", Kind: bench.KindInt, Default: "4", Min: 1, Doc: "branches, each with 100 000 accounts, which take 16 MB; each transaction of tpcb-like writes to one of them"},
		{Name: "buffer", Kind: bench.KindSize, Default: "64MiB", Min: 1 << 20, Doc: "memory in which the server keeps pages (shared_buffers)"},
		{Name: "flush", Kind: bench.KindWord, Default: "commit", Words: []string{"commit", "later"},
			Doc: "when the log is on the disk: at each commit, or up to 0.6 s later (synchronous_commit on or off)"},
		webErrors("transactions"),
	}
}

func (pgbench) Metrics(bench.Params) ([]bench.Metric, error) {
	return []bench.Metric{
		{Name: "transactions", Unit: "transactions/s", Better: bench.HigherIsBetter, Combine: bench.Sum, Headline: true, Doc: "finished per second, by all clients"},
		{Name: "mean_latency", Unit: "ms", Better: bench.LowerIsBetter, Combine: bench.Mean, Doc: "mean time of a finished transaction"},
		{Name: "p95_latency", Unit: "ms", Better: bench.LowerIsBetter, Combine: bench.Merge, Doc: "95th percentile of the time of a finished transaction",
			Histogram: "latency", Quantile: 0.95},
		{Name: "p99_latency", Unit: "ms", Better: bench.LowerIsBetter, Combine: bench.Merge, Doc: "99th percentile of the time of a finished transaction",
			Histogram: "latency", Quantile: 0.99},
	}, nil
}

// pgbenchInstall is what making a database takes on a slow, emulated machine.
const pgbenchInstall = 4 * time.Minute

// pgbenchAccess lets everyone in, from everywhere.
const pgbenchAccess = "host all all all trust\n"

func (w pgbench) Steps(part string, p bench.Params, s bench.Setting) (bench.Part, error) {
	addr, err := served(w, s)
	if err != nil {
		return bench.Part{}, err
	}
	measure, err := measured(s.Timing)
	if err != nil {
		return bench.Part{}, err
	}
	limit, err := timeout(s.Timing, max(s.Timing.Warmup+measure, pgbenchInstall))
	if err != nil {
		return bench.Part{}, err
	}
	switch part {
	case bench.SubjectPart:
		access := bench.ScratchDir + "/access.conf"
		argv := []string{pgbenchBin + "postgres", "-D", pgbenchData}
		for _, set := range []string{"listen_addresses=*", "port=" + strconv.Itoa(pgbenchPort), "hba_file=" + access, "unix_socket_directories=",
			"max_connections=1010", "shared_buffers=" + p["buffer"] + "B",
			"synchronous_commit=" + map[string]string{"commit": "on", "later": "off"}[p["flush"]],
			// No copy of the log is sent anywhere, and it keeps within a small disk.
			"wal_level=minimal", "max_wal_senders=0", "max_wal_size=128MB", "jit=off"} {
			argv = append(argv, "-c", set)
		}
		return bench.Part{
			Files: []bench.File{{Path: access, Mode: 0o644, Data: []byte(pgbenchAccess)}},
			Prepare: []bench.Command{
				{Argv: []string{"chmod", "755", bench.ScratchDir}, Timeout: slack},
				{Argv: []string{"install", "--directory", "--owner=" + pgbenchUser, "--mode=700", pgbenchData}, Timeout: slack},
				{Argv: []string{pgbenchBin + "initdb", "--pgdata=" + pgbenchData, "--username=" + pgbenchUser, "--auth=trust", "--locale=C",
					"--encoding=UTF8", "--no-instructions"}, User: pgbenchUser, Timeout: limit},
			},
			Main:    bench.Command{Argv: argv, User: pgbenchUser, Timeout: serviceLimit},
			Service: true,
			Listen:  pgbenchPort,
			Ready:   serverReady,
		}, nil
	case servicePart:
		clients, err := intOf(w, p, "clients")
		if err != nil {
			return bench.Part{}, err
		}
		to := func(program string, args ...string) []string {
			return append([]string{pgbenchBin + program, "--host=" + addr.String(), "--port=" + strconv.Itoa(pgbenchPort), "--username=" + pgbenchUser}, args...)
		}
		ask := to("pgbench", "--no-vacuum", "--builtin="+p["mix"], "--client="+p["clients"],
			"--jobs="+strconv.FormatInt(min(int64(s.Shape.CPUs), clients), 10), "--time="+wholeSeconds(s.Timing.Warmup+measure), "postgres")
		script := bench.ScratchDir + "/pgbench.pl"
		steps := bench.Part{
			Files: []bench.File{{Path: script, Mode: 0o644, Data: pgbenchScript}},
			Prepare: []bench.Command{
				// The server accepts before it lets anyone in.
				{Argv: append([]string{"sh", "-c", `until "$@"; do sleep 0.1; done`, "sh"}, to("pg_isready", "--quiet")...), Timeout: serverReady},
				{Argv: to("pgbench", "--initialize", "--quiet", "--scale="+p["scale"], "postgres"), Timeout: limit},
				{Argv: to("psql", "--no-psqlrc", "--command=CHECKPOINT", "postgres"), Timeout: limit},
			},
			Main:  bench.Command{Argv: append([]string{"perl", script, seconds(s.Timing.Warmup), bench.ScratchDir + "/log"}, ask...), Timeout: limit},
			Begin: "pgbench begins",
		}
		return steps, nil
	}
	return bench.Part{}, unknownPart(w, part)
}

// What pgbench prints of all its run, and the script of what ended after the warm-up.
var (
	pgbenchBefore = regexp.MustCompile(`(?m)^before (\d+)$`)
	pgbenchSince  = regexp.MustCompile(`(?m)^counted (\d+)$`)
	pgbenchTook   = regexp.MustCompile(`(?m)^elapsed (\S+) s$`)
	pgbenchMean   = regexp.MustCompile(`(?m)^mean (\S+) us$`)
	pgbenchCount  = regexp.MustCompile(`(?m)^number of transactions actually processed: (\d+)$`)
	pgbenchFailed = regexp.MustCompile(`(?m)^number of failed transactions: (\d+) \(\S+%\)$`)
	pgbenchShort  = regexp.MustCompile(`(?m)^shortest (\d+) us$`)
	pgbenchLong   = regexp.MustCompile(`(?m)^longest (\d+) us$`)
)

const pgbenchGrid = "pgbench's log, 1 us wide below 128 us, at most 1.6 % above"

func (w pgbench) Parse(p bench.Params, s bench.Setting, out bench.Output) ([]bench.Value, error) {
	if err := finished("pgbench", out); err != nil {
		return nil, err
	}
	values, err := w.values(p, out)
	if err != nil {
		return nil, fmt.Errorf("pgbench: %w", err)
	}
	return values, nil
}

func (w pgbench) values(p bench.Params, out bench.Output) ([]bench.Value, error) {
	share, err := floatOf(w, p, "errors")
	if err != nil {
		return nil, err
	}
	read := map[string]float64{}
	for _, f := range []struct {
		name string
		from *regexp.Regexp
		read func(string) (float64, error)
	}{{"count", pgbenchCount, positive}, {"failed", pgbenchFailed, number}, {"before", pgbenchBefore, number}, {"counted", pgbenchSince, positive},
		{"elapsed", pgbenchTook, positive}, {"mean", pgbenchMean, positive}} {
		text, err := onlyGroup(f.from, f.name, out.Stdout)
		if err == nil {
			read[f.name], err = f.read(text)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.name, err)
		}
	}
	if 100*read["failed"] > share*(read["count"]+read["failed"]) {
		return nil, fmt.Errorf("%.0f of %.0f transactions failed, more than %g %%: %s%w", read["failed"], read["count"]+read["failed"], share, excerpt(out.Stdout),
			bench.Hint("errors: 100 lets any fail"))
	}
	times, err := pgbenchTimes(out.Stdout)
	if err != nil {
		return nil, err
	}
	if n := times.Count(); float64(n) != read["counted"] {
		return nil, fmt.Errorf("histogram: %d transactions in the bins, %.0f in all", n, read["counted"])
	}
	if n := read["before"] + read["counted"]; n != read["count"] {
		return nil, fmt.Errorf("%.0f transactions in the log, %.0f in all", n, read["count"])
	}
	return []bench.Value{
		{Metric: "transactions", Value: read["counted"] / read["elapsed"]},
		{Metric: "mean_latency", Value: read["mean"] / 1e3},
		{Metric: "p95_latency", Value: times.Quantile(0.95).Mid() / 1e6},
		{Metric: "p99_latency", Value: times.Quantile(0.99).Mid() / 1e6},
	}, nil
}

// Histograms reads the times of single transactions, of all clients.
func (pgbench) Histograms(_ bench.Params, _ bench.Setting, out bench.Output) ([]bench.Histogram, error) {
	h, err := pgbenchTimes(out.Stdout)
	if err != nil {
		return nil, fmt.Errorf("pgbench: %w", err)
	}
	return []bench.Histogram{h}, nil
}

func pgbenchTimes(stdout []byte) (bench.Histogram, error) {
	h := bench.Histogram{Name: "latency", Grid: pgbenchGrid}
	for _, f := range []struct {
		name string
		from *regexp.Regexp
		into *[2]int64
	}{{"shortest", pgbenchShort, &h.Min}, {"longest", pgbenchLong, &h.Max}} {
		text, err := onlyGroup(f.from, f.name, stdout)
		if err != nil {
			return h, err
		}
		ns, err := microseconds(text)
		if err != nil {
			return h, fmt.Errorf("%s: %w", f.name, err)
		}
		*f.into = [2]int64{ns, ns + 1000}
	}
	for line := range bytes.Lines(stdout) {
		text := strings.TrimSuffix(string(line), "\n")
		if !strings.HasPrefix(text, "bin ") {
			continue
		}
		b, err := pgbenchBar(strings.Fields(text))
		if err != nil {
			return h, fmt.Errorf("histogram: line %q: %w", text, err)
		}
		h.Bins = append(h.Bins, b)
	}
	return h, h.Check()
}

// pgbenchBar reads a line such as "bin 1216 1232 us 17".
func pgbenchBar(fields []string) (b bench.Bin, err error) {
	if len(fields) != 5 || fields[3] != "us" {
		return b, errors.New("not a bin")
	}
	if b.Low, err = microseconds(fields[1]); err != nil {
		return b, err
	}
	if b.High, err = microseconds(fields[2]); err != nil {
		return b, err
	}
	if b.Count, err = strconv.ParseInt(fields[4], 10, 64); err != nil {
		return b, fmt.Errorf("%q: not a count", fields[4])
	}
	return b, nil
}

// microseconds reads a whole number of them, of at most an hour, in ns.
func microseconds(text string) (int64, error) {
	us, err := strconv.ParseInt(text, 10, 64)
	if err != nil || us < 0 || us > time.Hour.Microseconds() {
		return 0, fmt.Errorf("%q: not a time in us", text)
	}
	return 1000 * us, nil
}
