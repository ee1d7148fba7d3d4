package compare

import (
	"strings"
	"testing"

	"tare/internal/bench"
	"tare/internal/result"
	"tare/internal/result/store/storetest"
)

// several are synthetic runs in which everything is as much faster as a factor
// says: what a run has of its own.
func several(t *testing.T, seed uint64, factors ...float64) []Run {
	t.Helper()
	var out []Run
	for i, f := range factors {
		out = append(out, synthetic(t, storetest.Options{Seed: seed + uint64(i), Blocks: 3, Ratio: slower(f, "native", "docker", "lxc")}, nil))
	}
	return out
}

// A run that was slower as a whole is no regression of the platform: one run a
// side says so, and several runs or an archive find it among what runs do.
func TestGateTellsThePlatformFromTheRun(t *testing.T) {
	a, b := several(t, 100, 1, 1.06, 0.95), several(t, 110, 0.93, 1.04, 1)
	slow := several(t, 120, 0.68, 0.70, 0.72)
	for _, c := range []struct {
		name          string
		a, b, archive []Run
		want          Decision
		basis         Basis
		says          string
	}{
		{"one a side", a[1:2], b[:1], nil, RegressionOfRuns, OfLaunches, "cannot tell the platform from the run"},
		{"several a side", a, b, nil, Undecided, OfRuns, "worse; 5 % is allowed"},
		{"several a side, slow", a, slow, nil, Regression, OfRuns, "more than the 5 % allowed"},
		{"archive", a[1:2], b[:1], several(t, 130, 1, 1.05, 0.96, 0.98, 1.02), Undecided, OfArchive, "worse; 5 % is allowed"},
		{"archive, slow", a[1:2], slow[:1], several(t, 130, 1, 1.05, 0.96, 0.98, 1.02), Regression, OfArchive, "more than the 5 % allowed"},
		{"several against one", a, slow[:1], several(t, 130, 1, 1.05, 0.96, 0.98, 1.02), Regression, OfArchive, "more than the 5 % allowed"},
		{"archive of one other run", a[1:2], b[:1], several(t, 130, 1), RegressionOfRuns, OfLaunches, "cannot tell"},
		{"archive of the same runs", a[1:2], b[:1], []Run{a[1], b[0], a[1]}, RegressionOfRuns, OfLaunches, "cannot tell"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := Runs(c.a, c.b, Options{Archive: c.archive})
			if err != nil {
				t.Fatal(err)
			}
			g, err := Judge(got, 0.05, Asked{})
			if err != nil {
				t.Fatal(err)
			}
			if g.Decision != c.want || !strings.Contains(g.Why, c.says) {
				t.Errorf("%s, not %s: %s", g.Decision, c.want, g.Why)
			}
			want := ThePlatform
			if c.basis == OfLaunches {
				want = TheseRuns
			}
			if got.SpeaksFor != want {
				t.Errorf("it speaks for %q", got.SpeaksFor)
			}
			for _, r := range got.Rows {
				if r.Change.Basis != c.basis || r.Change.SpeaksFor != want || r.Change.DF <= 0 || r.Change.Confidence != 0.95 {
					t.Errorf("%s/%s %s: %+v", r.Case, r.Platform, r.Metric.Name, r.Change)
				}
			}
			for _, r := range g.Rows {
				if r.Decision == Undecided && !strings.Contains(r.Decide, "runs (") && !strings.Contains(r.Decide, "1000 runs") {
					t.Errorf("what would decide is not said in runs: %s", r.Decide)
				}
			}
		})
	}
}

// A pass of several runs a side is one of the platform.
func TestGatePassesThePlatform(t *testing.T) {
	got, err := Runs(several(t, 100, 1, 1.005, 0.995), several(t, 110, 1.001, 0.998, 1.003), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if g, err := Judge(got, 0.05, Asked{Metrics: []string{"throughput", "iops"}}); err != nil || g.Decision != Pass || g.Why != "no metric got worse by more than 5 %" {
		t.Errorf("%+v, %v", g, err)
	}
}

func TestWhatDoesNotFitTheArchiveIsLeftOut(t *testing.T) {
	a, b := several(t, 100, 1), several(t, 110, 0.93)
	archive := several(t, 130, 1, 1.05, 0.96)
	for _, c := range []struct {
		file, from, to, says string
		basis                Basis
	}{
		{"run.json", "sha256:5f2b", "sha256:0000", "is left out: image digest", OfArchive},
		{"host.json", "Synthetic CPU", "Other CPU", "is left out: processor", OfArchive},
		{"host.json", `"hostname": "synthetic"`, `"hostname": "other"`, "is left out: host name: synthetic in", OfArchive},
		{"plan.json", `"max_prime": "20000"`, `"max_prime": "10000"`, "", OfArchive}, // the row alone has another scene
	} {
		odd := synthetic(t, storetest.Options{Seed: 140, Blocks: 3, Ratio: slower(3, "native", "docker", "lxc")}, replace(t, c.file, c.from, c.to))
		got, err := Runs(a, b, Options{Archive: append(archive, odd)})
		if err != nil {
			t.Fatal(err)
		}
		if text := strings.Join(got.Warnings, "\n"); !strings.Contains(text, c.says) || c.says != "" && len(got.Archive) != 3 {
			t.Errorf("%s: %d archived, warnings %s", c.to, len(got.Archive), text)
		}
		if r := rowOf(t, got, "cpu", "docker", "throughput"); r.Change.Basis != c.basis || r.Change.High-r.Change.Low > 0.6 {
			t.Errorf("%s: %+v", c.to, r.Change)
		}
	}
}

// What forbids to compare two sides forbids to take two runs for one side.
func TestRunsOfASideAreAlike(t *testing.T) {
	a, b := several(t, 100, 1, 1.01), several(t, 110, 1)
	other := synthetic(t, storetest.Options{Seed: 111, Blocks: 3}, replace(t, "run.json", `"image_made": "2025-11-20`, `"image_made": "2025-11-21`))
	got, err := Runs(a, append(b, other), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if w := strings.Join(got.Warnings, "\n"); strings.Contains(w, "copy of the image") {
		t.Errorf("runs on several copies of the image are what is wanted: %s", w)
	}
	for _, c := range []struct{ file, from, to, says string }{
		{"run.json", "sha256:5f2b", "sha256:0000", "the runs of B are not alike: image digest"},
		{"plan.json", `"memory": 536870912`, `"memory": 268435456`, "the runs of one side are not alike: shape of subject"},
		{"trials.jsonl", `"version":"20.10.24"`, `"version":"28.0.0"`, "the runs of one side are not alike: platform version: 20.10.24 in synthetic-110, 28.0.0 in synthetic-111"},
	} {
		odd := synthetic(t, storetest.Options{Seed: 111, Blocks: 3}, replace(t, c.file, c.from, c.to))
		got, err := Runs(a, append(b, odd), Options{})
		if err != nil {
			t.Fatal(err)
		}
		if ch := rowOf(t, got, "cpu", "docker", "throughput").Change; ch.Verdict != result.Unfair || !strings.Contains(ch.Unfair, c.says) {
			t.Errorf("%s: %+v", c.to, ch)
		}
	}
}

func TestWhatOneRunOfASideLacks(t *testing.T) {
	less := synthetic(t, storetest.Options{Seed: 112, Blocks: 3, Platforms: []bench.PlatformRef{{Name: "native"}, {Name: "docker"}}}, nil)
	got, err := Runs(several(t, 100, 1, 1.01), append(several(t, 110, 1), less), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if len(got.OnlyA) != 4 || got.OnlyA[0] != "cpu/lxc throughput" || len(got.Rows) != 8 {
		t.Errorf("only A %q, %d rows", got.OnlyA, len(got.Rows))
	}
	if g, err := Judge(got, 0.9, Asked{}); err != nil || g.Decision != Undecided || !strings.Contains(g.Why, "B lacks what A has") {
		t.Errorf("%+v, %v", g.Decision, err)
	}
}

// Runs that a stopping rule ended carry the level of its looks into the comparison.
func TestCompareCarriesTheLevelOfLooks(t *testing.T) {
	a, b := synthetic(t, storetest.Options{Seed: 1}, nil), synthetic(t, storetest.Options{Seed: 2, Ratio: slower(0.9, "docker")}, nil)
	once := rowOf(t, runs(t, a, b, Options{}), "cpu", "docker", "throughput")
	early := *b.Result
	early.Stops = []result.Stop{{Case: "cpu", Confidence: 0.975}, {Case: "disk", Confidence: 0.95}}
	got := runs(t, a, Run{b.Store, &early}, Options{})
	looked := rowOf(t, got, "cpu", "docker", "throughput")
	if looked.Change.Confidence != 0.975 || looked.Change.High-looked.Change.Low <= once.Change.High-once.Change.Low {
		t.Errorf("%+v, looked at once %+v", looked.Change, once.Change)
	}
	if ch := rowOf(t, got, "disk", "docker", "iops").Change; ch.Confidence != 0.95 {
		t.Errorf("disk: %+v", ch)
	}
	of := func(c *Comparison) GateRow {
		g, err := Judge(c, 0.08, Asked{Metrics: []string{"throughput"}})
		if err != nil {
			t.Fatal(err)
		}
		return g.Rows[0]
	}
	strict, plain := of(got), of(runs(t, a, b, Options{}))
	if strict.Platform != "docker" || strict.High <= plain.High || strict.Low >= plain.Low || *strict.P <= *plain.P {
		t.Errorf("%+v, looked at once %+v", strict, plain)
	}
}
