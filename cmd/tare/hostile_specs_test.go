package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// goodSpec is what the hostile ones are made of.
const goodSpec = `name: good
title: A good one
platforms: [native]
blocks: 3
timing: {warmup: 1s, measure: 1s, cooldown: 0s}
scenes:
  - name: cpu
    workload: sysbench-cpu
    params: {threads: 1}
`

// with puts a text in the place of another in the good specification.
func with(old, to string) string {
	if strings.Count(goodSpec, old) != 1 {
		panic(old)
	}
	return strings.Replace(goodSpec, old, to, 1)
}

// aliases are n anchors, each of ten of the one before.
func aliases(n int) string {
	var b strings.Builder
	b.WriteString("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n")
	for i := 1; i < n; i++ {
		fmt.Fprintf(&b, "a%d: &a%d [%s]\n", i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d, ", i-1), 10), ", "))
	}
	return b.String()
}

func listed(n int, format string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}

// goingDown writes a text on n lines, each further in than the one before.
func goingDown(n int, text string) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strings.Repeat(" ", i) + text + "\n")
	}
	return b.String()
}

// hostileSpecs are the corpus. says is a text of the complaint; "" is a plan.
var hostileSpecs = []struct{ name, text, says string }{
	// Sizes and depths.
	{"nothing", "", "nothing to run"},
	{"64 KiB of brackets", strings.Repeat("[", 64<<10), "nested more than 200 deep"},
	{"brackets for scenes", with("[native]", strings.Repeat("[", 60_000)), "nested more than 200 deep"},
	{"brackets on lines of their own", with("[native]", strings.Repeat("[\n ", 20_000)), "nested more than 200 deep"},
	{"braces", strings.Repeat("{", 64<<10), "nested more than 200 deep"},
	{"braces with keys", strings.Repeat("{a: ", 16_000), "nested more than 200 deep"},
	{"lists in lists", "a: " + strings.Repeat("[a, ", 16_000), "nested more than 200 deep"},
	{"dashes", strings.Repeat("- ", 32_000), "nested more than 200 deep"},
	{"dashes that go down", goingDown(350, "-"), ""},
	{"questions", strings.Repeat("? ", 32_000), ""},
	{"keys in a line", strings.Repeat("a: ", 21_000), ""},
	{"keys that go down", goingDown(300, "a:"), ""},
	{"tags", strings.Repeat("!!x ", 16_000), "tag"},
	{"anchors", strings.Repeat("&a ", 21_000), ""},
	{"aliases of aliases", aliases(9), "aliases expanded"},
	{"aliases in scenes", with("scenes:\n", aliases(6)+"scenes:\n"), "aliases expanded"},
	{"an alias of itself", "a: &a [*a]\n", "no &a before it"},
	{"an alias of nothing", with("[native]", "*nothing"), "no &nothing before it"},
	{"a merge of itself", "a: &a {<<: *a}\n", ""},
	{"more than is read", goodSpec + strings.Repeat("# more\n", 10_000), "too long"},
	{"one long word", with("A good one", strings.Repeat("x", 60_000)), ""},
	{"one long name", with("name: good", "name: "+strings.Repeat("x", 60_000)), ""},
	{"many keys", "name: good\n" + listed(8000, "k%d: 1\n"), ""},
	{"one key often", strings.Repeat("name: good\n", 5000), ""},
	{"many documents", strings.Repeat("---\nname: good\n", 4000), "a second document"},
	{"many scenes", with("scenes:\n", "scenes:\n"+listed(1200, "  - {name: s%d, workload: sysbench-cpu}\n")), ""},
	{"scenes of one name", with("scenes:\n", "scenes:\n"+strings.Repeat("  - {name: s, workload: sysbench-cpu}\n", 1000)), "is defined already"},
	{"many bad scenes", with("scenes:\n", "scenes:\n"+listed(1000, "  - {name: s%d, workload: no, params: 3, shape: x, kind: y}\n")), " more\n"},
	{"many platforms", with("[native]", "["+listed(9000, "p%d, ")+"native]"), "too many platforms"},
	{"many options", with("[native]", "[\"native["+listed(5000, "as=a%d,")+"as=b]\"]"), ""},
	{"many aliases of a platform", with("[native]", "["+listed(900, "\"native[as=a%d]\", ")+"native]"), ""},
	{"factors crossed", with("params: {threads: 1}", "vary: {a: [1,2,3,4,5,6,7,8,9,0], b: [1,2,3,4,5,6,7,8,9,0], c: [1,2,3,4,5,6,7,8,9,0], d: [1,2,3,4,5,6,7,8,9,0]}"), "too many combinations"},
	{"a factor of many levels", with("params: {threads: 1}", "vary: {threads: ["+strings.TrimSuffix(listed(9000, "%d, "), ", ")+"]}"), "too many"},
	{"many instances", with("workload: sysbench-cpu\n", "alike: 1000000000\n    workload: sysbench-cpu\n"), ""},
	{"many actors", with("    params: {threads: 1}\n", "    actors: [{workload: sysbench-cpu, count: 1000000000}]\n"), ""},
	{"nesting of platforms", with("[native]", "[\"native"+strings.Repeat("@native", 9000)+"\"]"), ""},

	// Numbers.
	{"blocks without end", with("blocks: 3", "blocks: 99999999999999999999"), ""},
	{"blocks below 0", with("blocks: 3", "blocks: -1"), ""},
	{"blocks that are half", with("blocks: 3", "blocks: 0.5"), ""},
	{"blocks that are no number", with("blocks: 3", "blocks: .nan"), ""},
	{"infinite blocks", with("blocks: 3", "blocks: .inf"), ""},
	{"all the blocks there are", with("blocks: 3", "blocks: 1000"), "b1000-t1000"},
	{"looks without end", with("blocks: 3", "until: {interval: 5e-324, max: 1000}"), ""},
	{"a margin without end", with("blocks: 3", "margin: 1e308%"), ""},
	{"a margin of nothing", with("blocks: 3", "margin: 5e-324%"), ""},
	{"time without end", with("measure: 1s", "measure: 9999999999999h"), "is not a time"},
	{"time that is not a time", with("measure: 1s", "measure: .inf"), ""},
	{"time below 0", with("measure: 1s", "measure: -1s"), ""},
	{"memory without end", with("blocks: 3", "shape: {memory: 99999999999999999999GiB}"), ""},
	{"memory of 1e308", with("blocks: 3", "shape: {memory: 1e308}"), ""},
	{"CPUs without end", with("blocks: 3", "shape: {cpus: 1000000000000}"), ""},
	{"a quota of 5e-324", with("blocks: 3", "shape: {cpu_quota: 5e-324}"), ""},
	{"threads without end", with("threads: 1", "threads: 99999999999999999999"), ""},
	{"a seed without end", with("blocks: 3", "seed: 99999999999999999999999"), ""},
	{"octal, binary and underlines", with("blocks: 3", "blocks: 0b1_1"), ""},
	{"a ramp without end", with("workload: sysbench-cpu\n    params: {threads: 1}\n", "ramp: {to: 1000000000, step: 1}\n"), ""},
	{"a ramp by nothing", with("workload: sysbench-cpu\n    params: {threads: 1}\n", "ramp: {to: 10, step: 0}\n"), ""},
	{"a ramp of all there may be", with("workload: sysbench-cpu\n    params: {threads: 1}\n", "ramp: {to: 1000, step: 1}\n"), ""},

	// Words.
	{"no text", "\xff\xfe\x00\x01", "not UTF-8"},
	{"zeros", strings.Repeat("\x00", 60_000), ""},
	{"escape sequences", with("A good one", "\"\\e[31mred\""), "control character"},
	{"escape sequences in keys", "\x1b[31mname: good\n", ""},
	{"escape sequences in words", with("sysbench-cpu", "\"\\e]0;x\\a\""), ""},
	{"text to the left", with("A good one", "\u202egood\u202c"), ""},
	{"markup", with("A good one", quoted(markup)), "control character"},
	{"a path for a name", with("name: good", "name: ../../etc"), ""},
	{"a path for a scene", with("name: cpu", "name: ../../etc"), ""},
	{"a file of the host", with("    workload: sysbench-cpu\n    params: {threads: 1}\n", "    workload: command\n    params: {argv: cat x}\n    files: {/etc/shadow: x}\n"), ""},
	{"tabs", strings.ReplaceAll(goodSpec, "  ", "\t"), "tabs"},
	{"a quote without end", with("A good one", "\"good"), ""},
	{"a block without end", with("A good one", "|\n"+strings.Repeat(" x\n", 20_000)), ""},
	{"only a comment", strings.Repeat("#", 60_000), "nothing to run"},
	{"only a dash", "-", ""},
	{"a binary tag", with("[native]", "!!binary aGVsbG8="), ""},
	{"a list for a mapping", "[name, good]", ""},
	{"a mapping for a list", with("[native]", "{native: {native: {native: 1}}}"), ""},
	{"a regular expression", with("    workload: sysbench-cpu\n    params: {threads: 1}\n", "    workload: command\n    params: {run: 'true', metrics: '[{\"name\":\"m\",\"unit\":\"s\",\"better\":\"lower\",\"regex\":\"((a{1,900}){1,900}){1,900}\"}]'}\n"), ""},
}

// Whatever a specification says, every verb that reads one refuses it, or plans
// it, within bounds.
func TestHostileSpecs(t *testing.T) {
	if n := len(hostileSpecs); n < 60 {
		t.Fatalf("%d specifications", n)
	}
	var worst taken
	began := time.Now()
	t.Run("each", func(t *testing.T) {
		for _, c := range hostileSpecs {
			t.Run(c.name, func(t *testing.T) {
				t.Parallel()
				file := filepath.Join(t.TempDir(), "x.yaml")
				if err := os.WriteFile(file, []byte(c.text), 0o644); err != nil {
					t.Fatal(err)
				}
				readHostileSpec(t, &worst, file, c.says)
			})
		}
		t.Run("a file without end", func(t *testing.T) {
			t.Parallel()
			readHostileSpec(t, &worst, "/dev/zero", "too long")
		})
		t.Run("a pipe into which nobody writes", func(t *testing.T) {
			t.Parallel()
			pipe := filepath.Join(t.TempDir(), "x.yaml")
			if err := syscall.Mkfifo(pipe, 0o644); err != nil {
				t.Fatal(err)
			}
			readHostileSpec(t, &worst, pipe, "nothing to run")
		})
	})
	t.Logf("%d specifications in %v: %v", len(hostileSpecs), time.Since(began).Round(time.Second), &worst)
}

func readHostileSpec(t *testing.T, worst *taken, file, says string) {
	got := bounded(t, worst, "plan", file)
	if all := got.stdout + got.stderr; !strings.Contains(all, says) || all == "" {
		t.Errorf("it does not say %q: %.1000s", says, all)
	}
	bounded(t, worst, "plan", "--json", file)
	bounded(t, worst, "doctor", "--packages", file)
	if os.Geteuid() == 0 {
		if got := bounded(t, worst, "run", file); !strings.Contains(got.stderr, "hint: ") && !strings.Contains(got.stderr, ".yaml:") && !strings.Contains(got.stderr, "/dev/zero") {
			t.Errorf("it was run, or refused without a word: %.1000s", got.stderr)
		}
	}
}
