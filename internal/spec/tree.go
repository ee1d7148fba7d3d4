package spec

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"tare/internal/bench"
)

// Limits of a file. Specifications are written by hand and stay far below. The limits keep a
// hostile file from filling the memory.
const (
	MaxText  = 64 << 10 // bytes
	maxNodes = 20_000   // aliases expanded
	maxDepth = 200
	maxWords = 1000 // platforms in one list

	maxPlatform = 1 << 10 // bytes of one platform with its options and outer platforms
	maxSaid     = 100     // errors that are printed
	maxTwice    = 20      // keys that are given twice, before the reading ends
)

type kind int

const (
	scalar kind = iota
	null
	mapping
	sequence
)

// node is a YAML value reduced to what a specification needs, with its place. Nodes are shared
// between trees and never changed once built.
type node struct {
	kind    kind
	text    string // of a scalar, as written, without quotes
	value   any    // of a scalar, as YAML types it: string, int64, uint64, float64, bool
	entries []entry
	items   []*node
	place   Place
}

type entry struct {
	key   string
	place Place
	value *node
	word  any // the key as YAML types it; nil of one that was set
}

// get returns the value of a mapping's key, or nil.
func (n *node) get(key string) *node {
	if i := slices.IndexFunc(n.entries, func(e entry) bool { return e.key == key }); i >= 0 {
		return n.entries[i].value
	}
	return nil
}

// kindName describes the node for messages.
func (n *node) kindName() string {
	switch empty := len(n.entries) == 0 && len(n.items) == 0; {
	case n.kind == null:
		return "nothing"
	case n.kind == mapping && empty:
		return "an empty mapping"
	case n.kind == sequence && empty:
		return "an empty list"
	case n.kind == mapping:
		return "a mapping"
	case n.kind == sequence:
		return "a list"
	}
	const most = 60 // characters; the excerpt shows the rest
	if text := []rune(n.text); len(text) > most {
		return fmt.Sprintf("%q and so on", string(text[:most]))
	}
	return fmt.Sprintf("%q", n.text)
}

// json returns the value as JSON text, with keys in the order of the file.
func (n *node) json() (string, error) {
	parts := []string{}
	switch n.kind {
	case null:
		return "null", nil
	case sequence:
		for _, item := range n.items {
			t, err := item.json()
			if err != nil {
				return "", err
			}
			parts = append(parts, t)
		}
		return "[" + strings.Join(parts, ",") + "]", nil
	case mapping:
		for _, e := range n.entries {
			t, err := e.value.json()
			if err != nil {
				return "", err
			}
			k, err := json.Marshal(e.key)
			if err != nil {
				return "", fmt.Errorf("key %q: %w", e.key, err)
			}
			parts = append(parts, string(k)+":"+t)
		}
		return "{" + strings.Join(parts, ",") + "}", nil
	}
	t, err := json.Marshal(n.value)
	if err != nil {
		return "", n.place.Errorf("%q: %w", n.text, err)
	}
	return string(t), nil
}

// readTree reads YAML text. Keys that are given twice are told beside the tree, which has the first.
// Every error it returns is an *Error.
func readTree(src *source, text []byte) (root *node, twice Errors, err error) {
	whole := Place{src: src}
	if len(text) > MaxText {
		return nil, nil, whole.Errorf("too long: more than %d bytes", MaxText)
	}
	if !utf8.Valid(text) {
		return nil, nil, whole.Errorf("not UTF-8 text")
	}
	// The YAML library may panic. Input that makes it panic counts as invalid.
	defer func() {
		if r := recover(); r != nil {
			root, twice, err = nil, nil, whole.Errorf("cannot be read as YAML: %v", r)
		}
	}()
	tokens := lexer.Tokenize(string(text))
	if t := tooDeep(tokens); t != nil {
		return nil, nil, placeOfToken(src, t).Errorf("nested more than %d deep", maxDepth)
	}
	file, err := parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		return nil, nil, syntaxError(src, tokens, err)
	}
	docs := slices.DeleteFunc(file.Docs, func(d *ast.DocumentNode) bool { return d.Body == nil })
	if len(docs) == 0 {
		return nil, nil, whole.Errorf("empty: nothing to run%w", bench.Hint("start from a built-in experiment: tare list experiments"))
	}
	if len(docs) > 1 {
		at := placeOf(src, docs[1].Body)
		return nil, nil, at.Errorf("a second document: one file holds one experiment")
	}
	b := builder{src: src, anchors: map[string]*node{}}
	root, err = b.build(docs[0].Body, 0)
	return root, b.twice, err
}

// tooDeep returns the first token that nests brackets, or lists within a line, too deeply. The
// parser's time and memory grow with the square of the depth: 64 KiB of brackets take 16 s and 6
// GB.
func tooDeep(tokens token.Tokens) *token.Token {
	brackets, entries, line := 0, 0, 0
	for _, t := range tokens {
		switch t.Type {
		case token.SequenceStartType, token.MappingStartType:
			brackets++
		case token.SequenceEndType, token.MappingEndType:
			brackets = max(brackets-1, 0)
		case token.SequenceEntryType, token.MappingKeyType: // "- - - ..." and "? ? ? ..."
			if t.Position.Line != line {
				entries, line = 0, t.Position.Line
			}
			entries++
		}
		if brackets > maxDepth || entries > maxDepth {
			return t
		}
	}
	return nil
}

// syntaxError converts the library's error to ours.
func syntaxError(src *source, tokens token.Tokens, err error) *Error {
	var found yaml.Error
	if !errors.As(err, &found) || found.GetToken() == nil || found.GetToken().Position == nil {
		return Place{src: src}.Errorf("not YAML: %w", err)
	}
	pos := found.GetToken().Position
	at := Place{src: src, line: pos.Line, column: pos.Column, width: 1}
	if open := quotedUpTo(tokens, pos.Line); open != nil {
		return Place{src: src, line: open.Position.Line, column: open.Position.Column, width: 1}.Errorf("not YAML: this quote is closed only in line %d%w", pos.Line,
			bench.Hint(fmt.Sprintf("close it where the text ends; what follows in line %d is read as outside of it: %s", pos.Line, strings.TrimSpace(found.GetMessage()))))
	}
	hint := bench.Hint("")
	if at.line <= len(src.lines) {
		switch line := src.lines[at.line-1]; {
		case strings.Contains(line, "platforms:") && strings.Contains(line, "["):
			hint = "inside [ ] write a platform with options as docker: {net: host}, or drop the outer brackets: platforms: native, docker[net=host]"
		case strings.HasPrefix(strings.TrimLeft(line, " "), "\t"):
			hint = "indent with spaces, not tabs"
		case strings.HasSuffix(before(line, at.column), "'"):
			hint = "within single quotes an apostrophe is written twice, or put the text in double quotes"
		}
	}
	return at.Errorf("not YAML: %s%w", strings.TrimSpace(found.GetMessage()), hint)
}

// before is what stands in a line before a column.
func before(line string, column int) string {
	all := []rune(line)
	return string(all[:min(max(column-1, 0), len(all))])
}

// quotedUpTo is the quoted text of several lines that ends in a line; nil if there is none.
func quotedUpTo(tokens token.Tokens, line int) *token.Token {
	for _, t := range tokens {
		if t.Type != token.SingleQuoteType && t.Type != token.DoubleQuoteType {
			continue
		}
		if n := strings.Count(strings.TrimSpace(t.Origin), "\n"); n > 0 && t.Position.Line+n == line {
			return t
		}
	}
	return nil
}

type builder struct {
	src     *source
	anchors map[string]*node
	nodes   int
	twice   Errors
}

func placeOf(src *source, n ast.Node) Place {
	t := n.GetToken()
	if m, ok := n.(*ast.MappingNode); ok && !m.IsFlowStyle && len(m.Values) > 0 {
		t = m.Values[0].Key.GetToken() // the token of a block mapping is its first colon
	}
	return placeOfToken(src, t)
}

func placeOfToken(src *source, t *token.Token) Place {
	if t == nil || t.Position == nil {
		return Place{src: src}
	}
	width := utf8.RuneCountInString(strings.TrimSpace(t.Origin))
	return Place{src: src, line: t.Position.Line, column: t.Position.Column, width: width}
}

func (b *builder) build(n ast.Node, depth int) (*node, error) {
	at := placeOf(b.src, n)
	if b.nodes++; b.nodes > maxNodes || depth > maxDepth {
		return nil, at.Errorf("too much here: at most %d values, nested %d deep", maxNodes, maxDepth)
	}
	switch n := n.(type) {
	case *ast.MappingNode:
		return b.mapping(at, n.Values, depth)
	case *ast.MappingValueNode:
		return b.mapping(placeOf(b.src, n.Key), []*ast.MappingValueNode{n}, depth)
	case *ast.SequenceNode:
		out := &node{kind: sequence, place: at}
		for _, v := range n.Values {
			item, err := b.build(v, depth+1)
			if err != nil {
				return nil, err
			}
			out.items = append(out.items, item)
		}
		return out, nil
	case *ast.NullNode:
		return &node{kind: null, text: "null", place: at}, nil
	case *ast.StringNode:
		if i := strings.IndexFunc(n.Value, func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }); i >= 0 {
			return nil, at.Errorf("%.80q has a control character", n.Value)
		}
		return &node{text: n.Value, value: n.Value, place: at}, nil
	case *ast.LiteralNode:
		return &node{text: n.Value.Value, value: n.Value.Value, place: at}, nil
	case *ast.AnchorNode:
		inner, err := b.build(n.Value, depth+1)
		if err != nil {
			return nil, err
		}
		b.anchors[n.Name.GetToken().Value] = inner
		return inner, nil
	case *ast.AliasNode:
		name := n.Value.GetToken().Value
		target, ok := b.anchors[name]
		if !ok {
			return nil, at.Errorf("*%s: no &%s before it", name, name)
		}
		if b.nodes += target.size(); b.nodes > maxNodes {
			return nil, at.Errorf("too much here: at most %d values, aliases expanded", maxNodes)
		}
		return target, nil
	case *ast.IntegerNode:
		return &node{text: n.Token.Value, value: n.Value, place: at}, nil
	case *ast.FloatNode:
		return &node{text: n.Token.Value, value: n.Value, place: at}, nil
	case *ast.BoolNode:
		return &node{text: n.Token.Value, value: n.Value, place: at}, nil
	}
	if _, merge := n.(*ast.MergeKeyNode); merge {
		return nil, at.Errorf("<< is not used in specifications%w", bench.Hint("name a whole value with &name and repeat it with *name"))
	}
	return nil, at.Errorf("a %s is not used in specifications", strings.ToLower(n.Type().String()))
}

func (b *builder) mapping(at Place, values []*ast.MappingValueNode, depth int) (*node, error) {
	out := &node{kind: mapping, place: at}
	told := map[string]bool{}
	for _, v := range values {
		at := placeOf(b.src, v.Key)
		key, err := b.build(v.Key, depth+1)
		if err != nil {
			return nil, err
		}
		if key.kind != scalar {
			return nil, at.Errorf("a key must be a word, not %s", key.kindName())
		}
		if out.get(key.text) != nil {
			if !told[key.text] {
				told[key.text] = true
				b.twice = append(b.twice, at.Errorf("%q is given twice", key.text))
			}
			if len(b.twice) > maxTwice {
				return nil, at.Errorf("%d keys are given twice; no further is read", len(b.twice))
			}
			continue
		}
		value, err := b.build(v.Value, depth+1)
		if err != nil {
			return nil, err
		}
		if value.kind == null {
			value = &node{kind: null, text: "null", place: at}
		}
		out.entries = append(out.entries, entry{key: key.text, place: at, value: value, word: key.value})
	}
	return out, nil
}

// size returns the number of values in and below n.
func (n *node) size() int {
	total := 1
	for _, i := range n.items {
		total += i.size()
	}
	for _, e := range n.entries {
		total += e.value.size()
	}
	return total
}
