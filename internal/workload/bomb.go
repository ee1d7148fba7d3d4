package workload

import (
	"fmt"
	"strconv"

	"tare/internal/bench"
)

// bomb takes all there is of one resource and never ends: the adversaries of
// tesfatsion2018 table 6 and sharma2016 section 4.2. It runs inside an outer
// containment only.
type bomb struct{}

const (
	// bonnieShare is what bonnie++'s file takes of the scratch space.
	bonnieShare = 4
	bonnieLeast = 16 * bench.MiB
	// bonnieRuns is as good as endless.
	bonnieRuns = 1_000_000
)

// again runs a program anew whenever it is killed. The kernel may take stress-ng itself for
// want of memory, while the heap's owner that it has killed is not gone yet; it protects itself
// only where it may (CAP_SYS_RESOURCE). The shell is smaller, and so the last to be taken. Any other end is one.
const again = `while :; do "$@"; status=$?; [ $status -eq 137 ] || exit $status; done`

func (bomb) Name() string { return "bomb" }

func (bomb) Summary() string {
	return "an adversarial neighbour: fork bomb, malloc bomb or bonnie++ without end"
}

func (bomb) Resource() string { return "other" }

func (bomb) Parts() []string { return nil }

func (bomb) Programs() []string { return []string{"perl", "stress-ng", "bonnie++"} }

// Attacks: it has no other part.
func (bomb) Attacks(string) bool { return true }

func (bomb) Params() []bench.Param {
	return []bench.Param{
		{Name: "kind", Kind: bench.KindWord, Required: true, Words: []string{"fork", "malloc", "disk"},
			Doc: "fork: every process forks without end (perl -e 'fork while 1'); malloc: the heap grows until the kernel kills its owner, and again (stress-ng --bigheap); disk: bonnie++ writes and reads files over and over"},
	}
}

func (bomb) Metrics(bench.Params) ([]bench.Metric, error) { return nil, nil }

func (w bomb) Steps(part string, p bench.Params, s bench.Setting) (bench.Part, error) {
	if part != bench.SubjectPart {
		return bench.Part{}, unknownPart(w, part)
	}
	var argv []string
	switch kind := p["kind"]; kind {
	case "fork":
		// The bomb of the Isolation Benchmark Suite is the same loop in C.
		argv = []string{"perl", "-e", "fork while 1"}
	case "malloc":
		argv = append([]string{"sh", "-c", again, "again"}, "stress-ng", "--timeout", "0", "--temp-path", bench.ScratchDir,
			"--bigheap", strconv.Itoa(max(s.Shape.CPUs, 1)), "--bigheap-growth", "1048576")
	case "disk":
		size := s.Shape.Disk / bonnieShare
		if size < bonnieLeast {
			return bench.Part{}, fmt.Errorf("bomb: a quarter of a disk of %v is less than the %v bonnie++ needs: %w", s.Shape.Disk, bonnieLeast, bench.ErrInvalid)
		}
		mib := int64(size / bench.MiB)
		// It wants a file of twice the memory it is told of; it syncs after each write (-b).
		argv = []string{"bonnie++", "-d", bench.ScratchDir, "-u", "root", "-q", "-f", "-b", "-n", "1",
			"-s", strconv.FormatInt(mib, 10), "-r", strconv.FormatInt(mib/2, 10), "-x", strconv.Itoa(bonnieRuns)}
	default:
		return bench.Part{}, &ParamError{w.Name(), "kind", fmt.Errorf("%q: unknown", kind)}
	}
	return bench.Part{Main: bench.Command{Argv: argv, Dir: bench.ScratchDir, Timeout: serviceLimit}, Service: true}, nil
}

// Parse returns nothing: an adversary is not measured.
func (bomb) Parse(bench.Params, bench.Setting, bench.Output) ([]bench.Value, error) {
	return nil, nil
}
