package host

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"tare/internal/bench"
)

const (
	policies = "sys/devices/system/cpu/cpufreq/policy*"
	thpFile  = "sys/kernel/mm/transparent_hugepage/enabled"
	ksmFile  = "sys/kernel/mm/ksm/run"
	netDir   = "proc/sys/net"
)

// Controls returns the settable values of every condition on this host. The files are below root
// ("/"). dir, a path there, is or will be the directory for scratch space.
func Controls(root, dir string) map[string]bench.Control {
	return map[string]bench.Control{
		bench.CondGovernor:  governors(root),
		bench.CondFrequency: frequencies(root),
		bench.CondTHP:       oneOf(root, thpFile, "this kernel has no transparent huge pages", "always", "madvise", "never"),
		bench.CondKSM:       oneOf(root, ksmFile, "this kernel does not merge equal pages (KSM)", "on", "off"),

		bench.CondSwap:        swapping(root, dir),
		bench.CondIOScheduler: schedulers(root, dir),
		bench.CondIdle:        idling(root),
		bench.CondWire:        oneOf(root, netDir, "this kernel tells nothing of its network"), // the test network makes it, of any rate
	}
}

// noCPUFreq says why the frequency cannot be set.
const noCPUFreq = "this host gives no control over its CPUs' frequency (no cpufreq): it is a virtual machine, or the firmware keeps it to itself"

func policyDirs(root string) []string {
	dirs, _ := filepath.Glob(filepath.Join(root, policies)) // the pattern is well-formed
	slices.Sort(dirs)
	return dirs
}

// governors returns those that every policy has.
func governors(root string) bench.Control {
	dirs := policyDirs(root)
	if len(dirs) == 0 {
		return bench.Control{Why: noCPUFreq}
	}
	var common []string
	for i, dir := range dirs {
		text, err := setting(filepath.Join(dir, "scaling_available_governors"))
		if err != nil {
			return bench.Control{Why: err.Error()}
		}
		names := strings.Fields(text)
		if i == 0 {
			common = names
		}
		common = slices.DeleteFunc(common, func(n string) bool { return !slices.Contains(names, n) })
	}
	return bench.Control{Values: common}
}

// frequencies returns bounds of the narrowest policy. The steps are those of the first policy, if
// every policy has them.
func frequencies(root string) bench.Control {
	dirs := policyDirs(root)
	if len(dirs) == 0 {
		return bench.Control{Why: noCPUFreq}
	}
	c := bench.Control{}
	for i, dir := range dirs {
		least, err1 := kHz(filepath.Join(dir, "cpuinfo_min_freq"))
		most, err2 := kHz(filepath.Join(dir, "cpuinfo_max_freq"))
		if err := errors.Join(err1, err2); err != nil {
			return bench.Control{Why: err.Error()}
		}
		c.Least = max(c.Least, least)
		if i == 0 || most < c.Most {
			c.Most = most
		}
		text, err := setting(filepath.Join(dir, "scaling_available_frequencies"))
		steps := strings.Fields(text)
		if err != nil {
			steps = nil // the driver has no steps
		}
		if i == 0 {
			c.Values = steps
		}
		c.Values = slices.DeleteFunc(c.Values, func(v string) bool { return !slices.Contains(steps, v) })
	}
	if c.Least > c.Most {
		return bench.Control{Why: "no frequency is one that all CPUs have"}
	}
	return c
}

// oneOf returns the values of a condition that one file sets. The file is missing if the kernel is
// built without the feature.
func oneOf(root, file, without string, values ...string) bench.Control {
	_, err := os.Stat(filepath.Join(root, file))
	if errors.Is(err, fs.ErrNotExist) {
		return bench.Control{Why: without}
	}
	if err != nil {
		return bench.Control{Why: err.Error()}
	}
	return bench.Control{Values: values}
}

// ksmRun maps the condition's words to the file's values (Documentation/admin-guide/mm/ksm.rst). 1
// merges. 2 stops and unmerges; 0 would only stop.
var ksmRun = map[string]string{"on": "1", "off": "2"}

// setting returns a kernel file's current value: the word in brackets if it lists all choices, else
// the whole text.
func setting(path string) (string, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	text := strings.TrimSpace(string(b))
	if word, err := chosen(text); err == nil {
		return word, nil
	}
	return text, nil
}

func kHz(path string) (int64, error) {
	text, err := setting(path)
	if err != nil {
		return 0, err
	}
	v, err := strconv.ParseInt(text, 10, 64)
	if err != nil || v <= 0 {
		return 0, fmt.Errorf("%s: %.40q is not a frequency in kHz", path, text)
	}
	return v, nil
}

// Set sets the host's conditions and returns a function that restores the old values. dir is the
// directory for scratch space. Each setting is registered with its old value before it is changed,
// so that it can be restored even if this process is killed. If Set fails, it restores what it had
// changed.
func Set(root, dir string, led bench.Ledger, wanted map[string]string) (restore func() error, err error) {
	s := &settings{ledger: led}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.restore())
		}
	}()
	controls := Controls(root, dir)
	for name := range wanted {
		if !slices.Contains(bench.ConditionNames, name) {
			return nil, fmt.Errorf("condition %q: unknown: %w", name, bench.ErrInvalid)
		}
	}
	for _, name := range bench.ConditionNames {
		value, ok := wanted[name]
		if !ok {
			continue
		}
		if why := controls[name].Refuses(name, value); why != "" {
			return nil, fmt.Errorf("%s %s: %s: %w", name, value, why, bench.ErrUnavailable)
		}
		switch name {
		case bench.CondTHP:
			err = s.set(filepath.Join(root, thpFile), value)
		case bench.CondKSM:
			err = s.set(filepath.Join(root, ksmFile), ksmRun[value])
		case bench.CondGovernor:
			for _, dir := range policyDirs(root) {
				err = errors.Join(err, s.set(filepath.Join(dir, "scaling_governor"), value))
			}
		case bench.CondFrequency:
			var f int64
			if f, err = controls[name].KHz(value); err == nil {
				err = s.hold(policyDirs(root), f)
			}
		case bench.CondSwap:
			var missing bench.Bytes
			if _, missing, err = controls[name].Swap(value); err == nil && missing > 0 {
				err = s.swap(filepath.Join(root, dir, swapFile), missing)
			}
		case bench.CondIOScheduler:
			var file string
			if file, err = schedulerFile(root, dir); err == nil {
				err = s.set(file, value)
			}
		case bench.CondIdle:
			err = s.poll(filepath.Join(root, wakeFile))
		}
		if err != nil {
			return nil, err
		}
	}
	return s.restore, nil
}

// settings holds the changes made and how to undo them, in order.
type settings struct {
	ledger bench.Ledger
	undo   []func() error
}

// set changes one file. It does nothing if the value is already as wanted.
func (s *settings) set(path, value string) error {
	old, err := setting(path)
	if err != nil {
		return fmt.Errorf("read what was set: %w", err)
	}
	if old == value {
		return nil
	}
	if err := s.ledger.Register(bench.KindSetting, bench.SettingName(path, old)); err != nil {
		return err
	}
	s.undo = append(s.undo, func() error {
		if err := write(path, old); err != nil {
			return err
		}
		return s.ledger.Release(bench.KindSetting, bench.SettingName(path, old))
	})
	if err := write(path, value); err != nil {
		return err
	}
	if now, err := setting(path); err != nil || now != value {
		return fmt.Errorf("set %s: wrote %s, and it is %q now%w", path, value, now, bench.Hint("something else on this host sets it, such as a power daemon, or the firmware does"))
	}
	return nil
}

// hold fixes every policy at one frequency. It sets both bounds in the order that never puts the
// lower one above the upper one.
func (s *settings) hold(dirs []string, f int64) error {
	value := strconv.FormatInt(f, 10)
	for _, dir := range dirs {
		most, err := kHz(filepath.Join(dir, "scaling_max_freq"))
		if err != nil {
			return err
		}
		files := []string{"scaling_min_freq", "scaling_max_freq"}
		if f > most {
			slices.Reverse(files)
		}
		for _, file := range files {
			if err := s.set(filepath.Join(dir, file), value); err != nil {
				return err
			}
		}
	}
	return nil
}

// restore undoes all changes, the last first. What cannot be undone stays in the ledger.
func (s *settings) restore() error {
	var errs []error
	for _, undo := range slices.Backward(s.undo) {
		errs = append(errs, undo())
	}
	s.undo = nil
	return errors.Join(errs...)
}

// write writes an existing file.
func write(path, value string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(value)
	return errors.Join(err, f.Close())
}
