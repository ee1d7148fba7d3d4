package bench

import "errors"

// Lack is a variant of a platform that cannot run on this host with any value of its other options.
type Lack struct {
	// With are the options that together select the variant.
	With map[string]string
	// Err says why the host cannot run it, with a [Hint] how to get it.
	Err error
}

// Lacking returns why the variant with the options cannot run on this host, nil if it can. The
// options include all defaults.
func (a Availability) Lacking(options map[string]string) error { return first(a.Lacks, options) }

// Unfreezable returns why an instance of the variant cannot be frozen from outside and go on, nil if
// it can. The options include all defaults.
func (a Availability) Unfreezable(options map[string]string) error {
	if a.Ungrouped {
		return errors.New("no control group of the host's holds all of an instance")
	}
	return first(a.Unfrozen, options)
}

// first returns the reason of the first variant that has the options, nil if none has.
func first(lacks []Lack, options map[string]string) error {
	for _, l := range lacks {
		if chosen(l.With, options) {
			return l.Err
		}
	}
	return nil
}

// Lack records err as the reason why the option cannot have the value here. It does nothing if err
// is nil.
func (a *Availability) Lack(option, value string, err error) {
	if err != nil {
		a.Lacks = append(a.Lacks, Lack{map[string]string{option: value}, err})
	}
}

// Variant returns the chosen options of a platform with all defaults filled in.
func Variant(known []Option, chosen map[string]string) map[string]string {
	all := map[string]string{}
	for _, o := range known {
		all[o.Name] = o.Default
	}
	for name, value := range chosen {
		all[name] = value
	}
	return all
}

// chosen reports whether options contain every value of with.
func chosen(with, options map[string]string) bool {
	for name, value := range with {
		if options[name] != value {
			return false
		}
	}
	return true
}
