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

// The conditions of the host a scene may ask for. What is set is put back after
// each trial.
const (
	// CondGovernor is who chooses the frequency of the CPUs, by its name in the kernel.
	CondGovernor = "governor"
	// CondFrequency holds every CPU at one frequency: "1.2GHz", "min", "max" or
	// "75%" of the highest.
	CondFrequency = "frequency"
	// CondTHP says which memory gets transparent huge pages: always, madvise, never.
	CondTHP = "thp"
	// CondKSM says whether the kernel merges equal pages of the programs that allow
	// it, such as virtual machines' monitors: on; or off, and what was merged is parted.
	CondKSM = "ksm"
	// CondSwap is how much swap space there is for those who may use it: the
	// host's own, or a file made for the trial.
	CondSwap = "swap"
	// CondIOScheduler is the scheduler of the disk that holds the scratch space.
	CondIOScheduler = "io_scheduler"
)

// ConditionNames are all of them, in the order they are set.
var ConditionNames = []string{CondGovernor, CondFrequency, CondTHP, CondKSM, CondSwap, CondIOScheduler}

// ConditionsText writes conditions for people, such as "governor performance, thp never".
func ConditionsText(conditions map[string]string) string {
	var all []string
	for _, name := range ConditionNames {
		if v, ok := conditions[name]; ok {
			all = append(all, name+" "+v)
		}
	}
	return strings.Join(all, ", ")
}

var (
	thpValues    = []string{"always", "madvise", "never"}
	ksmValues    = []string{"on", "off"}
	schedulers   = []string{"none", "mq-deadline", "kyber", "bfq"}
	governorForm = regexp.MustCompile(`^[a-z][a-z_]{0,14}$`)
)

// CheckCondition says whether a value can be meant for a condition, on whatever host.
func CheckCondition(name, value string) error {
	switch name {
	case CondGovernor:
		if !governorForm.MatchString(value) {
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
	default:
		return fmt.Errorf("condition %q cannot be set%w", name, Hint("those that can: "+strings.Join(ConditionNames, ", ")))
	}
	return nil
}

// leastSwap is less than which no swap space is worth making.
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

// frequency is a frequency asked for: in kHz, or as a share of the highest.
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

// Control is what of one condition the host lets be set.
type Control struct {
	// Why it cannot be set at all; the rest is then empty.
	Why string `json:"why,omitempty"`
	// Values are the words it takes, of a frequency the steps in kHz if there are steps.
	Values []string `json:"values,omitempty"`
	// Least and Most bound a frequency, in kHz.
	Least int64 `json:"least_khz,omitempty"`
	Most  int64 `json:"most_khz,omitempty"`
	// Own is how much swap space the host has to spare itself, Room how much can
	// be made; NoRoom says why there is none.
	Own    Bytes  `json:"own,omitempty"`
	Room   Bytes  `json:"room,omitempty"`
	NoRoom string `json:"no_room,omitempty"`
}

// Refuses says why the host cannot set the condition to the value; "" if it can.
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
	}
	if !slices.Contains(c.Values, value) {
		if name == CondIOScheduler {
			return fmt.Sprintf("io_scheduler %s: the disk has %s; one that is a module must be loaded first: modprobe %[1]s", value, strings.Join(c.Values, ", "))
		}
		return fmt.Sprintf("%s %s: this host has %s", name, value, strings.Join(c.Values, ", "))
	}
	return ""
}

// Swap is the swap space that is meant, and how much of it must be made: all or
// nothing, for the host's own is used where it is enough.
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

// KHz is the frequency that is meant on this host: of a share the nearest step.
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

// KindSetting is a file of the kernel's that is set otherwise for now; its name
// is [SettingName].
const KindSetting = "setting"

var settingForm = regexp.MustCompile(`^(/.*)?/sys/(devices/system/cpu/cpufreq/policy[0-9]+/scaling_(governor|min_freq|max_freq)|kernel/mm/transparent_hugepage/enabled|kernel/mm/ksm/run|block/[A-Za-z0-9!_-]+/queue/scheduler)$`)
var settingValue = regexp.MustCompile(`^[A-Za-z0-9_-]{1,32}$`)

// SettingName names a setting in the ledger: its file, and what to put back.
func SettingName(path, old string) string { return path + "=" + old }

// ParseSetting takes such a name apart. root is what comes before "/sys".
func ParseSetting(name string) (root, path, old string, err error) {
	path, old, ok := strings.Cut(name, "=")
	m := settingForm.FindStringSubmatch(path)
	if !ok || m == nil || !settingValue.MatchString(old) || strings.Contains(path, "/../") {
		return "", "", "", fmt.Errorf("setting %.200q: not one that may be put back", name)
	}
	return m[1], path, old, nil
}
