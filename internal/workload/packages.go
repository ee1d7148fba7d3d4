package workload

import (
	_ "embed"
	"time"

	"tare/internal/bench"
)

// packages installs packages by the image's own dpkg, twice: the upgrade and the
// installation of a kernel of sharma2016 table 5. The packages are made inside
// beforehand, of the image's own files, since no network is there to fetch any.
type packages struct{}

//go:embed packages.sh
var packagesShell []byte

//go:embed packages.pl
var packagesPerl []byte

// packagesExpected is what making and installing them takes on a slow, emulated machine.
const packagesExpected = 2 * time.Minute

func (packages) Name() string { return "packages" }

func (packages) Summary() string {
	return "an upgrade of installed packages, or the installation of a kernel-like one, by dpkg; the first time and again"
}

func (packages) Resource() string { return "disk" }

func (packages) Parts() []string { return nil }

func (packages) Programs() []string { return []string{"bash", "perl", "sync", "dpkg", "dpkg-deb"} }

// WritesRoot implements [bench.RootWriter].
func (packages) WritesRoot() {}

func (packages) Params() []bench.Param {
	return []bench.Param{
		{Name: "kind", Kind: bench.KindWord, Default: "upgrade", Words: []string{"upgrade", "install"},
			Doc: "upgrade: packages of the image, repacked, are unpacked over themselves; install: a new package of many files, as a kernel with its modules is, and then a second one"},
		{Name: "files", Kind: bench.KindInt, Default: "600", Min: 1, Doc: "files of all packages together; packages are taken whole"},
	}
}

func (packages) Metrics(bench.Params) ([]bench.Metric, error) { return twiceMetrics, nil }

func (w packages) Steps(part string, p bench.Params, s bench.Setting) (bench.Part, error) {
	if part != bench.SubjectPart {
		return bench.Part{}, unknownPart(w, part)
	}
	limit, err := timeout(s.Timing, packagesExpected)
	if err != nil {
		return bench.Part{}, err
	}
	script := func(step string) bench.Command {
		return bench.Command{Argv: []string{"bash", bench.ScratchDir + "/packages.sh", step, p["kind"], p["files"]}, Timeout: limit}
	}
	return bench.Part{
		Files: []bench.File{
			{Path: bench.ScratchDir + "/packages.sh", Mode: 0o755, Data: packagesShell},
			{Path: bench.ScratchDir + "/packages.pl", Mode: 0o644, Data: packagesPerl},
		},
		Prepare: []bench.Command{script("make")},
		Main:    script("install"),
		Begin:   "packages begin",
	}, nil
}

func (w packages) Parse(_ bench.Params, _ bench.Setting, out bench.Output) ([]bench.Value, error) {
	return parseTwice(w.Name(), out)
}
