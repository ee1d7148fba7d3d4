package builtin_test

import (
	"errors"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"tare/internal/analysis/audit"
	"tare/internal/bench"
	"tare/internal/plan"
	"tare/internal/platform/all"
	"tare/internal/spec"
	"tare/internal/spec/builtin"
	"tare/internal/workload"
)

func words() spec.Vocabulary {
	v := spec.Vocabulary{Workloads: workload.All(), Fill: workload.Fill, Checks: audit.Names()}
	for _, p := range all.Platforms("") {
		word := spec.PlatformWord{Name: p.Name(), Options: p.Options()}
		for _, n := range all.Nestings("") {
			if in, outer, _ := strings.Cut(n.Name(), "@"); in == p.Name() {
				word.On = append(word.On, outer)
			}
		}
		v.Platforms = append(v.Platforms, word)
	}
	return v
}

// host returns a small host: two CPUs, three real platforms.
func host() plan.Inputs {
	launches := map[string]time.Duration{}
	for _, p := range all.Platforms("") {
		launches[p.Name()] = p.Traits().Launch
	}
	return plan.Inputs{
		Seed: 1,
		Host: plan.Host{CPUs: []int{0, 1}, Memory: 8 * bench.GiB, LLC: 32 * bench.MiB, DiskFree: 40 * bench.GiB,
			Controls: map[string]bench.Control{bench.CondWire: {}, bench.CondFrequency: {Least: 800_000, Most: 3_600_000},
				bench.CondGovernor: {Values: []string{"performance", "powersave"}}, bench.CondTHP: {Values: []string{"always", "madvise", "never"}},
				bench.CondSwap: {Room: 30 * bench.GiB}}},
		Available: map[string]bench.Availability{
			"native": {Version: "1"}, "docker": {Version: "1"}, "lxc": {Version: "1"}, "qemu-tcg": {Version: "1", Label: "emulated (tcg)", Migrates: bench.Live},
		},
		Launches: launches,
		Skips:    []bench.Skip{{Platform: "kvm", Reason: "no /dev/kvm"}},
		Words:    words(),
	}
}

// TestBuiltIn plans every built-in experiment with the real workloads.
func TestBuiltIn(t *testing.T) {
	kinds := map[bench.SceneKind]bool{}
	for _, info := range builtin.List() {
		t.Run(info.Name, func(t *testing.T) {
			text, err := builtin.Find(info.Name)
			if err != nil {
				t.Fatal(err)
			}
			e, err := spec.Parse(info.Name+".yaml", text, nil, words())
			if err != nil {
				t.Fatal(err)
			}
			if e.Name != info.Name || e.Title != info.Title || len(info.Doc) < 100 {
				t.Errorf("%+v does not describe %s: %s", info, e.Name, e.Title)
			}
			in := host()
			in.Power = true
			if info.Name == "kvm-disk" { // it compares KVM's variants, and nothing without KVM
				in.Available["kvm"], in.Skips = bench.Availability{Version: "1"}, nil
			}
			p, err := plan.Make(e, in)
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range p.Scenes {
				kinds[s.Kind] = true
				headlines := 0
				for _, m := range p.Metrics[s.Case] {
					if m.Headline {
						headlines++
					}
				}
				idle := s.Actors[0].Workload == "idle" // "idle" only exercises the meters
				if headlines != 1 && !idle {
					t.Errorf("case %s has %d headlines", s.Case, headlines)
				}
			}
			// On a host of which one platform runs it there is nothing to decide.
			lone := info.Name == "migration"
			if p.Until == nil || p.Until.Min < 3 || (p.Until.Max <= p.Until.Min) != lone {
				t.Errorf("it is not measured until it is decided, but %d blocks: %+v", p.Blocks, p.Until)
			}
			controlled := slices.ContainsFunc(p.Scenes, func(s bench.Scene) bool { return s.Control })
			if want := slices.Contains([]string{"quick", "platforms", "overhead", "startup", "network", "storage"}, info.Name); controlled != want {
				t.Errorf("a control: %v, want %v", controlled, want)
			}
			allThere := slices.Contains([]string{"kvm-disk", "docker-network"}, info.Name)
			if p.Blocks < 3 || (len(p.Skipped) == 0) != allThere {
				t.Errorf("%d blocks, skipped %v", p.Blocks, p.Skipped)
			}
			t.Logf("%d trials, about %.0f s; %s", len(p.Trials), p.Estimate, strings.Join(p.Warnings, "; "))
		})
	}
	if len(kinds) != 7 {
		t.Errorf("the built-in experiments show %v of the seven kinds of scenes", kinds)
	}
}

// TestQuickIsQuick bounds the time of the experiment "quick" on a small host to minutes. STREAM's
// time grows with the host's cache: five blocks of 480 MiB take longer than the budget. Every host with enough memory for STREAM runs it.
func TestQuickIsQuick(t *testing.T) {
	text, err := builtin.Find("quick")
	if err != nil {
		t.Fatal(err)
	}
	e, err := spec.Parse("quick.yaml", text, nil, words())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		llc, free, memory bench.Bytes // 0: left out
		most              float64     // seconds
		said              string
	}{
		{16 * bench.MiB, 20 * bench.GiB, bench.GiB, 425, ""},
		{32 * bench.MiB, 20 * bench.GiB, bench.GiB, 425, ""},
		{480 * bench.MiB, 20 * bench.GiB, 25 * bench.GiB / 4, 780, "memory: subject has 6.25 GiB of memory on every platform, not 1 GiB: stream needs 6.07 GiB here"},
		{480 * bench.MiB, 4 * bench.GiB, 0, 425, "memory: left out: it would take 6.25 GiB of memory, and this host has room for 3.5 GiB"},
	} {
		in := host()
		in.Host.LLC, in.Host.Free = c.llc, c.free
		p, err := plan.Make(e, in)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range p.Scenes {
			want := bench.GiB
			if s.Case == "memory" {
				want = c.memory
			}
			if got := s.Actors[0].Shape.Memory; got != want {
				t.Errorf("cache of %s: %s has %s of memory, want %s", c.llc, s.ID, got, want)
			}
		}
		if (p.Scene("memory/native") != nil) != (c.memory > 0) || p.Estimate > c.most {
			t.Errorf("cache of %s, %s free: %.0f s, scenes %v", c.llc, c.free, p.Estimate, p.Metrics)
		}
		if all := strings.Join(p.Warnings, "\n"); !strings.Contains(all, c.said) || c.said == "" && strings.Contains(all, "memory:") {
			t.Errorf("cache of %s, %s free: %q", c.llc, c.free, all)
		}
		t.Logf("cache of %s: %.0f s", c.llc, p.Estimate)
	}
}

var perPlatform = regexp.MustCompile(`about\s+(\d+) (minutes|seconds) for each\s+platform`)

// TestDurationsSaid compares the durations in the comments with the planned ones.
func TestDurationsSaid(t *testing.T) {
	said := 0
	for _, info := range builtin.List() {
		m := perPlatform.FindStringSubmatch(info.Doc)
		if m == nil {
			continue
		}
		said++
		text, err := builtin.Find(info.Name)
		if err != nil {
			t.Fatal(err)
		}
		e, err := spec.Parse(info.Name+".yaml", text, nil, words())
		if err != nil {
			t.Fatal(err)
		}
		p, err := plan.Make(e, host())
		if err != nil {
			t.Fatal(err)
		}
		unit := map[string]float64{"minutes": 60, "seconds": 1}[m[2]]
		n, err := strconv.ParseFloat(m[1], 64)
		if err != nil {
			t.Fatal(err)
		}
		platforms := map[string]bool{}
		for _, s := range p.Scenes {
			platforms[s.Platform.String()] = true
		}
		if got := plan.LeastEstimate(p) / float64(len(platforms)); got < 0.8*n*unit || got > 1.2*n*unit {
			t.Errorf("%s: %s is said, %.0f s are planned for each of %d platforms", info.Name, m[0], got, len(platforms))
		}
	}
	if said != 6 {
		t.Errorf("%d comments say how long it takes", said)
	}
}

func TestFindUnknown(t *testing.T) {
	_, err := builtin.Find("quikc")
	if !errors.Is(err, bench.ErrInvalid) || !strings.Contains(bench.HintOf(err), "quick") {
		t.Errorf("%v, hint %q", err, bench.HintOf(err))
	}
}

// TestExamplesOfTheDocuments reads and plans every example specification of the pages.
func TestExamplesOfTheDocuments(t *testing.T) {
	for page, least := range map[string]int{"SPEC.md": 9, "TOUR.md": 1, "howto/own-program.md": 1} {
		text, err := os.ReadFile("../../../docs/" + page)
		if err != nil {
			t.Fatal(err)
		}
		examples := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllSubmatch(text, -1)
		if len(examples) < least {
			t.Errorf("%s: %d examples", page, len(examples))
		}
		for _, x := range examples {
			e, err := spec.Parse(page, x[1], nil, words())
			if err == nil {
				_, err = plan.Make(e, host())
			}
			if err != nil {
				t.Errorf("%v", err)
			}
		}
	}
}
