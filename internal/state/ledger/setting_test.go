package ledger

import (
	"os"
	"path/filepath"
	"testing"

	"tare/internal/bench"
)

// A run that died with a setting changed leaves it in the ledger, and cleaning
// puts the old value back, the last changed first.
func TestCleanPutsSettingsBack(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	policy := filepath.Join(dir, "sys/devices/system/cpu/cpufreq/policy0")
	if err := os.MkdirAll(policy, 0o755); err != nil {
		t.Fatal(err)
	}
	least, most := filepath.Join(policy, "scaling_min_freq"), filepath.Join(policy, "scaling_max_freq")
	for _, path := range []string{least, most} {
		if err := os.WriteFile(path, []byte("1200000"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	kill := owner(t, dir, bench.KindSetting, bench.SettingName(least, "800000"), bench.KindSetting, bench.SettingName(most, "3600000"))
	kill()
	var order []string
	err := Clean(t.Context(), dir, false, func(r Removed) { order = append(order, r.Name) })
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{least: "800000", most: "3600000"} {
		if got, err := os.ReadFile(path); err != nil || string(got) != want {
			t.Errorf("%s is %q, %v, want %s", path, got, err, want)
		}
	}
	if len(order) != 2 || order[0] != bench.SettingName(most, "3600000") {
		t.Errorf("put back in the order %q", order)
	}
	l, err := Open(dir, "test")
	if err != nil {
		t.Fatal(err)
	}
	if held, err := l.Held(); err != nil || len(held) != 0 {
		t.Errorf("still held: %v, %v", held, err)
	}
}

func TestSettingsElsewhereAreRefused(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"/tmp/sys/kernel/mm/transparent_hugepage/enabled=never", dir + "x/sys/kernel/mm/transparent_hugepage/enabled=never",
		"/sys/power/state=mem", "/sys/kernel/mm/transparent_hugepage/enabled"} {
		if err := checkThing(dir, bench.KindSetting, name); err == nil {
			t.Errorf("%s passes", name)
		}
	}
	if err := checkThing(dir, bench.KindSetting, "/sys/kernel/mm/transparent_hugepage/enabled=never"); err != nil {
		t.Error(err)
	}
}
