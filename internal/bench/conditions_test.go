package bench

import (
	"strings"
	"testing"
)

func TestControl(t *testing.T) {
	steps := Control{Values: []string{"800000", "1200000", "1700000"}, Least: 800_000, Most: 1_700_000}
	free := Control{Least: 800_000, Most: 4_200_000}
	for _, c := range []struct {
		control Control
		value   string
		want    int64
		why     string
	}{
		{steps, "1.2GHz", 1_200_000, ""}, {steps, "1200 MHz", 1_200_000, ""}, {steps, "min", 800_000, ""}, {steps, "max", 1_700_000, ""},
		{steps, "75%", 1_200_000, ""}, {steps, "1%", 800_000, ""}, {free, "75%", 3_150_000, ""}, {free, "1%", 800_000, ""}, {free, "3GHz", 3_000_000, ""},
		{steps, "1.3GHz", 0, "the nearest is 1.2GHz"}, {steps, "3GHz", 0, "0.8GHz to 1.7GHz"}, {free, "fast", 0, "not a frequency"},
	} {
		got, err := c.control.KHz(c.value)
		if got != c.want || (err == nil) != (c.why == "") || err != nil && !strings.Contains(err.Error(), c.why) {
			t.Errorf("%s: %d, %v, want %d %q", c.value, got, err, c.want, c.why)
		}
	}
	words := Control{Values: []string{"performance", "powersave"}}
	if why := words.Refuses(CondGovernor, "performance"); why != "" {
		t.Error(why)
	}
	if why := words.Refuses(CondGovernor, "schedutil"); !strings.Contains(why, "performance, powersave") {
		t.Error(why)
	}
	if why := (Control{Why: "no cpufreq"}).Refuses(CondGovernor, "performance"); why != "no cpufreq" {
		t.Error(why)
	}
}

func TestSwapControl(t *testing.T) {
	const no = "btrfs holds no swap file"
	for _, c := range []struct {
		control       Control
		value         string
		size, missing Bytes
		why           string
	}{
		{Control{Own: 2 * GiB, Room: 4 * GiB}, "2GiB", 2 * GiB, 0, ""},
		{Control{Own: 2 * GiB, Room: 4 * GiB}, "3GiB", 3 * GiB, 3 * GiB, ""},
		{Control{Own: 2 * GiB, NoRoom: no}, "1GiB", GiB, 0, ""},
		{Control{Own: 2 * GiB, NoRoom: no}, "3GiB", 0, 0, "swap 3 GiB: " + no},
		{Control{Room: 4 * GiB}, "5GiB", 0, 0, "swap 5 GiB: the disk under the state directory has room for 4 GiB"},
		{Control{Room: 4 * GiB}, "5XB", 0, 0, "unknown unit"},
	} {
		size, missing, err := c.control.Swap(c.value)
		if size != c.size || missing != c.missing || (err == nil) != (c.why == "") || err != nil && !strings.Contains(err.Error(), c.why) {
			t.Errorf("%+v, %s: %v, %v, %v", c.control, c.value, size, missing, err)
		}
		if why := c.control.Refuses(CondSwap, c.value); !strings.Contains(why, c.why) || (why == "") != (c.why == "") {
			t.Errorf("%+v, %s: %q", c.control, c.value, why)
		}
	}
	if why := (Control{Values: []string{"none", "mq-deadline"}}).Refuses(CondIOScheduler, "bfq"); !strings.Contains(why, "none, mq-deadline") || !strings.Contains(why, "modprobe bfq") {
		t.Error(why)
	}
}

func TestConditionsText(t *testing.T) {
	if got := ConditionsText(map[string]string{"thp": "never", "ksm": "on", "governor": "performance"}); got != "governor performance, thp never, ksm on" {
		t.Error(got)
	}
}

func TestCheckCondition(t *testing.T) {
	for _, c := range [][2]string{{"governor", "performance"}, {"frequency", "1.2GHz"}, {"frequency", "50%"}, {"thp", "never"}, {"ksm", "on"},
		{"swap", "2GiB"}, {"io_scheduler", "mq-deadline"}, {"idle", "poll"}, {"wire", "1Gbit"}, {"wire", "2.5Gbit"}, {"wire", "100Mbit"}} {
		if err := CheckCondition(c[0], c[1]); err != nil {
			t.Error(err)
		}
	}
	for _, c := range [][2]string{{"governor", "Performance"}, {"governor", "a b"}, {"governor", "../x"}, {"frequency", "0GHz"}, {"frequency", "-1GHz"},
		{"frequency", "150%"}, {"frequency", "1e3MHz"}, {"frequency", "NaNGHz"}, {"frequency", "1200"}, {"thp", "Always"}, {"ksm", "1"}, {"turbo", "off"},
		{"swap", "0"}, {"swap", "on"}, {"swap", "-1GiB"}, {"io_scheduler", "cfq"}, {"idle", "sleep"}, {"wire", "1"}, {"wire", "1Gbit/s"}, {"wire", "NaNGbit"}, {"wire", "0.5Mbit"}, {"wire", "1Tbit"}, {"wire", "1e1Mbit"}} {
		if CheckCondition(c[0], c[1]) == nil {
			t.Errorf("%s: %s passes", c[0], c[1])
		}
	}
}

func FuzzParseFrequency(f *testing.F) {
	for _, s := range []string{"1.2GHz", "800 MHz", "75%", "min", "1e9GHz", "%"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		v, err := parseFrequency(text)
		if err == nil && !v.least && !v.most && (v.kHz < 1000 || v.kHz > 1e8) && !(v.share > 0 && v.share <= 1) {
			t.Errorf("%q is %+v", text, v)
		}
	})
}

func TestParseSetting(t *testing.T) {
	root, path, old, err := ParseSetting("/state/x/sys/kernel/mm/transparent_hugepage/enabled=madvise")
	if err != nil || root != "/state/x" || !strings.HasPrefix(path, root+"/sys/") || old != "madvise" {
		t.Error(root, path, old, err)
	}
	if _, _, old, err := ParseSetting("/sys/block/vda/queue/scheduler=mq-deadline"); err != nil || old != "mq-deadline" {
		t.Error(old, err)
	}
	for _, bad := range []string{"", "/sys/block/../vda/queue/scheduler=none", "/sys/block/vda/queue/nr_requests=1", "/sys/kernel/mm/transparent_hugepage/enabled", "/sys/kernel/mm/transparent_hugepage/enabled=", "/sys/power/state=mem",
		"/sys/devices/system/cpu/cpufreq/policy0/../scaling_governor=x", "/a/../sys/kernel/mm/transparent_hugepage/enabled=never",
		"/sys/devices/system/cpu/cpufreq/policy0/scaling_governor=a\nb", "sys/kernel/mm/transparent_hugepage/enabled=never", "/etc/shadow=x"} {
		if _, _, _, err := ParseSetting(bad); err == nil {
			t.Errorf("%q passes", bad)
		}
	}
}

func FuzzParseSetting(f *testing.F) {
	f.Add("/sys/devices/system/cpu/cpufreq/policy0/scaling_governor=powersave")
	f.Add("/sys/kernel/mm/transparent_hugepage/enabled=always=never")
	f.Fuzz(func(t *testing.T, name string) {
		_, path, old, err := ParseSetting(name)
		if err == nil && (SettingName(path, old) != name || !strings.HasPrefix(path, "/")) {
			t.Errorf("%q is %q and %q", name, path, old)
		}
	})
}
