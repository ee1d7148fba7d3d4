package bench

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// The conditions of the host that a scene may ask for. The old settings are restored after each
// trial.
const (
	// CondGovernor is the CPU frequency governor, by its name in the kernel.
	CondGovernor = "governor"
	// CondFrequency holds every CPU at one frequency: "1.2GHz", "min", "max" or
	// "75%" of the highest.
	CondFrequency = "frequency"
	// CondTHP says which memory gets transparent huge pages: always, madvise, never.
	CondTHP = "thp"
	// CondKSM says whether the kernel merges equal pages of the programs that allow it, such as
	// virtual machine monitors: on or off. "off" also unmerges the pages merged before.
	CondKSM = "ksm"
	// CondSwap is the size of the swap space: the host's own, or a file made for the trial.
	CondSwap = "swap"
	// CondIOScheduler is the I/O scheduler of the disk that holds the scratch space.
	CondIOScheduler = "io_scheduler"
	// CondIdle says what CPUs do while they are idle: poll keeps them out of idle states, so that
	// none has to wake up.
	CondIdle = "idle"
	// CondWire is the rate of the one wire between the instances and all of their peers, such as
	// "1Gbit". It is no wire but a shaped link: both directions send no faster.
	CondWire = "wire"
)

// ConditionNames lists all conditions in the order they are set.
var ConditionNames = []string{CondGovernor, CondFrequency, CondTHP, CondKSM, CondSwap, CondIOScheduler, CondIdle, CondWire}

// ConditionsText writes conditions for people, such as "governor performance, thp never".
func ConditionsText(conditions map[string]string) string {
	var all []string
	for _, name := range ConditionNames {
		v, ok := conditions[name]
		if ok && name == CondWire {
			v += " (shaped)"
		}
		if ok {
			all = append(all, name+" "+v)
		}
	}
	return strings.Join(all, ", ")
}

var (
	thpValues       = []string{"always", "madvise", "never"}
	ksmValues       = []string{"on", "off"}
	idleValues      = []string{"poll"}
	schedulers      = []string{"none", "mq-deadline", "kyber", "bfq"}
	governorPattern = regexp.MustCompile(`^[a-z][a-z_]{0,14}$`)
)

// CheckCondition returns an error unless the value is valid for the condition on some host.
func CheckCondition(name, value string) error {
	switch name {
	case CondGovernor:
		if !governorPattern.MatchString(value) {
			return fmt.Errorf("governor %q: not the name of one%w", value, Hint("such as performance, powersave or schedutil"))
		}
	case CondFrequency:
		_, err := parseFrequency(value)
		return err
	case CondTHP:
		if !slices.Contains(thpValues, value) {
			return fmt.Errorf("thp %q: none of %s", value, strings.Join(thpValues, ", "))
		}
	case CondKSM:
		if !slices.Contains(ksmValues, value) {
			return fmt.Errorf("ksm %q: none of %s", value, strings.Join(ksmValues, ", "))
		}
	case CondSwap:
		_, err := parseSwap(value)
		return err
	case CondIOScheduler:
		if !slices.Contains(schedulers, value) {
			return fmt.Errorf("io_scheduler %q: none of %s", value, strings.Join(schedulers, ", "))
		}
	case CondIdle:
		if !slices.Contains(idleValues, value) {
			return fmt.Errorf("idle %q: not poll%w", value, Hint("leave the condition out for CPUs that sleep while they are idle"))
		}
	case CondWire:
		_, err := ParseWire(value)
		return err
	default:
		return fmt.Errorf("condition %q cannot be set%w", name, Hint("those that can: "+strings.Join(ConditionNames, ", ")))
	}
	return nil
}

// leastSwap is the smallest swap space that can be asked for.
const leastSwap = MiB

func parseSwap(text string) (Bytes, error) {
	size, err := ParseBytes(text)
	if err != nil {
		return 0, err
	}
	if size < leastSwap {
		return 0, fmt.Errorf("swap %q: at least %s%w", text, leastSwap, Hint("write a size, such as 2GiB; leave the condition out for none"))
	}
	return size, nil
}

// The rates that a wire can have, in bit/s.
const (
	leastWire = 1e6
	mostWire  = 400e9
)

// ParseWire reads the rate of a wire, such as 100Mbit, 1Gbit or 2.5Gbit, and returns it in bit/s.
func ParseWire(text string) (float64, error) {
	for unit, bits := range map[string]float64{"Mbit": 1e6, "Gbit": 1e9} {
		digits, ok := strings.CutSuffix(text, unit)
		v, err := strconv.ParseFloat(strings.TrimSpace(digits), 64)
		if ok && err == nil && !strings.ContainsAny(digits, "eExXpP_") && v*bits >= leastWire && v*bits <= mostWire {
			return v * bits, nil
		}
	}
	return 0, fmt.Errorf("wire %q: not a rate between 1Mbit and 400Gbit%w", text, Hint("write it like 100Mbit, 1Gbit or 10Gbit"))
}

// frequency is the frequency asked for: in kHz, or as a share of the highest.
type frequency struct {
	kHz         int64
	share       float64
	least, most bool
}

func parseFrequency(text string) (frequency, error) {
	fail := func() (frequency, error) {
		return frequency{}, fmt.Errorf("frequency %q: not a frequency%w", text, Hint("write it like 1.2GHz, 800MHz, 75% (of the highest), min or max"))
	}
	if text == "min" || text == "max" {
		return frequency{least: text == "min", most: text == "max"}, nil
	}
	for unit, kHz := range map[string]float64{"GHz": 1e6, "MHz": 1e3, "kHz": 1, "%": 0} {
		digits, ok := strings.CutSuffix(text, unit)
		if !ok {
			continue
		}
		v, err := strconv.ParseFloat(strings.TrimSpace(digits), 64)
		switch {
		case err != nil || !(v > 0) || strings.ContainsAny(digits, "eExXpP_"):
			return fail()
		case unit == "%" && v <= 100:
			return frequency{share: v / 100}, nil
		case unit == "%" || v*kHz < 1e3 || v*kHz > 1e8:
			return fail()
		}
		return frequency{kHz: int64(math.Round(v * kHz))}, nil
	}
	return fail()
}

// Control describes the values of one condition that the host can set.
type Control struct {
	// Why says why the host cannot set the condition at all. The other fields are then empty.
	Why string `json:"why,omitempty"`
	// Values are the accepted words. For a frequency they are the steps in kHz, if there are steps.
	Values []string `json:"values,omitempty"`
	// Least and Most bound a frequency, in kHz.
	Least int64 `json:"least_khz,omitempty"`
	Most  int64 `json:"most_khz,omitempty"`
	// Own is the host's free swap space. Room is how much can be made. NoRoom says why none can.
	Own    Bytes  `json:"own,omitempty"`
	Room   Bytes  `json:"room,omitempty"`
	NoRoom string `json:"no_room,omitempty"`
}

// Refuses returns why the host cannot set the condition to the value, "" if it can.
func (c Control) Refuses(name, value string) string {
	if c.Why != "" {
		return c.Why
	}
	switch name {
	case CondFrequency:
		if _, err := c.KHz(value); err != nil {
			return err.Error()
		}
		return ""
	case CondSwap:
		if _, _, err := c.Swap(value); err != nil {
			return err.Error()
		}
		return ""
	case CondWire: // of any rate, where there is one
		return ""
	}
	if !slices.Contains(c.Values, value) {
		if name == CondIOScheduler {
			return fmt.Sprintf("io_scheduler %s: the disk has %s; one that is a module must be loaded first: modprobe %[1]s", value, strings.Join(c.Values, ", "))
		}
		return fmt.Sprintf("%s %s: this host has %s", name, value, strings.Join(c.Values, ", "))
	}
	return ""
}

// Swap returns the size of the swap space and how much of it must be made. The host's own is used
// if it is large enough. Otherwise all of it is made.
func (c Control) Swap(value string) (size, missing Bytes, err error) {
	size, err = parseSwap(value)
	switch {
	case err != nil:
		return 0, 0, err
	case size <= c.Own:
		return size, 0, nil
	case c.Room == 0:
		return 0, 0, fmt.Errorf("swap %s: %s", size, c.NoRoom)
	case size > c.Room:
		return 0, 0, fmt.Errorf("swap %s: the disk under the state directory has room for %s", size, c.Room)
	}
	return size, size, nil
}

// KHz returns the frequency on this host. A share is rounded to the nearest step.
func (c Control) KHz(value string) (int64, error) {
	f, err := parseFrequency(value)
	if err != nil {
		return 0, err
	}
	switch {
	case f.least:
		return c.Least, nil
	case f.most:
		return c.Most, nil
	case f.share > 0:
		return c.nearest(max(c.Least, int64(math.Round(f.share*float64(c.Most))))), nil
	}
	if f.kHz < c.Least || f.kHz > c.Most {
		return 0, fmt.Errorf("frequency %s: this host has %s to %s", value, gigahertz(c.Least), gigahertz(c.Most))
	}
	if len(c.Values) > 0 && c.nearest(f.kHz) != f.kHz {
		return 0, fmt.Errorf("frequency %s: this host has none between its steps; the nearest is %s", value, gigahertz(c.nearest(f.kHz)))
	}
	return f.kHz, nil
}

func (c Control) nearest(kHz int64) int64 {
	var steps []int64
	for _, v := range c.Values {
		if n, err := strconv.ParseInt(v, 10, 64); err == nil {
			steps = append(steps, n)
		}
	}
	if len(steps) == 0 {
		return kHz
	}
	return slices.MinFunc(steps, func(a, b int64) int { return cmp.Compare(max(a-kHz, kHz-a), max(b-kHz, kHz-b)) })
}

func gigahertz(kHz int64) string {
	return strconv.FormatFloat(float64(kHz)/1e6, 'g', 4, 64) + "GHz"
}

// KindSetting is a kernel setting that the run has changed. Its name is a [SettingName].
const KindSetting = "setting"

var settingPattern = regexp.MustCompile(`^(/.*)?/sys/(devices/system/cpu/cpufreq/policy[0-9]+/scaling_(governor|min_freq|max_freq)|kernel/mm/transparent_hugepage/enabled|kernel/mm/ksm/run|block/[A-Za-z0-9!_-]+/queue/scheduler)$`)
var settingValue = regexp.MustCompile(`^[A-Za-z0-9_-]{1,32}$`)

// SettingName names a setting in the ledger: its file and its old value.
func SettingName(path, old string) string { return path + "=" + old }

// ParseSetting splits such a name. root is the part of the path before "/sys".
func ParseSetting(name string) (root, path, old string, err error) {
	path, old, ok := strings.Cut(name, "=")
	m := settingPattern.FindStringSubmatch(path)
	if !ok || m == nil || !settingValue.MatchString(old) || strings.Contains(path, "/../") {
		return "", "", "", fmt.Errorf("setting %.200q: not one that may be put back", name)
	}
	return m[1], path, old, nil
}
