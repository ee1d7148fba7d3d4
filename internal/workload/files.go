package workload

import (
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"tare/internal/bench"
)

// files makes, reads and deletes many small files by one of three programs: what virtual file systems
// between an instance and its files make slow.
type files struct{}

//go:embed files.pl
var filesScript []byte

const (
	filesFile  = bench.ScratchDir + "/files.pl"
	filesConf  = bench.ScratchDir + "/postmark.conf"
	filesBegin = "files begin"
	// dbenchClient is about what the files of one of dbench's clients take.
	dbenchClient = 25 * bench.MiB
)

// filesPrograms are the programs, with what they are asked for if nothing else is given; "" for what
// they have no option for. Those of postmark are its own. clients is the most of them.
var filesPrograms = map[string]struct {
	files, size, sync string
	clients           int64
}{
	"fs_mark":  {"500", "4096", "fsync", 64},
	"dbench":   {"", "", "", 1000},
	"postmark": {"500", "10000", "", 1},
}

// filesSync are fs_mark's numbers of ways to sync.
var filesSync = map[string]string{"none": "0", "fsync": "1", "sync": "2", "later": "5"}

// filesPlaces are where the files are.
var filesPlaces = map[string]string{"scratch": bench.ScratchDir + "/files", "root": "/var/tmp/files"}

func (files) Name() string { return "files" }

func (files) Summary() string {
	return "small files and what is known of them: fs_mark, dbench or postmark"
}

func (files) Resource() string { return "disk" }

func (files) Parts() []string { return nil }

// Family implements [bench.Familied].
func (files) Family() string { return "files" }

func (files) Programs() []string { return []string{"fs_mark", "dbench", "postmark", "perl"} }

func (files) Params() []bench.Param {
	return []bench.Param{
		{Name: "program", Kind: bench.KindWord, Default: "fs_mark", Words: []string{"fs_mark", "dbench", "postmark"},
			Doc: "fs_mark makes files of one size, syncs and deletes them; dbench does what a file server is asked for by its clients; postmark reads, appends, makes and deletes as a mail server does"},
		{Name: "clients", Kind: bench.KindInt, Default: "1", Min: 1, Load: true, Doc: "processes that do so at the same time; postmark is one"},
		{Name: "files", Kind: bench.KindInt, Min: 1, Max: 1e6,
			Doc: "files that a process of fs_mark makes before it deletes them, or that postmark begins with; 500 if not given"},
		{Name: "size", Kind: bench.KindSize, Min: 1, Max: float64(bench.GiB),
			Doc: "size of fs_mark's files, 4 KiB if not given; of postmark's largest, whose smallest are a twentieth of that, 10 kB if not given"},
		{Name: "sync", Kind: bench.KindWord, Words: slices.Sorted(maps.Keys(filesSync)),
			Doc: "when fs_mark's files are on the disk: fsync: before each is closed, if not given; later: all are made, then each is opened again and synced; sync: all are made, then one sync; none: whenever the kernel likes"},
		{Name: "where", Kind: bench.KindWord, Default: "scratch", Words: []string{"scratch", "root"},
			Doc: "in /scratch, which platforms put on different storage by their options, or in the root file system, /var/tmp, which is the instance's layer over the image"},
	}
}

// asked are the parameters with the program's own in place of those that are not given.
func (files) asked(p bench.Params) bench.Params {
	all, program := maps.Clone(p), filesPrograms[p["program"]]
	for name, usual := range map[string]string{"files": program.files, "size": program.size, "sync": program.sync} {
		if _, given := p[name]; !given {
			all[name] = usual
		}
	}
	return all
}

// check is an error for what the program has no option for.
func (w files) check(p bench.Params) error {
	program := filesPrograms[p["program"]]
	for _, x := range []struct{ name, usual string }{{"files", program.files}, {"size", program.size}, {"sync", program.sync}} {
		if text, given := p[x.name]; given && x.usual == "" {
			return &ParamError{w.Name(), x.name, fmt.Errorf("%q: %s has no such choice", text, p["program"])}
		}
	}
	clients, err := intOf(w, p, "clients")
	if err != nil {
		return err
	}
	if clients > program.clients {
		return &ParamError{w.Name(), "clients", fmt.Errorf("%d: %s has at most %d", clients, p["program"], program.clients)}
	}
	return nil
}

func (w files) Metrics(p bench.Params) ([]bench.Metric, error) {
	p = w.asked(p)
	mean := func(name, doc string) bench.Metric {
		return bench.Metric{Name: name, Unit: "us", Better: bench.LowerIsBetter, Combine: bench.Mean, Doc: doc}
	}
	switch p["program"] {
	case "dbench":
		return []bench.Metric{
			{Name: "throughput", Unit: "MB/s", Better: bench.HigherIsBetter, Combine: bench.Sum, Headline: true, Doc: "data read and written per second by all clients, in millions of bytes"},
			mean("mean_latency", "mean time of an operation, of any kind"),
			{Name: "max_latency", Unit: "us", Better: bench.LowerIsBetter, Combine: bench.Max, Doc: "the longest operation"},
		}, nil
	case "postmark":
		return []bench.Metric{
			{Name: "transactions", Unit: "transactions/s", Better: bench.HigherIsBetter, Combine: bench.Sum, Headline: true,
				Doc: "per second: one reads a file or appends to it, and makes or deletes another"},
		}, nil
	}
	metrics := []bench.Metric{
		{Name: "files", Unit: "files/s", Better: bench.HigherIsBetter, Combine: bench.Sum, Headline: true, Doc: "made, written and synced per second by all processes, without deleting them"},
		mean("create_latency", "mean time to make a file"),
		mean("unlink_latency", "mean time to delete a file"),
	}
	switch p["sync"] {
	case "fsync":
		return append(metrics, mean("sync_latency", "mean time until a file is on the disk")), nil
	case "later":
		return append(metrics, mean("sync_latency", "mean time to open a file again, until it is on the disk and closed")), nil
	case "sync":
		return append(metrics, mean("sync_latency", "mean time until all files of a round are on the disk")), nil
	}
	return metrics, nil
}

func (w files) Steps(part string, p bench.Params, s bench.Setting) (bench.Part, error) {
	if part != bench.SubjectPart {
		return bench.Part{}, unknownPart(w, part)
	}
	if err := w.check(p); err != nil {
		return bench.Part{}, err
	}
	p = w.asked(p)
	measure, err := measured(s.Timing)
	if err != nil {
		return bench.Part{}, err
	}
	if err := w.fit(p, s.Shape); err != nil {
		return bench.Part{}, err
	}
	limit, err := timeout(s.Timing, 4*(s.Timing.Warmup+measure))
	if err != nil {
		return bench.Part{}, err
	}
	script := func(warm string, argv ...string) bench.Command {
		return bench.Command{Argv: append([]string{"perl", filesFile, warm, seconds(measure)}, argv...), Dir: bench.ScratchDir, Timeout: limit}
	}
	where := filesPlaces[p["where"]]
	steps := bench.Part{
		Files:   []bench.File{{Path: filesFile, Mode: 0o644, Data: filesScript}},
		Prepare: []bench.Command{{Argv: []string{"mkdir", "-p", where}, Timeout: slack}},
		Begin:   filesBegin,
	}
	switch p["program"] {
	case "dbench":
		// Its figure ends with the last whole second before its end. It warms up for a fifth of its
		// time, from which its own clock starts; whatever else is asked for runs before.
		length := int64((measure+time.Second-1)/time.Second) + 1
		own := length / 5
		run := func(seconds int64, more ...string) []string {
			return slices.Concat([]string{"dbench", "-D", where, "-t", strconv.FormatInt(seconds, 10)}, more, []string{p["clients"]})
		}
		if rest := s.Timing.Warmup - time.Duration(own)*time.Second; rest > 0 {
			seconds, _ := strconv.ParseInt(wholeSeconds(rest), 10, 64)
			steps.Warm = []bench.Command{{Argv: run(seconds), Timeout: limit}}
		}
		steps.Main = script(strconv.FormatInt(own, 10), run(length, "--skip-cleanup")...)
	case "postmark":
		size, err := intOf(w, p, "size")
		if err != nil {
			return bench.Part{}, err
		}
		conf := fmt.Sprintf("set location %s\nset number %s\nset size %d %d\n", where, p["files"], max(size/20, 1), size)
		steps.Files = append(steps.Files, bench.File{Path: filesConf, Mode: 0o644, Data: []byte(conf)})
		steps.Main = script(seconds(s.Timing.Warmup), "postmark", filesConf)
	default:
		steps.Main = script(seconds(s.Timing.Warmup), "fs_mark", "-d", where, "-n", p["files"], "-s", p["size"], "-t", p["clients"], "-S", filesSync[p["sync"]], "-v")
	}
	return steps, nil
}

// fit is an error if the files have no room in the scratch space. Each takes whole blocks.
func (w files) fit(p bench.Params, shape bench.Shape) error {
	clients, err := intOf(w, p, "clients")
	if err != nil {
		return err
	}
	each := dbenchClient
	if p["program"] != "dbench" {
		size, err := intOf(w, p, "size")
		if err != nil {
			return err
		}
		n, err := intOf(w, p, "files")
		if err != nil {
			return err
		}
		each = bench.Bytes(n * ((size + 4095) / 4096 * 4096))
	}
	// A twentieth is left to the file system's own structures.
	if room := shape.Disk - shape.Disk/20; each > room/bench.Bytes(clients) {
		return fmt.Errorf("files: %v for each of %d clients of %s do not fit a disk of %v: %w%w", each, clients, p["program"], shape.Disk, bench.ErrInvalid,
			bench.Hint("give the instance a larger disk, or ask for fewer or smaller files"))
	}
	return nil
}

// Estimate adds what postmark makes beforehand, and dbench's last second.
func (files) Estimate(_ bench.Params, s bench.Setting) time.Duration {
	return s.Timing.Warmup + s.Timing.Measure + 2*time.Second
}
