package workload

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sort"
	"strconv"
	"strings"
)

// A jsonPath leads to one value in a JSON text: keys separated by dots and list
// positions from 0 in brackets, such as jobs[0].read.iops. A key that holds a
// dot or a bracket is written in brackets and quotes: percentile["99.0"].
type jsonPath []jsonStep

type jsonStep struct {
	key   string
	index int
	list  bool // index is meant, not key
}

func (s jsonStep) String() string {
	if s.list {
		return "[" + strconv.Itoa(s.index) + "]"
	}
	if s.key == "" || strings.ContainsAny(s.key, ".[]\"") {
		return "[" + strconv.Quote(s.key) + "]"
	}
	return "." + s.key
}

func (p jsonPath) String() string {
	var b strings.Builder
	for _, s := range p {
		b.WriteString(s.String())
	}
	return strings.TrimPrefix(b.String(), ".")
}

// parseJSONPath reads a path.
func parseJSONPath(text string) (jsonPath, error) {
	var path jsonPath
	rest := text
	for rest != "" {
		if rest[0] == '[' {
			step, after, err := parseBracket(rest)
			if err != nil {
				return nil, fmt.Errorf("path %q: %w", text, err)
			}
			path, rest = append(path, step), after
			continue
		}
		if len(path) > 0 {
			if rest[0] != '.' {
				return nil, fmt.Errorf("path %q: expected a dot or a bracket at %q", text, rest)
			}
			rest = rest[1:]
		}
		end := strings.IndexAny(rest, ".[")
		if end < 0 {
			end = len(rest)
		}
		key := rest[:end]
		if key == "" {
			return nil, fmt.Errorf("path %q: a key is empty", text)
		}
		if strings.ContainsAny(key, "]\"") {
			return nil, fmt.Errorf("path %q: key %q needs brackets and quotes", text, key)
		}
		path, rest = append(path, jsonStep{key: key}), rest[end:]
	}
	if len(path) == 0 {
		return nil, errors.New("path: empty")
	}
	return path, nil
}

// parseBracket reads [0] or ["key"] at the beginning of text.
func parseBracket(text string) (jsonStep, string, error) {
	if strings.HasPrefix(text, "[\"") {
		quoted, err := strconv.QuotedPrefix(text[1:])
		if err != nil {
			return jsonStep{}, "", fmt.Errorf("no closing quote in %q", text)
		}
		key, err := strconv.Unquote(quoted)
		if err != nil {
			return jsonStep{}, "", fmt.Errorf("%s: %w", quoted, err)
		}
		after, ok := strings.CutPrefix(text[1+len(quoted):], "]")
		if !ok {
			return jsonStep{}, "", fmt.Errorf("no closing bracket in %q", text)
		}
		return jsonStep{key: key}, after, nil
	}
	inside, after, ok := strings.Cut(text[1:], "]")
	if !ok {
		return jsonStep{}, "", fmt.Errorf("no closing bracket in %q", text)
	}
	index, err := strconv.ParseUint(inside, 10, 31)
	if err != nil {
		return jsonStep{}, "", fmt.Errorf("[%s]: not a position from 0", inside)
	}
	return jsonStep{index: int(index), list: true}, after, nil
}

// number returns the number the path leads to in text. Where the path ends
// early, the error names the deepest place that exists and what is there.
func (p jsonPath) number(text []byte) (float64, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var node any
	if err := d.Decode(&node); err != nil {
		return 0, fmt.Errorf("not JSON (%w): %s", err, excerpt(text))
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return 0, fmt.Errorf("more than one JSON value: %s", excerpt(text))
	}
	for i, step := range p {
		next, ok := step.into(node)
		if !ok {
			return 0, fmt.Errorf("%s: not there; %s in %s", p, describe(p[:i], node), excerpt(text))
		}
		node = next
	}
	n, ok := node.(json.Number)
	if !ok {
		value, err := json.Marshal(node)
		if err != nil {
			return 0, fmt.Errorf("%s: not a number: %w", p, err)
		}
		return 0, fmt.Errorf("%s: not a number: %s", p, excerpt(value))
	}
	v, err := number(n.String())
	if err != nil {
		return 0, fmt.Errorf("%s: %w", p, err)
	}
	return v, nil
}

func (s jsonStep) into(node any) (any, bool) {
	if s.list {
		list, ok := node.([]any)
		if !ok || s.index >= len(list) {
			return nil, false
		}
		return list[s.index], true
	}
	object, ok := node.(map[string]any)
	if !ok {
		return nil, false
	}
	next, ok := object[s.key]
	return next, ok
}

// describe says what lies at the end of the part of a path that exists.
func describe(at jsonPath, node any) string {
	where := "the whole"
	if len(at) > 0 {
		where = at.String()
	}
	switch v := node.(type) {
	case map[string]any:
		keys := make([]string, 0, len(v))
		for k := range v {
			keys = append(keys, k)
		}
		sort.Strings(keys)
		const most = 12
		if len(keys) > most {
			keys = append(keys[:most], "...")
		}
		return fmt.Sprintf("%s has the keys %s", where, strings.Join(keys, ", "))
	case []any:
		return fmt.Sprintf("%s is a list of %d", where, len(v))
	}
	return fmt.Sprintf("%s is %v", where, node)
}
