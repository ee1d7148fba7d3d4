// Testsum reads the output of "go test -json" on standard input, or that of several that run side
// by side from the files it is given. It prints what failed in full, lists every skipped test with
// its reason and the platforms whose conformance was tested, and ends with a line of counts. A skip
// that is not listed in its allowed-skips file, or listed with a condition that does not hold on
// this host, is a failure where CI is set: a test that must run there ran nowhere. A skip because
// of a missing program that set-up installs is a failure everywhere.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
)

type event struct {
	Action, Package, Test, Output string
	Elapsed                       float64
}

func main() {
	allowed, err := readAllowed("internal/verify/testsum/allowed-skips")
	if err != nil {
		fmt.Fprintln(os.Stderr, "testsum:", err)
		os.Exit(1)
	}
	var events io.Reader = os.Stdin
	if len(os.Args) > 1 {
		events = merge(os.Args[1:])
	}
	os.Exit(summarize(events, os.Stdout, allowed, os.Getenv("CI") != ""))
}

// summarize returns the exit status.
func summarize(r io.Reader, w io.Writer, allowed allowance, strict bool) int {
	var passed, failed, skipped int
	output := map[string][]string{}
	var skips, wrongs []string
	var suites conformance
	in := bufio.NewScanner(r)
	in.Buffer(make([]byte, 1<<20), 1<<26)
	for in.Scan() {
		var e event
		if json.Unmarshal(in.Bytes(), &e) != nil {
			fmt.Fprintln(w, in.Text()) // a compiler's message, say
			continue
		}
		key := e.Package + " " + e.Test
		suites.see(e, reason(output[key]))
		switch e.Action {
		case "output", "build-output":
			output[key] = append(output[key], e.Output)
			continue
		case "pass":
			if e.Test != "" {
				passed++
			} else {
				fmt.Fprintf(w, "ok   %s (%.1f s)\n", e.Package, e.Elapsed)
			}
		case "fail":
			if e.Test != "" {
				failed++
			} else if failed == 0 {
				failed++ // the package did not build, or ended outside a test
			}
			fmt.Fprintf(w, "FAIL %s\n%s", strings.TrimSpace(key), strings.Join(output[key], ""))
		case "build-fail":
			fmt.Fprintf(w, "FAIL build of %s\n%s", e.Package, strings.Join(output[key], ""))
		case "skip":
			if e.Test == "" {
				break
			}
			skipped++
			name := e.Package[strings.LastIndexByte(e.Package, '/')+1:] + "." + e.Test
			skips = append(skips, name+": "+reason(output[key]))
			if wrong, always := allowed.judge("/", name, reason(output[key])); wrong != "" && (strict || always) {
				wrongs = append(wrongs, fmt.Sprintf("%s: %s; it said: %s", name, wrong, reason(output[key])))
			}
		}
		delete(output, key)
	}
	if err := in.Err(); err != nil {
		fmt.Fprintln(w, "testsum:", err)
		return 1
	}
	for _, s := range skips {
		fmt.Fprintln(w, "skip", s)
	}
	suites.write(w)
	for _, wrong := range wrongs {
		fmt.Fprintln(w, "FAIL must not be skipped here:", wrong)
	}
	failed += len(wrongs)
	skipped -= len(wrongs)
	fmt.Fprintf(w, "%d passed, %d failed, %d skipped\n", passed, failed, skipped)
	if failed > 0 || passed == 0 {
		return 1
	}
	return 0
}

// reason finds what a test said when it skipped: the last it said.
func reason(lines []string) string {
	for _, l := range slices.Backward(lines) {
		if _, said, ok := strings.Cut(strings.TrimSpace(l), ".go:"); ok {
			if _, text, ok := strings.Cut(said, ": "); ok {
				return text
			}
		}
	}
	return "no reason given"
}
