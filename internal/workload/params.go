package workload

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"tare/internal/bench"
)

// ParamError says which parameter of a workload cannot be used, so that a
// specification can point at its line. It wraps bench.ErrInvalid.
type ParamError struct {
	Workload string
	Param    string
	Err      error
}

func (e *ParamError) Error() string {
	return fmt.Sprintf("%s: parameter %q: %v", e.Workload, e.Param, e.Err)
}

// Unwrap makes both the cause (with its hint) and bench.ErrInvalid visible.
func (e *ParamError) Unwrap() []error { return []error{e.Err, bench.ErrInvalid} }

// ParamName is the parameter's name, for package spec.
func (e *ParamError) ParamName() string { return e.Param }

// valueError says which value of a parameter of the JSON kind cannot be used.
type valueError struct {
	path string // within the parameter, such as "1.better"
	err  error
}

func (e *valueError) Error() string { return e.err.Error() }
func (e *valueError) Unwrap() error { return e.err }

// ValuePath is where in the parameter the value is, for package spec.
func (e *valueError) ValuePath() string { return e.path }

// Fill checks the parameters as written and returns them in canonical form with
// every default filled in: sizes in bytes, durations as time.Duration writes
// them, lists and maps as compact JSON. A parameter that is neither given nor
// has a default is left out. The error is a *ParamError where one parameter is at
// fault, and joins several where several are.
func Fill(w bench.Workload, given bench.Params) (bench.Params, error) {
	known := make(map[string]bench.Param)
	var names []string
	for _, p := range w.Params() {
		known[p.Name] = p
		names = append(names, p.Name)
	}
	written := make([]string, 0, len(given))
	for name := range given {
		written = append(written, name)
	}
	sort.Strings(written)
	var faults []error
	fault := func(name string, err error) { faults = append(faults, &ParamError{w.Name(), name, err}) }
	for _, name := range written {
		if _, ok := known[name]; !ok {
			fault(name, fmt.Errorf("unknown%s%w", bench.DidYouMean(name, names), bench.OneOf(names)))
		}
	}
	filled := make(bench.Params)
	for _, name := range names {
		p := known[name]
		text, ok := given[name]
		if !ok {
			if p.Required {
				fault(name, fmt.Errorf("required and not given%w", bench.Hint(p.Doc)))
			}
			if p.Required || p.Default == "" {
				continue
			}
			text = p.Default
		}
		value, err := canonical(p, text)
		if err != nil {
			fault(name, err)
			value = p.Default
		}
		filled[name] = value
	}
	// Parameters that only make sense together are judged by the workload, and so is what is within
	// lists and maps. The latter stand for themselves and are judged beside other faults, too.
	sound := len(faults) == 0
	_, err := w.Metrics(filled)
	for _, one := range each(err) {
		pe, named := one.(*ParamError)
		switch {
		case sound && !named:
			return nil, fmt.Errorf("%s: %w", w.Name(), err)
		case sound, named && given[pe.Param] != "" && known[pe.Param].Kind == bench.KindJSON && filled[pe.Param] != "":
			faults = append(faults, one)
		}
	}
	switch len(faults) {
	case 0:
		return filled, nil
	case 1:
		return nil, faults[0]
	}
	return nil, errors.Join(faults...)
}

// each are the errors about parameters that one joins, or the error itself.
func each(err error) []error {
	if err == nil {
		return nil
	}
	joined, ok := err.(interface{ Unwrap() []error })
	about := func(e error) bool { _, ok := e.(*ParamError); return ok }
	if !ok || about(err) || slices.ContainsFunc(joined.Unwrap(), func(e error) bool { return !about(e) }) {
		return []error{err}
	}
	return joined.Unwrap()
}

// canonical checks text against the parameter's kind and limits.
func canonical(p bench.Param, text string) (string, error) {
	switch p.Kind {
	case bench.KindInt:
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return "", fmt.Errorf("%q: not a whole number", text)
		}
		return strconv.FormatInt(n, 10), limited(p, text, float64(n), plainNumber)
	case bench.KindFloat:
		f, err := strconv.ParseFloat(text, 64)
		if err != nil || math.IsInf(f, 0) || math.IsNaN(f) {
			return "", fmt.Errorf("%q: not a number", text)
		}
		return plainNumber(f), limited(p, text, f, plainNumber)
	case bench.KindSize:
		b, err := bench.ParseBytes(text)
		if err != nil {
			return "", err
		}
		return strconv.FormatInt(int64(b), 10), limited(p, text, float64(b), func(f float64) string { return bench.Bytes(f).String() })
	case bench.KindDuration:
		d, err := time.ParseDuration(text)
		if err != nil {
			return "", fmt.Errorf("%q: not a duration%w", text, bench.Hint("write it like 500ms, 10s or 2m"))
		}
		if d < 0 {
			return "", fmt.Errorf("%q: must not be negative", text)
		}
		return d.String(), nil
	case bench.KindWord:
		if !slices.Contains(p.Words, text) {
			return "", fmt.Errorf("%q: not one of %s%s", text, strings.Join(p.Words, ", "), bench.DidYouMean(text, p.Words))
		}
		return text, nil
	case bench.KindString:
		if strings.ContainsRune(text, 0) {
			return "", fmt.Errorf("%q: contains a zero byte", text)
		}
		return text, nil
	case bench.KindJSON:
		var b bytes.Buffer
		if err := json.Compact(&b, []byte(text)); err != nil {
			return "", fmt.Errorf("%q: %w", text, err)
		}
		return b.String(), nil
	}
	return "", fmt.Errorf("kind %q: unknown", p.Kind)
}

func plainNumber(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) }

func tooSmall(text, least string) error {
	return fmt.Errorf("%q: must be at least %s", text, least)
}

// limited is an error unless a number that was written is between the parameter's limits.
func limited(p bench.Param, text string, f float64, say func(float64) string) error {
	switch {
	case f < p.Min:
		return tooSmall(text, say(p.Min))
	case p.Max > 0 && f > p.Max:
		return fmt.Errorf("%q: must be at most %s", text, say(p.Max))
	}
	return nil
}

// intOf reads a whole number or size from parameters that [Fill] returned.
func intOf(w bench.Workload, p bench.Params, name string) (int64, error) {
	n, err := strconv.ParseInt(p[name], 10, 64)
	if err != nil {
		return 0, &ParamError{w.Name(), name, fmt.Errorf("%q: not a whole number", p[name])}
	}
	return n, nil
}

// perCPU reads a whole number that is as large as the instance has CPUs if it is not given.
func perCPU(w bench.Workload, p bench.Params, s bench.Setting, name string) (int64, error) {
	if _, given := p[name]; !given {
		return int64(max(s.Shape.CPUs, 1)), nil
	}
	return intOf(w, p, name)
}

// floatOf reads a number from parameters that [Fill] returned.
func floatOf(w bench.Workload, p bench.Params, name string) (float64, error) {
	f, err := strconv.ParseFloat(p[name], 64)
	if err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
		return 0, &ParamError{w.Name(), name, fmt.Errorf("%q: not a number", p[name])}
	}
	return f, nil
}
