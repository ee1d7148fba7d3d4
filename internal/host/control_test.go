package host

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tare/internal/bench"
)

// book is a ledger in memory. It reads each file when it is registered.
type book struct {
	t    *testing.T
	held []string
	fail error
}

func (b *book) Register(kind, name string) error {
	b.t.Helper()
	_, path, old, err := bench.ParseSetting(name)
	if err != nil || kind != bench.KindSetting {
		b.t.Errorf("registered %s %q: %v", kind, name, err)
	}
	if now, err := setting(path); err != nil || now != old {
		b.t.Errorf("%s is registered when it is %q already (%v)", name, now, err)
	}
	if b.fail != nil {
		return b.fail
	}
	b.held = append(b.held, name)
	return nil
}

func (b *book) Release(_, name string) error {
	b.held = slices.DeleteFunc(b.held, func(n string) bool { return n == name })
	return nil
}

// machine returns a tree with two policies that have a laptop's governor and bounds.
func machine(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	for _, policy := range []string{"policy0", "policy4"} {
		for file, text := range map[string]string{
			"scaling_governor": "powersave", "scaling_available_governors": "performance powersave",
			"scaling_min_freq": "800000", "scaling_max_freq": "3600000", "cpuinfo_min_freq": "400000", "cpuinfo_max_freq": "4200000",
		} {
			place(t, root, "sys/devices/system/cpu/cpufreq/"+policy+"/"+file, text)
		}
	}
	place(t, root, thpFile, "always [madvise] never")
	place(t, root, ksmFile, "0")
	return root
}

func place(t *testing.T, root, name, text string) {
	t.Helper()
	path := filepath.Join(root, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
}

// state returns the values of all settings.
func state(t *testing.T, root string) string {
	t.Helper()
	var all []string
	files := []string{thpFile, ksmFile}
	for _, p := range []string{"policy0", "policy4"} {
		for _, f := range []string{"scaling_governor", "scaling_min_freq", "scaling_max_freq"} {
			files = append(files, "sys/devices/system/cpu/cpufreq/"+p+"/"+f)
		}
	}
	for _, f := range files {
		word, err := setting(filepath.Join(root, f))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, word)
	}
	return strings.Join(all, " ")
}

const before = "madvise 0 powersave 800000 3600000 powersave 800000 3600000"

func TestSetAndRestore(t *testing.T) {
	for _, c := range []struct {
		wanted map[string]string
		during string
		held   int
	}{
		{map[string]string{"governor": "performance"}, "madvise 0 performance 800000 3600000 performance 800000 3600000", 2},
		{map[string]string{"frequency": "1.2GHz"}, "madvise 0 powersave 1200000 1200000 powersave 1200000 1200000", 4},
		{map[string]string{"frequency": "max"}, "madvise 0 powersave 4200000 4200000 powersave 4200000 4200000", 4},
		{map[string]string{"frequency": "min", "thp": "never", "governor": "performance"}, "never 0 performance 400000 400000 performance 400000 400000", 7},
		{map[string]string{"thp": "madvise", "governor": "powersave"}, before, 0},
		{map[string]string{"ksm": "on"}, "madvise 1 powersave 800000 3600000 powersave 800000 3600000", 1},
		{map[string]string{"ksm": "off"}, "madvise 2 powersave 800000 3600000 powersave 800000 3600000", 1},
	} {
		root := machine(t)
		led := &book{t: t}
		restore, err := Set(root, "/", led, c.wanted)
		if err != nil {
			t.Fatalf("%v: %v", c.wanted, err)
		}
		if got := state(t, root); got != c.during || len(led.held) != c.held {
			t.Errorf("%v: %s, and %d registered; want %s, %d", c.wanted, got, len(led.held), c.during, c.held)
		}
		if err := restore(); err != nil {
			t.Error(err)
		}
		if got := state(t, root); got != before || len(led.held) != 0 {
			t.Errorf("%v: put back is %s, and %v are registered", c.wanted, got, led.held)
		}
	}
}

func TestSetRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		wanted map[string]string
		words  string
	}{
		"no such governor": {map[string]string{"thp": "never", "governor": "schedutil"}, "performance, powersave"},
		"too fast":         {map[string]string{"governor": "performance", "frequency": "5GHz"}, "0.4GHz to 4.2GHz"},
		"no condition":     {map[string]string{"turbo": "off"}, "unknown"},
	} {
		root := machine(t)
		led := &book{t: t}
		if _, err := Set(root, "/", led, c.wanted); err == nil || !strings.Contains(err.Error(), c.words) {
			t.Errorf("%s: %v", name, err)
		}
		if got := state(t, root); got != before || len(led.held) != 0 {
			t.Errorf("%s: it left %s, and %v registered", name, got, led.held)
		}
	}
	// If the ledger cannot be written, the file stays unchanged.
	root := machine(t)
	full := errors.New("disk full")
	if _, err := Set(root, "/", &book{t: t, fail: full}, map[string]string{"thp": "never"}); !errors.Is(err, full) || state(t, root) != before {
		t.Errorf("%v, and %s", err, state(t, root))
	}
}

// A value that the kernel does not keep is restored and reported.
func TestSetThatDoesNotHold(t *testing.T) {
	root := machine(t)
	path := filepath.Join(root, "sys/devices/system/cpu/cpufreq/policy4/scaling_governor")
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/dev/null", path); err != nil {
		t.Fatal(err)
	}
	_, err := Set(root, "/", &forgetful{}, map[string]string{"governor": "performance"})
	if err == nil || !strings.Contains(err.Error(), "wrote performance") || bench.HintOf(err) == "" {
		t.Errorf("%v", err)
	}
	if word, _ := setting(filepath.Join(root, "sys/devices/system/cpu/cpufreq/policy0/scaling_governor")); word != "powersave" {
		t.Errorf("the other policy was left at %q", word)
	}
}

type forgetful struct{}

func (forgetful) Register(string, string) error { return nil }
func (forgetful) Release(string, string) error  { return nil }

func TestControls(t *testing.T) {
	c := Controls(machine(t), "/")
	if got := fmt.Sprint(c); !strings.Contains(got, "performance powersave") || c["frequency"].Least != 400_000 || c["frequency"].Most != 4_200_000 {
		t.Errorf("%s", got)
	}
	for name, control := range Controls(t.TempDir(), "/") {
		if control.Why == "" {
			t.Errorf("%s can be set where there is nothing: %+v", name, control)
		}
	}
	odd := machine(t)
	place(t, odd, "sys/devices/system/cpu/cpufreq/policy4/cpuinfo_max_freq", "fast")
	if why := Controls(odd, "/")["frequency"].Why; !strings.Contains(why, `"fast"`) {
		t.Errorf("a frequency that is not a number: %q", why)
	}
}
