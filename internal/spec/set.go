package spec

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tare/internal/bench"
)

// apply returns the tree with a "path=value" argument applied.
func apply(root *node, arg string) (*node, error) {
	at := Place{set: arg}
	path, value, ok := strings.Cut(arg, "=")
	path = strings.TrimSpace(path)
	if !ok || path == "" {
		return nil, at.Errorf("not of the form path=value%w", bench.Hint("such as --set timing.measure=10s"))
	}
	v, err := readValue(strings.TrimSpace(value))
	if err != nil {
		return nil, at.Errorf("value %q: %w", value, err)
	}
	changed, err := root.with(strings.Split(path, "."), v.movedTo(at), at)
	if err != nil {
		return nil, at.Error(err)
	}
	return changed, nil
}

// readValue reads an argument's value: a list, mapping or quoted text as YAML,
// anything else as a single value.
func readValue(text string) (*node, error) {
	if text == "" {
		return nil, fmt.Errorf("empty")
	}
	n, twice, err := readTree(&source{}, []byte(text))
	if len(twice) > 0 {
		return nil, twice[0].Err
	}
	switch {
	case err == nil && (n.kind == scalar || strings.ContainsAny(text[:1], "[{")):
		return n, nil
	case err != nil && strings.ContainsAny(text[:1], "[{\"'"):
		var e *Error
		if errors.As(err, &e) {
			return nil, e.Err
		}
		return nil, err
	}
	return &node{text: text, value: text}, nil
}

// with returns a tree in which the value at the path is v. An element of a list is given by its
// index from 0 or by its name. A missing key of a mapping is added. The reader later reports an
// unknown key.
func (n *node) with(path []string, v *node, at Place) (*node, error) {
	if len(path) == 0 {
		return v, nil
	}
	out := *n
	step, rest := path[0], path[1:]
	if step == "" {
		return nil, fmt.Errorf("the path has an empty step")
	}
	switch n.kind {
	case sequence:
		i, err := n.index(step)
		if err != nil {
			return nil, err
		}
		item, err := n.items[i].with(rest, v, at)
		if err != nil {
			return nil, err
		}
		out.items = slices.Clone(n.items)
		out.items[i] = item
		return &out, nil
	case mapping:
		i := slices.IndexFunc(n.entries, func(e entry) bool { return e.key == step })
		if i < 0 {
			value, err := (&node{kind: mapping, place: at}).with(rest, v, at)
			if err != nil {
				return nil, err
			}
			out.entries = append(slices.Clone(n.entries), entry{key: step, place: at, value: value})
			return &out, nil
		}
		value, err := n.entries[i].value.with(rest, v, at)
		if err != nil {
			return nil, err
		}
		out.entries = slices.Clone(n.entries)
		out.entries[i].value = value
		return &out, nil
	}
	return nil, fmt.Errorf("there is nothing below %s to set %q in", n.kindName(), step)
}

// index finds an element of a list by its index or its name.
func (n *node) index(step string) (int, error) {
	if i, err := strconv.Atoi(step); err == nil {
		if i < 0 || i >= len(n.items) {
			return 0, fmt.Errorf("no element %d: the list has %d, counted from 0", i, len(n.items))
		}
		return i, nil
	}
	var names []string
	for i, item := range n.items {
		name := item.get("name")
		if name == nil {
			continue
		}
		if name.text == step {
			return i, nil
		}
		names = append(names, name.text)
	}
	return 0, bench.UnknownWord("element", step, names)
}

// lookup returns the value at the path, or nil.
func (n *node) lookup(path []string) *node {
	for _, step := range path {
		switch n.kind {
		case mapping:
			n = n.get(step)
		case sequence:
			i, err := n.index(step)
			if err != nil {
				return nil
			}
			n = n.items[i]
		default:
			return nil
		}
		if n == nil {
			return nil
		}
	}
	return n
}

// movedTo returns a copy in which every value has the place.
func (n *node) movedTo(at Place) *node {
	out := *n
	out.place = at
	out.items = slices.Clone(n.items)
	for i, item := range out.items {
		out.items[i] = item.movedTo(at)
	}
	out.entries = slices.Clone(n.entries)
	for i, e := range out.entries {
		out.entries[i] = entry{key: e.key, place: at, value: e.value.movedTo(at)}
	}
	return &out
}
