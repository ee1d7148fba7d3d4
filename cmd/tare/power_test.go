package main

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tare/internal/bench"
	"tare/internal/meter/power/powertest"
	"tare/internal/result"
)

// TestPowerFromMeterToReport runs a short experiment with a PDU by SNMP, two
// controllers by IPMI (a sensor; DCMI) and one by Redfish, whose machine draws
// 100 W at rest, 160 W while one platform runs and 176 W while the other does:
// what the report says equals the script within what each meter can tell. A
// further PDU stops after the first block: its readings are missing, no more.
func TestPowerFromMeterToReport(t *testing.T) {
	state := realState(t)
	const atRest, native, other = 100, 160, 176
	script := powertest.NewScript(atRest)
	pdu := powertest.StartSNMP(t, script, "", powertest.PDU)
	sensor := powertest.StartSensor(t, script)
	dcmi := powertest.StartDCMI(t, script)
	redfish := powertest.StartRedfish(t, script)
	mortal := powertest.StartSNMP(t, script, "", powertest.PDU)
	t.Setenv("BMC", powertest.BMCWord)
	quick := "&every=100ms&update=400ms" // none is that late; what a busy machine delays is in the bounds
	meters := []string{
		"snmp://" + pdu.Address + "/hpe?outlet=3" + quick,
		"ipmi://" + powertest.BMCUser + "@" + sensor.Address + "?cipher=3&password=env:BMC&sensor=" + strings.ReplaceAll(powertest.SensorName, " ", "+") + quick,
		"ipmi://" + powertest.BMCUser + "@" + dcmi.Address + "?cipher=3&password=env:BMC" + quick,
		"redfish://" + powertest.BMCUser + "@" + redfish.Address + "/1U?password=env:BMC&ca=" + redfish.CA + quick,
		"snmp://" + mortal.Address + "/eaton?outlet=3" + quick,
	}
	const blocks, last = 3, 4 // the last meter's place
	dir := filepath.Join(t.TempDir(), "results")
	spec := writeSpec(t, `native, "native[as=b]"`, cpuScene)
	args := []string{"run", spec, "-o", dir, "-v", "--set", "blocks=3", "--set", "rest=1s",
		"--set", "timing.warmup=400ms", "--set", "timing.measure=1500ms"}
	for _, m := range meters {
		args = append(args, "--power", m)
	}
	p := start(t, state, args...)
	for trial := range 2 * blocks {
		watts := native
		if p.await(`^\S+ (\S+): launch$`)[1] == "cpu/native[as=b]" {
			watts = other
		}
		script.Set(t, watts)
		p.await(`: close$`)
		script.Set(t, atRest)
		if trial == 1 {
			mortal.Stop()
		}
	}
	if status := p.end(); status != exitDone && status != exitUndecided {
		t.Fatalf("exit status %d:\n%s", status, p.stderr())
	}

	r := resultOf(t, dir)
	all := outcomes(t, dir)
	// What the script says a stretch took, in watts.
	said := func(o *bench.Outcome) float64 {
		return script.Joules(o.Window[0], o.Window[1]) / (float64(o.Window[1]-o.Window[0]) / 1e9)
	}
	if len(r.Power) != len(meters) || len(r.Cases[0].Energy) != 2*len(meters) {
		t.Fatalf("%d meters and %d rows", len(r.Power), len(r.Cases[0].Energy))
	}
	for i, meter := range meters[:last] {
		what := strings.SplitN(meter, ":", 2)[0]
		m, base, b := r.Power[i], r.Cases[0].Energy[2*i], r.Cases[0].Energy[2*i+1]
		// On a busy machine rests are left out, and the note says so.
		restless := strings.Contains(strings.Join(m.Notes, "; "), "the machine was not at rest")
		if m.StepW < 1 || m.StepW > 2 || len(m.Idles) != blocks && !restless {
			t.Errorf("%s: step %g W, %d rests of %d", what, m.StepW, len(m.Idles), blocks)
		}
		missing := 0 // what a busy machine did not get to read is missing, not wrong
		for _, r := range m.Idles {
			for n, got := range map[int]*float64{1: r.Before, 2: r.After} {
				want := said(all[bench.IdleID(r.Block, n)])
				if got == nil {
					missing++
				} else if math.Abs(*got-want) > r.Bound {
					t.Errorf("%s: rest %d of block %d is %.2f W, the script says %.2f", what, n, r.Block, *got, want)
				}
			}
		}
		if missing > 1 && !restless {
			t.Errorf("%s: %d of %d rests are not known", what, missing, 2*blocks)
		}
		mean := map[string]float64{}
		for _, e := range []result.Energy{base, b} {
			if e.N != blocks {
				t.Errorf("%s: the power of %d launches of %s is known: %v", what, e.N, e.Platform, e.Notes)
				continue
			}
			joules := 0.0
			for _, point := range e.Points {
				o := all[point.Trial]
				want := said(o)
				if math.Abs(point.Value-want) > e.Bound {
					t.Errorf("%s: %s drew %.2f W in trial %s, the script says %.2f; the bound is %.2f", what, e.Platform, point.Value, point.Trial, want, e.Bound)
				}
				mean[e.Platform] += want / blocks
				joules += script.Joules(o.Window[0], o.Window[1]) / blocks
			}
			seconds := joules / mean[e.Platform]
			if math.Abs(e.Joules-joules) > e.Bound*seconds*1.01 {
				t.Errorf("%s: %s took %.2f J a launch, the script says %.2f", what, e.Platform, e.Joules, joules)
			}
			if e.NetWatts == nil && restless {
				continue
			}
			if want := mean[e.Platform] - atRest; e.NetWatts == nil || math.Abs(*e.NetWatts-want) > e.NetBound {
				t.Errorf("%s: %s drew %v W above rest, the script says %.2f; the bound is %.2f", what, e.Platform, e.NetWatts, want, e.NetBound)
			}
			if e.Unit != "event" || e.NetPerUnit == nil || *e.NetPerUnit <= 0 || *e.NetPerUnit >= *e.PerUnit {
				t.Errorf("%s: %s took %v J and above rest %v for one %s", what, e.Platform, e.PerUnit, e.NetPerUnit, e.Unit)
			}
		}
		// Equation 2.
		want := mean["native[as=b]"]/mean["native"] - 1
		x := b.Effect
		if x == nil || x.Low == 0 || want < x.Low-1 || want > x.High-1 || math.Abs(x.Overhead-want) > (b.Bound+base.Bound)/base.Watts {
			t.Errorf("%s: equation 2 gives %+v, the script says %.4f", what, x, want)
			continue
		}
		if quiet := b.Bound < 4 && base.Bound < 4; quiet && x.Verdict != result.Differs {
			t.Errorf("%s: %.1f %% more are %s: %s", what, 100*want, x.Verdict, x.Why)
		}
	}

	for _, l := range r.Observer.Levels {
		if l.Level == bench.Power {
			t.Logf("reading %d meters ten times a second took %.2f %% of a core; the slowest hundredth took %.1f ms", len(meters), 100*l.CPU, l.TookP99)
		}
	}

	// The meter that stopped.
	base, b := r.Cases[0].Energy[2*last], r.Cases[0].Energy[2*last+1]
	if base.N != 1 || b.N != 1 || b.Effect.Verdict != result.Refused || base.Watts < atRest {
		t.Errorf("the meter that stopped: %+v, %+v", base, b)
	}
	if notes := strings.Join(base.Notes, "; "); !strings.Contains(notes, "the power of 2 of 3 launches is not known") {
		t.Errorf("the meter that stopped: %q", notes)
	}
	warned := 0
	for _, o := range all {
		if o.Status != bench.Done {
			t.Errorf("trial %s is %s: %s", o.Trial, o.Status, o.Error)
		}
		if strings.Contains(strings.Join(o.Warnings, " "), mortal.Address+"/eaton?outlet=3"+quick+" told nothing") {
			warned++
		}
	}
	if warned < 7 {
		t.Errorf("%d outcomes say that a meter told nothing", warned)
	}

	text := start(t, state, "report", dir, "--all")
	if status := text.end(); status != exitDone && status != exitUndecided {
		t.Errorf("exit status %d:\n%s", status, text.stderr())
	}
	for _, want := range []string{"POWER BY " + meters[0], "Power by " + meters[3], "chassis 1U", "ABOVE REST", "at rest"} {
		if !strings.Contains(strings.Join(strings.Fields(text.stdout.String()), " "), want) {
			t.Errorf("the report does not say %q:\n%s", want, text.stdout.String())
		}
	}
	// No secret is in the results.
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		if strings.Contains(string(b), `"`+powertest.BMCWord+`"`) || strings.Contains(string(b), ":"+powertest.BMCWord+"@") {
			t.Errorf("%s holds the password", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// A meter that cannot be used is found before anything is begun.
func TestBadMeters(t *testing.T) {
	state := realState(t)
	spec := writeSpec(t, "native", cpuScene)
	for name, c := range map[string]struct {
		status int
		says   []string
	}{
		"smnp://pdu":                      {exitInvalid, []string{"unknown kind", "hint: one of: snmp"}},
		"ipmi://root:hunter2@bmc":         {exitInvalid, []string{"a password in its name", "env:NAME"}},
		"snmp://127.0.0.1:9/hpe?outlet=3": {exitHost, []string{"power meter snmp://127.0.0.1:9/hpe?outlet=3"}},
		"hwmon:chip=nothing-of-this-name": {exitHost, nil},
	} {
		dir := filepath.Join(t.TempDir(), "results")
		p := start(t, state, "run", spec, "-o", dir, "--power", name)
		if got := p.end(); got != c.status && name != "hwmon:chip=nothing-of-this-name" || got == exitDone {
			t.Errorf("%s: exit status %d, not %d:\n%s", name, got, c.status, p.stderr())
		}
		p.says(c.says...)
		if strings.Contains(p.stderr(), "hunter2") {
			t.Errorf("the password is shown:\n%s", p.stderr())
		}
		if _, err := os.Stat(dir); err == nil {
			t.Errorf("%s: results were begun", name)
		}
	}
}
