// Package prove has this program test itself on this host: the experiments of the
// self-test's parts, what follows from their runs, and the certificate.
package prove

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"time"

	"tare/internal/analysis"
	"tare/internal/analysis/stats"
	"tare/internal/analysis/stop"
	"tare/internal/app/planning"
	"tare/internal/app/session"
	"tare/internal/app/site"
	"tare/internal/bench"
	"tare/internal/guest/agent"
	"tare/internal/host"
	"tare/internal/platform/launch"
	"tare/internal/result"
	"tare/internal/result/store"
	"tare/internal/selftest"
	"tare/internal/spec/builtin"
)

// Test is a part of the self-test as it is asked for: its experiment, and what
// follows from a run of it.
type Test struct {
	Part   selftest.Part
	Spec   []byte
	Set    []string // values of the specification to replace
	Beside session.Beside
	// Evaluate returns what a run has found, finished or not.
	Evaluate func(*store.Run) (*selftest.Finding, error)
}

// specName begins the name of a part's specification.
const specName = "selftest-"

// PartOf names the part of the self-test that began a run; "" if none did.
func PartOf(h store.Header) string {
	name, ok := strings.CutPrefix(h.Spec, specName)
	if !ok || !slices.Contains(selftest.Parts(), selftest.Part(name)) {
		return ""
	}
	return name
}

// Request is what is to be planned.
func (t *Test) Request() *planning.Request {
	return &planning.Request{Name: specName + string(t.Part), Text: t.Spec, Set: t.Set}
}

// AA compares platforms with themselves, so many times at least, in groups of blocks.
func AA(platforms, cases []string, group, comparisons int) (*Test, error) {
	text, err := selftest.AASpec(platforms, cases, selftest.AABlocks(comparisons, group, len(platforms), len(cases)))
	return &Test{Part: selftest.PartAA, Spec: text, Evaluate: func(r *store.Run) (*selftest.Finding, error) {
		aa, err := selftest.EvaluateAA(r.Plan(), bench.Counting(r.Outcomes()), group)
		return finding(r, aa, err)
	}}, err
}

// Inject slows platforms down by known shares, for at most so many runs of the stopping rule.
func Inject(platforms, cases []string, shares []float64, runs int) (*Test, error) {
	text, err := selftest.InjectSpec(platforms, cases, shares, runs*selftest.Rule().Min)
	return &Test{Part: selftest.PartInject, Spec: text, Evaluate: func(r *store.Run) (*selftest.Finding, error) {
		in, err := selftest.EvaluateInject(r.Plan(), bench.Counting(r.Outcomes()))
		if err != nil {
			return nil, err
		}
		return in.Finding(), nil
	}}, err
}

// Cost measures with meters and without, in windows of whole seconds, and sets this
// program against those that watch containers, where they can be had.
func Cost(platforms, cases []string, group int, window time.Duration) (*Test, error) {
	noTools := ""
	if _, err := launch.Program("pidstat"); err != nil {
		noTools = "pidstat is not installed; Debian's package sysstat has it"
	}
	if !slices.Contains(platforms, "docker") || !slices.Contains(cases, selftest.WatchCase) {
		noTools = "docker was not among the platforms, or watch not among the cases"
	}
	text, err := selftest.CostSpec(platforms, cases, group, window, noTools == "")
	return &Test{Part: selftest.PartCost, Spec: text, Beside: tools, Evaluate: func(r *store.Run) (*selftest.Finding, error) {
		cost, err := selftest.EvaluateCost(r.Plan(), bench.Counting(r.Outcomes()), r.Samples)
		if err == nil && cost.Tools == nil {
			cost.NoTools = noTools
			if noTools == "" {
				cost.NoTools = "no launch with them was finished"
			}
		}
		return finding(r, cost, err)
	}}, err
}

// Clock asks how well the clocks inside instances are known.
func Clock(platforms, cases []string, blocks int) (*Test, error) {
	text, err := selftest.ClockSpec(platforms, cases, blocks)
	return &Test{Part: selftest.PartClock, Spec: text, Evaluate: func(r *store.Run) (*selftest.Finding, error) {
		clocks, err := selftest.EvaluateClock(r.Plan(), bench.Counting(r.Outcomes()), agent.FitClock)
		return finding(r, clocks, err)
	}}, err
}

// Sum sets the parts of the host's CPU time against the whole.
func Sum(platforms []string, blocks int) *Test {
	return &Test{Part: selftest.PartSum, Spec: selftest.SumSpec(platforms, blocks), Evaluate: func(r *store.Run) (*selftest.Finding, error) {
		result, err := analysis.Analyze(r)
		if err != nil {
			return nil, err
		}
		return finding(r, selftest.EvaluateSum(result), nil)
	}}
}

// finding is what was evaluated of a run, which knows whether every trial that is
// needed has an outcome.
func finding(r *store.Run, evaluated interface {
	Finding(done bool) *selftest.Finding
}, err error) (*selftest.Finding, error) {
	if err != nil {
		return nil, err
	}
	left, err := stop.Left(r.Plan(), r.Outcomes)
	if err != nil {
		return nil, err
	}
	return evaluated.Finding(left == 0), nil
}

// Rule is a stopping rule to be set against fixed numbers of blocks.
type Rule struct {
	bench.Until
	Against []int
}

// Test measures what the rule is replayed on.
func (u Rule) Test(platforms, set []string) (*Test, error) {
	text, err := builtin.Find("quick")
	return &Test{Part: selftest.PartStop, Spec: text, Set: append([]string{
		fmt.Sprintf("blocks=%d", u.Max), "timing.warmup=300ms", "timing.measure=1s", "timing.cooldown=100ms", planning.SetPlatforms(platforms),
	}, set...)}, err
}

// Replay replays the rule on runs. Beside what follows from them it returns why that
// is too few blocks; nil if they are enough.
func (u Rule) Replay(runs ...*store.Run) (f *selftest.Finding, tooFew, err error) {
	var ran []selftest.Ran
	for _, r := range runs {
		ran = append(ran, selftest.Ran{Plan: r.Plan(), Outcomes: bench.Counting(r.Outcomes())})
	}
	s, err := selftest.EvaluateStopping(u.Until, u.Against, ran...)
	if err != nil {
		return nil, nil, err
	}
	if s.Whole < u.Max {
		hint := fmt.Sprintf("measure a run with --set blocks=%d", u.Max)
		if s.Whole >= max(u.Min, stats.MinTested) {
			hint += fmt.Sprintf(", or replay a rule that ends earlier: --max %d", s.Whole)
		}
		tooFew = fmt.Errorf("replay the stopping rule: it may need %d blocks, and only %d have an outcome of every trial%w", u.Max, s.Whole, bench.Hint(hint))
	}
	return s.Finding(), tooFew, nil
}

// Promised reports whether the rule is the default one, against the usual designs.
func (u Rule) Promised() bool {
	d := selftest.Rule()
	return u.Interval == d.Interval && u.Min == d.Min && u.Max == d.Max && slices.Equal(u.Against, []int{10, 30})
}

// Turn is a part of the self-test that is run after others.
type Turn struct {
	Name  string
	Takes time.Duration // if nothing limits it
	// Run runs it for at most so long.
	Run func(ctx context.Context, limit time.Duration) error
}

// InTurn runs parts one after the other, each with its share of the time that is left,
// and tells after each what became of it.
func InTurn(ctx context.Context, turns []Turn, limit time.Duration, notes io.Writer, after func(error)) {
	end := time.Now().Add(limit)
	for i, t := range turns {
		var all time.Duration
		for _, u := range turns[i:] {
			all += u.Takes
		}
		left := time.Until(end)
		if left <= 0 || ctx.Err() != nil {
			fmt.Fprintf(notes, "no time left for %s\n", t.Name)
			continue
		}
		share := time.Duration(float64(left) * t.Takes.Seconds() / all.Seconds())
		fmt.Fprintf(notes, "self-test %s, at most %s\n", t.Name, share.Round(time.Second))
		after(t.Run(ctx, share))
	}
}

// OriginOf is where a part comes from that was a run.
func OriginOf(r *store.Run) selftest.Origin {
	h := r.Header()
	o := selftest.Origin{Date: h.Started, Tare: h.Tare, Command: h.Command, Run: h.Run, Versions: map[string]string{}}
	for name, p := range h.Platforms {
		o.Versions[name] = p.Version
	}
	return o
}

// Certify puts a part's finding into the certificate. A larger finding that is there
// is kept, which is said, unless force is set.
func Certify(s *site.Site, f *selftest.Finding, o selftest.Origin, h host.Facts, force bool) error {
	old, err := selftest.Read(s.CertificateDir())
	if err != nil {
		return err
	}
	c, kept, err := old.Keep(f, o, h, force)
	if err != nil {
		return err
	}
	if kept != "" {
		fmt.Fprintln(s.Notes, kept+"; --force replaces it")
	}
	return c.Write(s.CertificateDir())
}

// CertifyReplay puts into the certificate what followed from runs that were there, of
// which r is the first, by this command; or it says why not.
func CertifyReplay(s *site.Site, f *selftest.Finding, r *store.Run, command []string, force bool) error {
	old, err := selftest.Read(s.CertificateDir())
	if err != nil {
		return err
	}
	if old != nil && !old.OfHost(r.Host()) && !force {
		fmt.Fprintln(s.Notes, "not kept: the run is of another host or kernel than the certificate; --force begins a new one")
		return nil
	}
	o := OriginOf(r)
	o.Command = command
	err = Certify(s, f, o, *r.Host(), force)
	if errors.Is(err, fs.ErrPermission) {
		fmt.Fprintf(s.Notes, "not kept: %v; root may write it\n", err)
		return nil
	}
	return err
}

// Cite puts what the self-test found on the run's host into the result. A
// certificate that can't be read is said and otherwise none.
func Cite(s *site.Site, result *result.Result, r *store.Run) {
	c, err := selftest.Read(s.CertificateDir())
	switch {
	case errors.Is(err, fs.ErrPermission):
		fmt.Fprintf(s.Notes, "! a certificate of the self-test, if there is one, is not cited: only root may look into %s\n", s.Dir)
	case err != nil:
		fmt.Fprintf(s.Notes, "! %v\n", err)
	}
	result.SelfTest = c.Cited(r.Host())
}
