package spec

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"tare/internal/bench"
)

// workload reads an actor's workload with its parameters.
func (d *decoder) workload(f map[string]*node, a *Actor) {
	var names []string
	for _, w := range d.words.Workloads {
		names = append(names, w.Name())
	}
	var name string
	d.word(f["workload"], "workload", names, &name)
	if name == "" {
		return
	}
	a.Places["workload"] = f["workload"].place
	a.Workload, a.Part = name, bench.SubjectPart
	w := d.words.Workload(name)
	before := len(d.errs)
	params, ok := d.params(f["params"], w, a.Places)
	switch {
	case ok && len(d.errs) == before:
		a.Params = d.fill(w, params, a.Places)
	case ok:
		d.values(w, params, a.Places)
	}
}

// kindWords describes the kinds of parameters for messages.
var kindWords = map[bench.ParamKind]string{
	bench.KindInt: "a whole number", bench.KindFloat: "a number", bench.KindSize: "a size such as 4KiB", bench.KindDuration: "a time such as 5s",
	bench.KindWord: "a word", bench.KindString: "text",
}

// params reads parameters as text. Scalars are kept as written. A parameter of the JSON kind takes
// any value as JSON. Parameters that cannot be read are left out.
func (d *decoder) params(n *node, w bench.Workload, places Places) (bench.Params, bool) {
	out := bench.Params{}
	kinds := map[string]bench.ParamKind{}
	var names []string
	for _, p := range w.Params() {
		kinds[p.Name] = p.Kind
		names = append(names, p.Name)
	}
	if n == nil {
		return out, true
	}
	if n.kind != mapping {
		d.fail(n.place, "params are written as a mapping, found %s", n.kindName())
		return nil, false
	}
	for _, e := range n.entries {
		kind, known := kinds[e.key]
		places["params."+e.key] = e.value.place
		switch {
		case !known:
			d.fail(e.place, "%w", bench.UnknownWord("parameter of "+w.Name(), e.key, names))
		case e.value.kind == null:
			d.fail(e.place, "%q has no value%w", e.key, bench.Hint("write one, or leave the parameter out"))
		case kind == bench.KindJSON:
			text, err := e.value.json()
			if err != nil {
				d.errs = append(d.errs, fault(nil, err))
			}
			out[e.key] = text
			e.value.locate("params."+e.key, places)
		case d.scalar(e.value, kindWords[kind]):
			out[e.key] = e.value.text
		}
	}
	return out, true
}

// values reports bad values of parameters when some parameters could not be read. It does not check
// whether the others suffice.
func (d *decoder) values(w bench.Workload, p bench.Params, places Places) {
	_, err := d.words.Fill(w, p)
	for _, one := range apart(err) {
		var named paramError
		if one == nil || !errors.As(one, &named) {
			continue
		}
		if _, given := p[named.ParamName()]; given {
			d.errs = append(d.errs, places.Blame(one, "workload"))
		}
	}
}

// apart returns the joined errors about parameters, or the single error.
func apart(err error) []error {
	many, ok := err.(interface{ Unwrap() []error })
	if err == nil || !ok {
		return []error{err}
	}
	notNamed := func(e error) bool { _, ok := e.(paramError); return !ok }
	if slices.ContainsFunc(many.Unwrap(), notNamed) {
		return []error{err}
	}
	return many.Unwrap()
}

// locate notes where the values below n were written, n itself under the path.
func (n *node) locate(path string, places Places) {
	places[path] = n.place
	for _, e := range n.entries {
		e.value.locate(path+"."+e.key, places)
	}
	for i, item := range n.items {
		item.locate(fmt.Sprintf("%s.%d", path, i), places)
	}
}

// paramError is an error about one parameter.
type paramError interface {
	error
	ParamName() string
}

// valueError is an error about one value within a parameter of the JSON kind, such as "1.better".
type valueError interface {
	error
	ValuePath() string
}

// fill checks the parameters and fills in the defaults.
func (d *decoder) fill(w bench.Workload, p bench.Params, places Places) bench.Params {
	filled, err := d.words.Fill(w, p)
	if err == nil {
		return filled
	}
	for _, one := range apart(err) {
		d.errs = append(d.errs, places.Blame(one, "workload"))
	}
	return p
}

// Blame returns err with the place of the parameter that it names, or of the value within that,
// else with that of the path.
func (p Places) Blame(err error, path string) *Error {
	var named paramError
	if errors.As(err, &named) {
		param := "params." + named.ParamName()
		at, ok := p[param]
		var value valueError
		if ok && errors.As(err, &value) {
			at = p.At(param + "." + value.ValuePath())
		}
		if ok {
			return at.Error(err)
		}
	}
	return p.At(path).Error(err)
}

// share divides the load of an actor's workload among its instances (as tesfatsion2018 section 4.3
// does), unless each gets all of it.
func (d *decoder) share(n *node, a *Actor) {
	how := "split"
	d.word(n, "load", []string{"split", "each"}, &how)
	if how == "each" || a.Count < 2 || a.Workload == "" || a.Params == nil || a.Role == bench.Neighbour && n == nil {
		return
	}
	w := d.words.Workload(a.Workload)
	i := slices.IndexFunc(w.Params(), func(p bench.Param) bool { return p.Load && a.Params[p.Name] != "" })
	if i < 0 {
		d.fail(a.Places.At("count"), "%s has no parameter that carries the load, so it cannot be split among %d%w", w.Name(), a.Count,
			bench.Hint("write load: each, and every instance does all of it"))
		return
	}
	load := w.Params()[i]
	part, err := divide(load, a.Params[load.Name], a.Count)
	if err != nil {
		at, ok := a.Places["params."+load.Name]
		if !ok {
			at = a.Places.At("count")
		}
		d.fail(at, "%s %s: %w", load.Name, a.Params[load.Name], err)
		return
	}
	params := maps.Clone(a.Params)
	params[load.Name] = part
	a.Params = d.fill(w, params, a.Places)
}

// divide returns 1/n of a load in canonical form.
func divide(p bench.Param, text string, n int) (string, error) {
	if p.Kind == bench.KindFloat {
		v, err := strconv.ParseFloat(text, 64)
		if err != nil || v <= 0 {
			return "", fmt.Errorf("cannot be split among %d", n)
		}
		return strconv.FormatFloat(v/float64(n), 'g', -1, 64), nil
	}
	v, err := strconv.ParseInt(text, 10, 64)
	if err != nil || v <= 0 {
		return "", fmt.Errorf("cannot be split among %d", n)
	}
	if v%int64(n) != 0 {
		return "", fmt.Errorf("cannot be split equally among %d%w", n, bench.Hint(fmt.Sprintf("take a multiple of %d, or write load: each", n)))
	}
	return strconv.FormatInt(v/int64(n), 10), nil
}
