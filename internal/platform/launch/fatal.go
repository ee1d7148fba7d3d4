package launch

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"unicode"
)

// Fatal is the error of an instance whose kernel, hypervisor or runtime said that
// it cannot go on. The process on the host may stay and say nothing more.
type Fatal struct {
	Who  string // "the guest's kernel panicked"
	Line string // what it said
	Why  string // the cause it named beside that line; "" for none
}

// Error quotes what was said.
func (f *Fatal) Error() string {
	if f.Why == "" {
		return fmt.Sprintf("%s: %s", f.Who, f.Line)
	}
	return fmt.Sprintf("%s: %s (%s)", f.Who, f.Line, f.Why)
}

// lastWords are the lines after which nothing inside goes on, without what
// printk puts before them.
var lastWords = []struct {
	who  string
	line *regexp.Regexp
	next bool // the cause is in the next line
}{
	{"the guest's kernel panicked", regexp.MustCompile(`^Kernel panic - not syncing`), false},
	// QEMU stops the virtual machine and stays.
	{"KVM cannot run the guest", regexp.MustCompile(`^KVM internal error\. Suberror: \d+`), false},
	{"the hypervisor panicked", regexp.MustCompile(`^\(XEN\) Panic on CPU \d+:`), true},
	// runsc's words for what it was asked to do, before what kept it from that.
	{"the runtime gave up", regexp.MustCompile(`^(running|creating|starting) container: `), false},
	// A program written in Go, such as a runtime, a sandbox or the agent.
	{"a program of the platform crashed", regexp.MustCompile(`^(panic|fatal error|SIG(?:SEGV|BUS|ABRT|ILL|FPE|SYS)): `), false},
}

// causes are lines of User-mode Linux about its host, which a panic may follow.
var causes = regexp.MustCompile(`^[a-z_]+ - .*errno = \d+`)

// printed is what precedes the text of a line: the time, and who said it.
var printed = regexp.MustCompile(`^(?:<\d>)?(?:\[ *\d+\.\d+\](?:\[ *[TC]\d+\])? )?`)

// maxLine bounds what is looked at of a line, in bytes.
const maxLine = 1 << 10

// Recogniser looks for last words in what is written to it, in pieces of any size. The zero value is ready.
type Recogniser struct {
	part  []byte // a line whose end is yet to come
	why   string // the last cause
	wants bool   // the next line is the cause of found
	found *Fatal
}

// Write implements [io.Writer]. It never fails.
func (r *Recogniser) Write(p []byte) (int, error) {
	n := len(p)
	for len(p) > 0 {
		line, rest, whole := bytes.Cut(p, []byte("\n"))
		r.part = append(r.part, line[:min(len(line), maxLine-len(r.part))]...)
		if !whole {
			break
		}
		r.line(string(r.part))
		r.part, p = r.part[:0], rest
	}
	return n, nil
}

// end returns what was found, a line without an end among it.
func (r *Recogniser) end() *Fatal {
	r.line(string(r.part))
	r.part = r.part[:0]
	r.wants = false
	return r.found
}

// complete reports whether something was found and no more is to be read of it.
func (r *Recogniser) complete() bool { return r.found != nil && !r.wants }

// Found returns the last words, nil for none so far.
func (r *Recogniser) Found() *Fatal {
	if r.complete() {
		return r.found
	}
	return nil
}

// shown replaces what could drive a terminal, or is not text.
func shown(c rune) rune {
	if unicode.IsPrint(c) {
		return c
	}
	return '?'
}

func (r *Recogniser) line(text string) {
	text = strings.TrimRight(text, "\r ")
	text = strings.Map(shown, text[len(printed.FindString(text)):])
	if r.wants {
		r.found.Why, r.wants = strings.TrimPrefix(text, "(XEN) "), false
	}
	if r.found != nil {
		return
	}
	if causes.MatchString(text) {
		r.why = text
	}
	for _, l := range lastWords {
		if l.line.MatchString(text) {
			r.found, r.wants = &Fatal{Who: l.who, Line: text, Why: r.why}, l.next
			return
		}
	}
}
