package sensor

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tare/internal/bench"
	"tare/internal/meter/power/source"
)

func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func name(t *testing.T, text string) *source.Name {
	t.Helper()
	n, err := source.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestHwmon(t *testing.T) {
	root := tree(t, map[string]string{
		"sys/class/hwmon/hwmon0/name": "coretemp", "sys/class/hwmon/hwmon0/temp1_input": "40000",
		"sys/class/hwmon/hwmon1/name": "power_meter", "sys/class/hwmon/hwmon1/power1_average": "231500000", "sys/class/hwmon/hwmon1/power1_average_interval": "1000",
		"sys/class/hwmon/hwmon2/name": "ina226", "sys/class/hwmon/hwmon2/power1_input": "12500000", "sys/class/hwmon/hwmon2/power1_average": "1",
		"sys/class/hwmon/hwmon2/energy1_input": "5000000", "sys/class/hwmon/hwmon2/power1_label": "VDD",
	})
	for given, want := range map[string]float64{
		"hwmon:chip=power_meter,covers=machine": 231.5, "hwmon:chip=ina226,sensor=power1": 12.5, "hwmon:sensor=energy1": 5,
	} {
		m, err := OpenHwmon(root, name(t, given))
		if err != nil {
			t.Fatal(err)
		}
		v := []float64{-1}
		if err := m.Read(v); err != nil || v[0] != want {
			t.Errorf("%s reads %g, %v, want %g", given, v[0], err, want)
		}
		if energy := m.Columns()[0] == bench.ColEnergy; energy != strings.Contains(given, "energy") {
			t.Errorf("%s has column %v", given, m.Columns())
		}
		if whole := !m.Source().Part; whole != strings.Contains(given, "machine") {
			t.Errorf("%s covers %+v", given, m.Source())
		}
	}
	_, err := OpenHwmon(root, name(t, "hwmon:"))
	if !errors.Is(err, bench.ErrInvalid) || !strings.Contains(bench.HintOf(err), "chip=ina226,sensor=power1") {
		t.Errorf("several sensors: %v, hint %q", err, bench.HintOf(err))
	}
	if _, err := OpenHwmon(t.TempDir(), name(t, "hwmon:")); !errors.Is(err, bench.ErrUnavailable) {
		t.Error(err)
	}
}

func TestBattery(t *testing.T) {
	at := "sys/class/power_supply/"
	files := map[string]string{at + "AC/type": "Mains", at + "mouse/type": "Battery", at + "mouse/scope": "Device",
		at + "BAT0/type": "Battery", at + "BAT0/status": "Discharging", at + "BAT0/current_now": "-1500000", at + "BAT0/voltage_now": "12000000"}
	read := func(root string) (float64, error) {
		m, err := OpenBattery(root, name(t, "battery:"))
		if err != nil {
			t.Fatal(err)
		}
		v := []float64{-1}
		err = m.Read(v)
		return v[0], err
	}
	if w, err := read(tree(t, files)); err != nil || w != 18 {
		t.Errorf("1.5 A at 12 V are %g W, %v", w, err)
	}
	files[at+"BAT0/power_now"] = "9250000"
	if w, err := read(tree(t, files)); err != nil || w != 9.25 {
		t.Errorf("power_now: %g W, %v", w, err)
	}
	files[at+"BAT0/status"] = "Charging"
	if w, err := read(tree(t, files)); err == nil || !strings.Contains(err.Error(), "Charging") || !math.IsNaN(w) {
		t.Errorf("on mains: %g, %v", w, err)
	}
	if _, err := OpenBattery(t.TempDir(), name(t, "battery:")); !errors.Is(err, bench.ErrUnavailable) {
		t.Error(err)
	}
}
