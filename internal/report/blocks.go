package report

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"unicode/utf8"
)

// block is a part of a text for a terminal.
type block interface{ write(io.Writer) }

// writeBlocks writes a text from its beginning to its end.
func writeBlocks(w io.Writer, doc []block) error {
	out := bufio.NewWriter(Plain(w))
	for _, b := range doc {
		b.write(out)
	}
	return out.Flush()
}

// blank is an empty line.
var blank = text{}

// text is running text in lines of textWidth, the first after first and the
// others after indent. A line break in it is kept; a control character, which
// could drive the terminal, is not.
type text struct{ first, indent, words string }

// textWidth is the column at which running text is wrapped.
const textWidth = 120

func (t text) write(out io.Writer) { t.wrap(out, textWidth) }

// wrap writes the text in lines of a width.
func (t text) wrap(out io.Writer, width int) {
	lead := t.first
	for _, part := range strings.Split(strings.TrimSpace(t.words), "\n") {
		line := lead
		empty := true
		for _, word := range strings.Fields(printable(part)) {
			if !empty && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > width {
				fmt.Fprintln(out, line)
				line, empty = t.indent, true
			}
			if !empty {
				line += " "
			}
			line, empty = line+word, false
		}
		fmt.Fprintln(out, strings.TrimRight(line, " "))
		lead = t.indent
	}
}

// said are paragraphs, each indented.
type said []string

func (s said) write(out io.Writer) {
	for _, words := range s {
		text{"  ", "  ", words}.write(out)
	}
}

// listed are the points of a list.
type listed []string

func (l listed) write(out io.Writer) {
	for _, words := range l {
		text{"  - ", "    ", words}.write(out)
	}
}

// lines are written as they are.
type lines []string

func (l lines) write(out io.Writer) {
	for _, line := range l {
		fmt.Fprintln(out, printable(line))
	}
}

// table sets rows in columns, indented. Without rows it is nothing.
type table[T any] struct {
	rows    []T
	columns []column[T]
	// group, if not nil, are the cells of a line before each run of rows of which it
	// says the same.
	group func(T) []string
}

// column is a column of a table; a table whose columns have no heads has no such line.
type column[T any] struct {
	head string
	cell func(T) string
}

// cellsUnder are the columns of rows that are written already.
func cellsUnder(heads []string) []column[[]string] {
	columns := make([]column[[]string], len(heads))
	for i, head := range heads {
		columns[i] = column[[]string]{head, func(cells []string) string { return cells[i] }}
	}
	return columns
}

func (t table[T]) write(out io.Writer) {
	if len(t.rows) == 0 {
		return
	}
	var set bytes.Buffer
	w := tabwriter.NewWriter(&set, 0, 0, 2, ' ', 0)
	line := func(cells []string) {
		for i, c := range cells {
			cells[i] = printable(strings.ReplaceAll(c, "\n", " "))
		}
		fmt.Fprintln(w, "  "+strings.Join(cells, "\t"))
	}
	heads := make([]string, len(t.columns))
	for i, c := range t.columns {
		heads[i] = c.head
	}
	if strings.Join(heads, "") != "" {
		line(heads)
	}
	var last []string
	for _, row := range t.rows {
		if t.group != nil {
			if of := t.group(row); !slices.Equal(of, last) {
				last = slices.Clone(of)
				line(of)
			}
		}
		cells := make([]string, len(t.columns))
		for i, c := range t.columns {
			cells[i] = c.cell(row)
		}
		line(cells)
	}
	w.Flush()
	for line := range strings.Lines(set.String()) {
		fmt.Fprintln(out, strings.TrimRight(line, " \n"))
	}
}

// printable replaces control characters.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\t':
			return ' '
		case r < ' ', r >= 0x7f && r < 0xa0:
			return '\ufffd'
		}
		return r
	}, s)
}
