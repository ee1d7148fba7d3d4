package power

import (
	"errors"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"tare/internal/bench"
	"tare/internal/meter/power/powertest"
)

// The secrets lie in the environment, which tests side by side share.
func TestMain(m *testing.M) {
	for name, secret := range map[string]string{"PDU_SECRET": powertest.Secret, "PDU_PRIVACY": powertest.Privacy, "BMC": powertest.BMCWord,
		"IPMI_PASSWORD": powertest.BMCWord, "REDFISH_PASSWORD": powertest.BMCWord, "WRONG": "wrong"} {
		os.Setenv(name, secret)
	}
	os.Exit(m.Run())
}

// open opens a meter that must be there.
func open(t *testing.T, name string) bench.PowerReader {
	t.Helper()
	r, err := Open(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

func watts(t *testing.T, r bench.PowerReader) float64 {
	t.Helper()
	v := []float64{-1}
	if err := r.Read(v); err != nil {
		t.Fatalf("%s: %v", r.Source().Name, err)
	}
	return v[0]
}

// patience is more than a meter that does not answer may take: 2 s.
const patience = 6 * time.Second

// noReading checks that a reading fails in time, with the words, and leaves no number.
func noReading(t *testing.T, r bench.PowerReader, words string) {
	t.Helper()
	v := []float64{-1}
	began := time.Now()
	err := r.Read(v)
	if took := time.Since(began); took > patience {
		t.Errorf("%s: it took %v, more than %v", r.Source().Name, took, patience)
	}
	if err == nil || !strings.Contains(err.Error(), words) {
		t.Errorf("%s: error %v, want %q", r.Source().Name, err, words)
	}
	if !math.IsNaN(v[0]) {
		t.Errorf("%s: the value is %v, not missing", r.Source().Name, v[0])
	}
}

func TestSNMP(t *testing.T) {
	t.Parallel()
	s := powertest.NewScript(100)
	pdu := powertest.StartSNMP(t, s, "", powertest.PDU)
	var readers []bench.PowerReader
	for _, c := range []struct {
		name string
		step float64
	}{
		{"snmp://" + pdu.Address, 1}, // by its sysObjectID
		{"snmp://" + pdu.Address + "/raritan?outlet=3", 0.1},
		{"snmp://" + pdu.Address + "/eaton", 1},
		{"snmp://" + pdu.Address + "/eaton?outlet=3", 1},
		{"snmp://" + pdu.Address + "/hpe?outlet=3", 1},
		{"snmp://" + pdu.Address + "/hpe", 1},
		{"snmp://" + pdu.Address + "/apc", 10},
		{"snmp://" + pdu.Address + "/apc?outlet=3", 1},
		{"snmp://" + pdu.Address + "/apc-rpdu?community=env:PDU_SECRET", 1},
		{"snmp://" + pdu.Address + "?oid=.1.3.6.1.4.1.13742.6.5.4.3.1.4.1.3.5&scale=0.1", 0.1},
		{"snmp://" + powertest.User + "@" + pdu.Address + "/raritan?password=env:PDU_SECRET&privacy=env:PDU_PRIVACY", 1},
	} {
		r := open(t, c.name)
		if got := r.Source().StepW; math.Abs(got-c.step) > 1e-9 {
			t.Errorf("%s: step %g W, want %g", c.name, got, c.step)
		}
		readers = append(readers, r)
	}
	both := open(t, "snmp://"+pdu.Address+"/raritan?outlet=3,4")
	for _, w := range []int{100, 160} {
		s.Set(t, w)
		for _, r := range readers {
			if got := watts(t, r); got != float64(w) {
				t.Errorf("%s tells %g W, the script says %d", r.Source().Name, got, w)
			}
		}
		if got := watts(t, both); got != float64(2*w) {
			t.Errorf("two outlets of %d W are %g W", w, got)
		}
	}
	r := readers[1]
	value, digits := powertest.Object{OID: ".1.3.6.1.4.1.13742.6.5.4.3.1.4.1.3.5", Type: "string", Value: "none today"}, powertest.PDU(1)[10]
	pdu.Say(t, value, digits)
	noReading(t, r, `"none today" is not a number`)
	value.Type, value.Value = "gauge", "0"
	pdu.Say(t, value, digits)
	noReading(t, r, "0 W")
	value.Type, value.Value = "integer", "-1"
	pdu.Say(t, value, digits)
	noReading(t, r, "not measured there")
	pdu.Say(t)
	noReading(t, r, "the unit has none")
	pdu.Stop()
	noReading(t, r, "timeout")
	began := time.Now()
	if _, err := Open(t.Context(), "snmp://"+pdu.Address+"/raritan"); !errors.Is(err, bench.ErrUnavailable) || time.Since(began) > patience {
		t.Errorf("a unit that does not answer: %v after %v", err, time.Since(began))
	}
}

func TestIPMISensor(t *testing.T) {
	t.Parallel()
	s := powertest.NewScript(100)
	bmc := powertest.StartSensor(t, s)
	at := "ipmi://" + powertest.BMCUser + "@" + bmc.Address + "?cipher=3&password=env:BMC"
	r := openSensor(t, at+"&sensor="+strings.ReplaceAll(powertest.SensorName, " ", "+"))
	if got := r.Source().StepW; got != powertest.SensorStep {
		t.Errorf("step %g W, want %d", got, powertest.SensorStep)
	}
	for _, w := range []int{160, 100} {
		s.Set(t, w)
		follows(t, r, w)
	}
	if _, err := Open(t.Context(), at+"&sensor=Ambient"); !errors.Is(err, bench.ErrUnavailable) || !strings.Contains(err.Error(), "Ambient") {
		t.Errorf("a sensor that is not there: %v", err)
	}
	if _, err := Open(t.Context(), at); !errors.Is(err, bench.ErrUnavailable) {
		t.Errorf("DCMI of a controller without: %v", err)
	}
	bmc.Say(t, "0")
	deadline := time.Now().Add(3 * time.Second)
	for v := []float64{0}; r.Read(v) == nil && time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
	}
	noReading(t, r, "0 W")
	bmc.Stop()
	noReading(t, r, "")
}

// openSensor opens a controller's sensor. The simulator answers before it has looked at it the first time.
func openSensor(t *testing.T, name string) bench.PowerReader {
	t.Helper()
	for deadline := time.Now().Add(5 * time.Second); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		if r, err := Open(t.Context(), name); err == nil || !strings.Contains(err.Error(), "response could not be provided") {
			if err == nil {
				r.Close()
			}
			break
		}
	}
	return open(t, name)
}

// follows waits until the meter tells the watts: the controller looks at its sensor now and then.
func follows(t *testing.T, r bench.PowerReader, want int) {
	t.Helper()
	got := 0.0
	for deadline := time.Now().Add(5 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if got = watts(t, r); got == float64(want) {
			return
		}
	}
	t.Errorf("%s tells %g W, the script says %d", r.Source().Name, got, want)
}

func TestIPMIDCMI(t *testing.T) {
	t.Parallel()
	s := powertest.NewScript(100)
	bmc := powertest.StartDCMI(t, s)
	r := open(t, "ipmi://"+powertest.BMCUser+"@"+bmc.Address+"?cipher=3")
	for _, w := range []int{100, 160} {
		s.Set(t, w)
		if got := watts(t, r); got != float64(w) {
			t.Errorf("%g W, the script says %d", got, w)
		}
	}
	bmc.Say(t, "off")
	noReading(t, r, "does not measure")
	bmc.Say(t, "nonsense")
	noReading(t, r, "")
	bmc.Say(t, "silent")
	noReading(t, r, "")
	// A session that failed three times is opened anew.
	bmc.Say(t, "170")
	if got := watts(t, r); got != 170 {
		t.Errorf("%g W after the controller came back, want 170", got)
	}
	if _, err := Open(t.Context(), "ipmi://"+powertest.BMCUser+"@"+bmc.Address+"?cipher=3&password=env:WRONG"); !errors.Is(err, bench.ErrUnavailable) {
		t.Errorf("a wrong password: %v", err)
	}
}

func TestRedfish(t *testing.T) {
	t.Parallel()
	s := powertest.NewScript(100)
	bmc := powertest.StartRedfish(t, s)
	at := "redfish://" + powertest.BMCUser + "@" + bmc.Address
	r := open(t, at+"?ca="+bmc.CA)
	if of := r.Source().Of; !strings.Contains(of, "chassis 1U") {
		t.Errorf("it measures %s", of)
	}
	s.Set(t, 160)
	if got := watts(t, r); got != 160 {
		t.Errorf("%g W, the script says 160", got)
	}
	_, err := Open(t.Context(), at)
	if !errors.Is(err, bench.ErrUnavailable) || !strings.Contains(bench.HintOf(err), "certificate") {
		t.Errorf("a certificate nobody here trusts: %v, hint %q", err, bench.HintOf(err))
	}
	if _, err := Open(t.Context(), at+"/2U?ca="+bmc.CA); !errors.Is(err, bench.ErrUnavailable) || !strings.Contains(err.Error(), "404") {
		t.Errorf("a chassis that is not there: %v", err)
	}
	for body, words := range map[string]string{
		`{"PowerControl":[{"PowerConsumedWatts":null}]}`: "neither", `<html>`: "not a Redfish document",
		`{"PowerControl":[{"PowerConsumedWatts":-4}]}`: "not what a machine draws", `{"PowerControl":[{"PowerConsumedWatts":"lots"}]}`: "not a Redfish document",
	} {
		bmc.Say(body)
		noReading(t, r, words)
	}
	bmc.Say(`{"PowerWatts":{"Reading":123.5}}`)
	if got := watts(t, r); got != 123.5 {
		t.Errorf("EnvironmentMetrics: %g W, want 123.5", got)
	}
	if _, err := Open(t.Context(), at+"?password=env:WRONG&ca="+bmc.CA); !errors.Is(err, bench.ErrUnavailable) || !strings.Contains(err.Error(), "401") {
		t.Errorf("a wrong password: %v", err)
	}
	bmc.Stop()
	noReading(t, r, "")
}

func TestNames(t *testing.T) {
	for name, want := range map[string]string{
		"smnp://x":                "unknown kind",
		"snmp:":                   "no host",
		"snmp://127.0.0.1/nobody": "none of apc",
		"snmp://127.0.0.1?oid=x":  "object's number",
		"snmp://u@127.0.0.1/apc?privacy=env:HOME": "needs a password",
		"model:idle=60":             "needs idle and core",
		"model:idle=60,core=12,x=1": `unknown option "x"`,
		"model:idle=-1,core=12":     "idle=-1",
		"rapl:zone=core":            "zone=core is none of package, psys",
	} {
		_, err := Open(t.Context(), name)
		if err == nil || !strings.Contains(err.Error(), want) || !errors.Is(err, bench.ErrInvalid) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
	for _, k := range Kinds() {
		if err := Check(k.Example); err != nil {
			t.Errorf("the example of %s: %v", k.Name, err)
		}
	}
}

// What is wrong in a name is found without looking for its host, which is nowhere here.
func TestCheckAsksNobody(t *testing.T) {
	for name, want := range map[string]string{
		"snmp://no-such.invalid/nosuch":            `model "nosuch" is none of`,
		"snmp://no-such.invalid?outlet=x":          "outlet=x",
		"snmp://no-such.invalid/apc-rpdu?outlet=3": "does not measure its outlets",
		"snmp://no-such.invalid/apc?scale=none":    "scale=none",
		"snmp://no-such.invalid/apc?outlets=3":     `unknown option "outlets"`,
		"ipmi://no-such.invalid?step=x":            "step=x",
		"ipmi://no-such.invalid?chip=x":            `unknown option "chip"`,
		"redfish://no-such.invalid?update=never":   "update=never",
		"ipmi://u@?password=env:BMC":               "no host",
		"ipmi://u@10.0.0.300":                      `"10.0.0.300" is neither an address nor a host's name`,
		"ipmi://u@no_such!.invalid":                "neither an address nor a host's name",
		"ipmi://u@no-such.invalid/chassis":         "/chassis: a controller is named by its host alone",
		"ipmi://a-user-of-20-letters@no-such":      "IPMI takes at most 16 characters",
		"ipmi://u@no-such.invalid?cipher=18":       "cipher=18 is not a number from 0 to 17",
		"ipmi://u@no-such.invalid?cipher=3.5":      "cipher=3.5 is not a whole number",
		"ipmi://u@no-such.invalid?step=20000":      "step=20000",
		"ipmi://u@no-such.invalid?password=pass":   "password is written out",
		"redfish://u@-no-such.invalid":             "neither an address nor a host's name",
		"redfish://u@no-such.invalid/a/b":          `"a/b" is not the name of a chassis`,
		"redfish://no-such.invalid?insecure=maybe": "insecure=maybe is none of no, yes",
		"redfish://no-such.invalid?ca=/no/such":    "ca: open /no/such",
		"redfish://no-such.invalid?password=env:":  "password=env:: names no place",
		"snmp://u@no-such.invalid/apc?auth=rot13":  "auth=rot13 is none of",
		"snmp://u@no-such.invalid?cipher=rot13":    "cipher=rot13 is none of",
		"snmp://no-such.invalid?community=public":  "community is written out",
		"rapl:zone=core":                           "zone=core is none of package, psys",
		"hwmon:covers=all":                         "covers=all is none of part, machine",
		"rapl:step=1":                              `unknown option "step"`,
		"model:idle=60,core=12,step=1":             `unknown option "step"`,
		"model:idle=60":                            "needs idle and core",
		"model:idle=60,core=12?every=1ms":          "every=1ms is not a time",
	} {
		for what, err := range map[string]error{"Check": Check(name), "Open": func() error { _, err := Open(t.Context(), name); return err }()} {
			if err == nil || !strings.Contains(err.Error(), want) || !errors.Is(err, bench.ErrInvalid) || errors.Is(err, bench.ErrUnavailable) {
				t.Errorf("%s of %s: %v, want %q", what, name, err, want)
			}
		}
	}
	for _, name := range []string{"ipmi://u@[fe80::1]:623?password=env:NOT_SET_HERE&sensor=PSU", "ipmi://10.0.0.3?cipher=3", "redfish://u@bmc-7.example./1U?insecure=yes", "snmp://no-such.invalid/apc?outlet=3,4&step=1", "snmp://no-such.invalid", "model:idle=60,core=12?every=500ms", "model:idle=60,core=12,every=500ms"} {
		if err := Check(name); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got := strings.Join(StepKinds(), " "); got != "snmp ipmi redfish hwmon battery" {
		t.Errorf("step= is taken by %s", got)
	}
}

// The model is held against a clock: it draws what it was told at rest at the least.
func TestModel(t *testing.T) {
	r := open(t, "model:idle=60,core=12")
	began := time.Now()
	first := watts(t, r)
	time.Sleep(200 * time.Millisecond)
	got := watts(t, r) - first
	atRest := 60 * time.Since(began).Seconds()
	if got < 60*0.2 || got > atRest+12*1000*time.Since(began).Seconds() {
		t.Errorf("%g J in %v at 60 W", got, time.Since(began))
	}
	if !r.Source().Modelled {
		t.Error("it does not say that it is modelled")
	}
}
