package workload

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"tare/internal/bench"
)

// quoteLimit is how much of an output an error quotes.
const quoteLimit = 300

// finished returns an error unless the program ended by itself with status 0
// and all its output was kept. The error quotes the end of what it printed.
func finished(program string, out bench.Output) error {
	switch {
	case out.TimedOut:
		return fmt.Errorf("%s: killed at its deadline after %v: %s", program, out.Wall, lastWords(out))
	case out.Signal != "":
		return fmt.Errorf("%s: ended by signal %s: %s", program, out.Signal, lastWords(out))
	case out.Exit != 0:
		return fmt.Errorf("%s: exit status %d: %s", program, out.Exit, lastWords(out))
	case out.Truncated:
		return fmt.Errorf("%s: printed more than is kept: %s", program, lastWords(out))
	}
	return nil
}

// lastWords quotes the end of the standard error, or of the standard output
// where there is none: what a program prints last says why it failed.
func lastWords(out bench.Output) string {
	text := strings.TrimSpace(string(out.Stderr))
	if text == "" {
		text = strings.TrimSpace(string(out.Stdout))
	}
	if text == "" {
		return "it printed nothing"
	}
	if len(text) > quoteLimit {
		text = text[len(text)-quoteLimit:]
		for len(text) > 0 && !utf8.RuneStart(text[0]) {
			text = text[1:]
		}
		return "it printed last " + strconv.Quote(text)
	}
	return "it printed " + strconv.Quote(text)
}

// excerpt quotes the beginning of text.
func excerpt(text []byte) string {
	t := strings.TrimSpace(string(text))
	if t == "" {
		return "nothing"
	}
	if len(t) > quoteLimit {
		cut := quoteLimit
		for cut > 0 && !utf8.RuneStart(t[cut]) {
			cut--
		}
		return strconv.Quote(t[:cut]) + "..."
	}
	return strconv.Quote(t)
}

// number reads a finite number; the error quotes what did not parse.
func number(text string) (float64, error) {
	f, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
		return 0, fmt.Errorf("%q: not a number", text)
	}
	return f, nil
}

// positive reads a number above zero: no quantity measured here can be zero.
func positive(text string) (float64, error) {
	f, err := number(text)
	if err != nil {
		return 0, err
	}
	if f <= 0 {
		return 0, fmt.Errorf("%q: not above zero", text)
	}
	return f, nil
}

// errMissing says that a line that must be there is not.
var errMissing = errors.New("not found")
