package workload

import (
	"errors"
	"maps"
	"strconv"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tare/internal/bench"
)

func TestFill(t *testing.T) {
	for _, c := range []struct {
		name  string
		w     bench.Workload
		given bench.Params
		want  bench.Params
	}{
		{"defaults", sysbenchCPU{}, nil, bench.Params{"threads": "1", "max-prime": "10000"}},
		{"sizes in bytes", fio{}, bench.Params{"bs": "64KiB", "size": "1.5 GiB"},
			bench.Params{"rw": "randread", "bs": "65536", "iodepth": "1", "jobs": "1", "direct": "yes", "size": "1610612736"}},
		{"a number", stream{}, bench.Params{"factor": "4.50"}, bench.Params{"factor": "4.5"}},
		{"optional and not given", stress{}, nil, bench.Params{"kind": "cpu", "busy": "100"}},
		{"lists and durations", command{}, bench.Params{"argv": `[ "sleep", 1 ]`, "timeout": "90s"},
			bench.Params{"argv": `["sleep",1]`, "timeout": "1m30s", "metrics": "[]", "env": "{}", "entrypoint": "image",
				"files": "[]", "warmup": "[]", "ok-exit": "[0]"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := fill(t, c.w, c.given); !maps.Equal(got, c.want) {
				t.Errorf("got  %v\nwant %v", got, c.want)
			}
		})
	}
}

func TestFillRefuses(t *testing.T) {
	for _, c := range []struct {
		w           bench.Workload
		param, text string
		says, hint  string
	}{
		{sysbenchCPU{}, "thread", "2", `unknown; did you mean "threads"?`, "one of: "},
		{sysbenchCPU{}, "threads", "two", `"two": not a whole number`, ""},
		{sysbenchCPU{}, "threads", "0", "at least 1", ""},
		{sysbenchCPU{}, "threads", "99999999999999999999", "not a whole number", ""},
		{stream{}, "factor", "NaN", "not a number", ""},
		{stream{}, "factor", "3.9", "at least 4", ""},
		{fio{}, "bs", "4 KB/s", "unknown unit", "write a number with"},
		{fio{}, "bs", "1", "at least 512 B", ""},
		{fio{}, "size", "-1MiB", "negative", ""},
		{fio{}, "rw", "randred", `did you mean "randread"?`, ""},
		{netperf{}, "test", "UDP_STREAM", `did you mean "TCP_STREAM"?`, ""},
		{command{}, "argv", `["a"`, "unexpected", ""},
		{command{}, "argv", `[]`, "names no program", ""},
		{command{}, "argv", `"a b"`, "a string where a list is needed", ""},
		{command{}, "argv", `["a",["b"]]`, `["b"] where a text is needed`, ""},
		{command{}, "timeout", "5", `"5": not a duration`, "10s"},
		{command{}, "timeout", "-5s", "negative", ""},
		{command{}, "timeout", "0s", "not a positive duration", ""},
		{command{}, "ok-exit", "[300]", "0 to 255", ""},
		{command{}, "ok-exit", "[]", "no status at all", ""},
		{command{}, "files", `["/a/x","/b/x"]`, "same name", ""},
		{command{}, "files", `["/"]`, "not a file", ""},
		{command{}, "env", `{"A=B":"c"}`, "not an environment variable", ""},
		{command{}, "dir", "a\x00b", "zero byte", ""},
		{command{}, "metrics", `[{"unit":"s"}]`, "metric 1: name is missing", ""},
		{command{}, "metrics", `[{"name":"a","better":"more","json":"x"}]`, `better "more"`, ""},
		{command{}, "metrics", `[{"name":"a","json":"x"}]`, "better is missing", "better: higher"},
		{command{}, "metrics", `[{"name":"a","better":"higher"}]`, "either json or regex", ""},
		{command{}, "metrics", `[{"name":"a","better":"higher","json":"x","regex":"(y)"}]`, "either json or regex", ""},
		{command{}, "metrics", `[{"name":"a","better":"higher","regex":"y"}]`, "0 groups", "parentheses"},
		{command{}, "metrics", `[{"name":"a","better":"higher","regex":"(y)(z)"}]`, "2 groups", ""},
		{command{}, "metrics", `[{"name":"a","better":"higher","regex":"(y"}]`, "missing closing", ""},
		{command{}, "metrics", `[{"name":"a","better":"higher","json":"a..b"}]`, "a key is empty", ""},
		{command{}, "metrics", `[{"name":"a","better":"higher","json":"x","combine":"min"}]`, "not sum, mean or max", ""},
		{command{}, "metrics", `[{"name":"a","better":"higher","json":"x","from":"file"}]`, "not stdout or stderr", ""},
		{command{}, "metrics", `[{"name":"a","better":"higher","json":"x","units":"s"}]`, `unknown key of a metric "units"; did you mean "unit"?`, ""},
		{command{}, "metrics", `[{"name":"wall","better":"lower","json":"x"}]`, "name is taken", ""},
		{command{}, "metrics", `[{"name":1}]`, "name is a number, not a text", ""},
		{command{}, "metrics", `[{"name":"a","better":"higher","json":"x","headline":true},{"name":"b","better":"higher","json":"y","headline":true}]`,
			"2 metrics are headlines", ""},
		{service{}, "load", `[]`, "names no program", ""},
		{service{}, "load", `["a\u0000"]`, "zero byte", ""},
		{service{}, "port", "0", "at least 1", ""},
		{service{}, "port", "65536", "must be at most 65535", ""},
		{service{}, "ready", "0s", "not a positive duration", ""},
		{service{}, "probe", "http", `"http": not one of tcp, none`, ""},
		{netserver{}, "test", "UDP_STREAM", `did you mean "TCP_STREAM"?`, ""},
	} {
		t.Run(c.w.Name()+" "+c.param+"="+c.text, func(t *testing.T) {
			given := bench.Params{c.param: c.text}
			for name, text := range someParams(c.w) {
				if name != c.param {
					given[name] = text
				}
			}
			_, err := Fill(c.w, given)
			wantError(t, err, c.says)
			var pe *ParamError
			if !errors.As(err, &pe) || pe.Param != c.param || !errors.Is(err, bench.ErrInvalid) {
				t.Errorf("%#v is not a ParamError of %s", err, c.param)
			}
			if c.hint != "" {
				wantError(t, errors.New(bench.HintOf(err)), c.hint)
			}
		})
	}
	_, err := Fill(command{}, nil)
	wantError(t, err, `"argv"`, "required and not given")
}

// most is how far above its least value a parameter may be.
func most(p bench.Param, limit int) int {
	if p.Max > 0 {
		return int(min(p.Max-p.Min, float64(limit)))
	}
	return limit
}

// Whatever is accepted is canonical: filling it again changes nothing.
func TestFillIsIdempotent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := rapid.SampledFrom(All()).Draw(t, "workload")
		given := make(bench.Params)
		for _, p := range w.Params() {
			if !p.Required && rapid.Bool().Draw(t, "leave out "+p.Name) {
				continue
			}
			switch p.Kind {
			case bench.KindInt:
				given[p.Name] = strconv.Itoa(int(p.Min) + rapid.IntRange(0, most(p, 1e6)).Draw(t, p.Name))
			case bench.KindFloat:
				given[p.Name] = strconv.FormatFloat(p.Min+rapid.Float64Range(0, float64(most(p, 1e6))).Draw(t, p.Name), 'f', 3, 64)
			case bench.KindSize:
				given[p.Name] = strconv.Itoa(int(p.Min)+rapid.IntRange(0, most(p, 1<<40)>>20).Draw(t, p.Name)) + rapid.SampledFrom([]string{"", "B", " KiB", "MB"}).Draw(t, "unit")
			case bench.KindDuration:
				given[p.Name] = strconv.Itoa(rapid.IntRange(1, 1e6).Draw(t, p.Name)) + rapid.SampledFrom([]string{"ms", "s", "m"}).Draw(t, "unit")
			case bench.KindWord:
				given[p.Name] = rapid.SampledFrom(p.Words).Draw(t, p.Name)
			case bench.KindJSON:
				if p.Required {
					given[p.Name] = `[ "prog", 1, true ]`
				}
			}
		}
		once, err := Fill(w, given)
		if err != nil && w.Name() == "web" { // whose clients and servers do not take each other's
			t.Skip(err)
		}
		if err != nil {
			t.Fatal(err)
		}
		twice, err := Fill(w, once)
		if err != nil {
			t.Fatal(err)
		}
		if !maps.Equal(once, twice) {
			t.Errorf("once  %v\ntwice %v", once, twice)
		}
	})
}

func TestWholeSeconds(t *testing.T) {
	for d, want := range map[time.Duration]string{time.Second: "1", 1500 * time.Millisecond: "2", time.Millisecond: "1", 60 * time.Second: "60"} {
		if got := wholeSeconds(d); got != want {
			t.Errorf("%v: %s, want %s", d, got, want)
		}
	}
}
