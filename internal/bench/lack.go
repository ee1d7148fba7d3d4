package bench

// Lack is a variant of a platform that cannot run on this host, whatever its
// other options are.
type Lack struct {
	// With are the options that choose it together.
	With map[string]string
	// Err says why it cannot, with a [Hint] how to get it.
	Err error
}

// Lacking returns why the variant with the options, defaults filled in, cannot
// run on this host; nil if it can.
func (a Availability) Lacking(options map[string]string) error {
	for _, l := range a.Lacks {
		if chosen(l.With, options) {
			return l.Err
		}
	}
	return nil
}

// Lack notes that the value of the option cannot be used here, if err says so.
func (a *Availability) Lack(option, value string, err error) {
	if err != nil {
		a.Lacks = append(a.Lacks, Lack{map[string]string{option: value}, err})
	}
}

// Variant fills the defaults of a platform's options into those chosen.
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

// chosen reports whether options choose what with asks for.
func chosen(with, options map[string]string) bool {
	for name, value := range with {
		if options[name] != value {
			return false
		}
	}
	return true
}
