package snmp

import (
	"regexp"
	"strings"
	"time"

	"tare/internal/meter/power/source"
)

var dotted = regexp.MustCompile(`^\.?[0-9]+(\.[0-9]+)+$`)

// wish is what a name asks for.
type wish struct {
	outlets []int
	model   model
	known   bool // the name gives the model; otherwise the unit is asked
}

// Check returns an error for a name that no unit can answer.
func Check(n *source.Name) error {
	if err := n.Remote(); err != nil {
		return err
	}
	if _, err := wished(n); err != nil {
		return err
	}
	if _, err := n.Number("step", 1, 0, mostStep); err != nil {
		return err
	}
	if _, err := authOf(n); err != nil {
		return err
	}
	if _, err := cipherOf(n); err != nil {
		return err
	}
	if n.Option("privacy", "") != "" && n.Option("password", "") == "" {
		return n.Errorf("privacy needs a password as well")
	}
	return n.Secrets("community", "password", "privacy")
}

func wished(n *source.Name) (wish, error) {
	outlets, err := n.Numbers("outlet")
	if err != nil {
		return wish{}, err
	}
	if _, err := n.Number("scale", 1, leastScale, mostScale); err != nil {
		return wish{}, err
	}
	w := wish{outlets: outlets}
	object := n.Option("oid", "")
	switch {
	case object != "":
		if !dotted.MatchString(object) || len(outlets) > 0 || n.Path != "" {
			return wish{}, n.Errorf("oid=%s must be an object's number, without a model or outlets beside it", object)
		}
		w.model, w.known = model{name: "oid", what: "object " + object, total: "." + strings.TrimPrefix(object, "."), scale: 1, update: time.Second}, true
	case n.Path != "":
		if w.model, w.known = modelNamed(n.Path); !w.known {
			return wish{}, n.Errorf("model %q is none of %s", n.Path, modelNames())
		}
	}
	if w.known {
		err = w.measured(n)
	}
	return w, err
}

// measured returns an error if the name has outlets but the model does not measure outlets.
func (w wish) measured(n *source.Name) error {
	if len(w.outlets) > 0 && w.model.outlet == "" {
		return n.Errorf("model %s does not measure its outlets", w.model.name)
	}
	return nil
}
