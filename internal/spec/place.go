package spec

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"tare/internal/bench"
)

// A Place is where something was written: a stretch of a line of the file, or a --set argument. It
// outlives the parse, so later errors (a shape larger than the host) still point at the words that
// caused them.
type Place struct {
	src          *source
	line, column int    // from 1, columns in characters; 0 for an argument
	width        int    // characters
	set          string // the --set argument, if it was written there
}

// source is a file's name and text, for excerpts.
type source struct {
	name  string
	lines []string
}

func newSource(name string, text []byte) *source {
	return &source{name: name, lines: strings.Split(string(text), "\n")}
}

// String returns "file:line:column", or the --set argument.
func (p Place) String() string {
	switch {
	case p.set != "":
		return "--set " + p.set
	case p.src == nil:
		return ""
	case p.line == 0:
		return p.src.name
	}
	return fmt.Sprintf("%s:%d:%d", p.src.name, p.line, p.column)
}

// maxExcerpt is how many characters of a long line are shown.
const maxExcerpt = 160

// excerpt returns the line of the place with a caret below, or "" if there is no line. It keeps
// tabs in the margin, so that the caret is in the right column.
func (p Place) excerpt() string {
	if p.src == nil || p.line < 1 || p.line > len(p.src.lines) {
		return ""
	}
	line := []rune(strings.TrimRight(p.src.lines[p.line-1], "\r"))
	from := min(max(p.column-1, 0), len(line))
	if len(line) > maxExcerpt { // a window around the place
		start := min(max(from-maxExcerpt/2, 0), len(line)-maxExcerpt)
		line, from = line[start:start+maxExcerpt], from-start
	}
	width := min(max(p.width, 1), max(len(line)-from, 1))
	margin := strings.Map(func(r rune) rune {
		if r == '\t' {
			return r
		}
		return ' '
	}, string(line[:from]))
	number := fmt.Sprint(p.line)
	return fmt.Sprintf("  %s | %s\n  %*s | %s%s", number, string(line), len(number), "", margin, strings.Repeat("^", width))
}

// within narrows the place of a text to a stretch of it, if the file has the text literally.
func (p Place) within(text string, s span) Place {
	if p.src == nil || p.line < 1 || p.line > len(p.src.lines) {
		return p
	}
	line := []rune(p.src.lines[p.line-1])
	if from := p.column - 1; from > len(line) || !strings.HasPrefix(string(line[from:]), text) {
		return p
	}
	p.column += utf8.RuneCountInString(text[:s.from])
	p.width = utf8.RuneCountInString(text[s.from:s.to])
	return p
}

// Error returns err with the place. The result wraps err and bench.ErrInvalid.
func (p Place) Error(err error) *Error { return &Error{Place: p, Err: err} }

// Errorf is Error with a message. A wrapped hint is kept.
func (p Place) Errorf(format string, args ...any) *Error {
	return p.Error(fmt.Errorf(format, args...))
}

// Places maps paths such as "shape.memory" to where they were written; "" is the whole.
type Places map[string]Place

// At returns the place of the path, or that of its nearest parent with one.
func (p Places) At(path string) Place {
	for {
		if at, ok := p[path]; ok {
			return at
		}
		if path == "" {
			return Place{}
		}
		path = path[:max(strings.LastIndexByte(path, '.'), 0)]
	}
}

// Error is an error in a specification and its place.
type Error struct {
	Place Place
	Err   error
}

// Error returns place, message and excerpt. bench.HintOf returns the hint.
func (e *Error) Error() string {
	text := strings.TrimSuffix(bench.Reason(e.Err), ": ")
	if at := e.Place.String(); at != "" {
		text = at + ": " + text
	}
	if x := e.Place.excerpt(); x != "" {
		text += "\n" + x
	}
	return text
}

func (e *Error) Unwrap() []error { return []error{e.Err, bench.ErrInvalid} }

// Errors are all errors found in one specification, in the order of the file. Print them with
// [Errors.Text], which adds each error's hint.
type Errors []*Error

// Error returns all messages without the hints.
func (e Errors) Error() string {
	texts := make([]string, len(e))
	for i, one := range e {
		texts[i] = one.Error()
	}
	return strings.Join(texts, "\n")
}

// Text returns all messages, each followed by its hint on a separate line.
func (e Errors) Text() string {
	var b strings.Builder
	for i, one := range e {
		if i == maxSaid {
			fmt.Fprintf(&b, "and %d more\n", len(e)-i)
			break
		}
		b.WriteString(one.Error() + "\n")
		if h := bench.HintOf(one); h != "" {
			b.WriteString("  hint: " + h + "\n")
		}
	}
	return b.String()
}

// With adds further errors in the order of the file. It leaves out those about places that have an
// error already.
func (e Errors) With(more Errors) Errors {
	all := slices.Clone(e)
	for _, one := range more {
		if !slices.ContainsFunc(e, func(have *Error) bool { return have.Place == one.Place }) {
			all = append(all, one)
		}
	}
	return all.Sorted()
}

func (e Errors) Unwrap() []error {
	all := make([]error, len(e))
	for i, one := range e {
		all[i] = one
	}
	return all
}

// Sorted puts the errors in the order of the file, arguments last, and drops repeats. Repeats occur
// because a scene is read once for each combination of its factors.
func (e Errors) Sorted() Errors {
	slices.SortStableFunc(e, func(a, b *Error) int {
		if c := strings.Compare(a.Place.set, b.Place.set); c != 0 {
			return c
		}
		if c := a.Place.line - b.Place.line; c != 0 {
			return c
		}
		return a.Place.column - b.Place.column
	})
	seen := map[string]bool{}
	return slices.DeleteFunc(e, func(one *Error) bool {
		text := one.Error()
		again := seen[text]
		seen[text] = true
		return again
	})
}
