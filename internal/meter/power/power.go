// Package power opens power meters by the name that a user gives: "snmp://pdu/raritan?outlet=3",
// "rapl:". Each kind of meter is a package below.
package power

import (
	"context"
	"fmt"
	"slices"

	"tare/internal/bench"
	"tare/internal/meter/power/ipmi"
	"tare/internal/meter/power/model"
	"tare/internal/meter/power/rapl"
	"tare/internal/meter/power/redfish"
	"tare/internal/meter/power/sensor"
	"tare/internal/meter/power/snmp"
	"tare/internal/meter/power/source"
)

// Kind is a kind of meter, for people.
type Kind struct {
	Name    string                   `json:"name"` // the scheme of its meters' names
	Example string                   `json:"example"`
	Doc     string                   `json:"doc"`
	Local   bool                     `json:"-"`       // of this machine: its name needs no more than the scheme
	Options []string                 `json:"options"` // behind a "?" or, of a meter of this machine, a ":"
	check   func(*source.Name) error // of what more can be wrong in a name; nil for nothing
	open    func(context.Context, *source.Name) (bench.PowerReader, error)
}

// Kinds returns all kinds.
func Kinds() []Kind {
	return []Kind{
		{"snmp", "snmp://pdu/raritan?outlet=3", "a PDU by SNMP: apc, apc-rpdu, eaton, hpe, raritan, or any object with the watts (?oid=)", false,
			[]string{"outlet", "oid", "scale", "community", "password", "privacy", "auth", "cipher", "step", "update", "every"}, snmp.Check,
			func(ctx context.Context, n *source.Name) (bench.PowerReader, error) { return reader(snmp.Open(ctx, n)) }},
		{"ipmi", "ipmi://user@bmc?password=env:BMC", "a management controller by IPMI: DCMI's power reading, or a sensor in watts (?sensor=)", false,
			[]string{"password", "sensor", "cipher", "step", "update", "every"}, ipmi.Check,
			func(ctx context.Context, n *source.Name) (bench.PowerReader, error) { return reader(ipmi.Open(ctx, n)) }},
		{"redfish", "redfish://user@bmc/chassis?password=file:/root/bmc", "a management controller by Redfish", false,
			[]string{"password", "ca", "insecure", "step", "update", "every"}, redfish.Check,
			func(ctx context.Context, n *source.Name) (bench.PowerReader, error) {
				return reader(redfish.Open(ctx, n))
			}},
		{"rapl", "rapl:", "the processors' own counters of energy, by powercap; of the processors and their memory alone", true,
			[]string{"zone", "every"}, rapl.Check,
			func(_ context.Context, n *source.Name) (bench.PowerReader, error) {
				return reader(rapl.OpenPowercap("/", n))
			}},
		{"perf", "perf:", "the same counters, by events of the kernel", true,
			[]string{"every"}, nil,
			func(_ context.Context, n *source.Name) (bench.PowerReader, error) {
				return reader(rapl.OpenEvents("/", n))
			}},
		{"hwmon", "hwmon:chip=power_meter", "a sensor the kernel has a driver for", true,
			[]string{"chip", "sensor", "covers", "step", "update", "every"}, sensor.CheckHwmon,
			func(_ context.Context, n *source.Name) (bench.PowerReader, error) {
				return reader(sensor.OpenHwmon("/", n))
			}},
		{"battery", "battery:", "the battery the machine runs on", true,
			[]string{"name", "step", "update", "every"}, nil,
			func(_ context.Context, n *source.Name) (bench.PowerReader, error) {
				return reader(sensor.OpenBattery("/", n))
			}},
		{"model", "model:idle=60,core=12", "no meter: watts at rest, and for each busy core; never used in a verdict", false,
			[]string{"idle", "core", "every"}, model.Check,
			func(_ context.Context, n *source.Name) (bench.PowerReader, error) {
				return reader(model.Open("/proc", n))
			}},
	}
}

// reader keeps a nil pointer from becoming an interface that is not nil.
func reader[R bench.PowerReader](r R, err error) (bench.PowerReader, error) {
	if err != nil {
		return nil, err
	}
	return r, nil
}

// Check returns an error unless the text is a valid meter name. It neither asks the meter nor
// resolves its host.
func Check(text string) error {
	_, _, err := find(text)
	return err
}

// StepKinds returns the kinds with options for the resolution and the update interval.
func StepKinds() []string {
	var names []string
	for _, k := range Kinds() {
		if slices.Contains(k.Options, "step") {
			names = append(names, k.Name)
		}
	}
	return names
}

func find(text string) (Kind, *source.Name, error) {
	n, err := source.Parse(text)
	if err != nil {
		return Kind{}, nil, err
	}
	var names []string
	for _, k := range Kinds() {
		if k.Name == n.Scheme {
			return k, n, k.fits(n)
		}
		names = append(names, k.Name)
	}
	return Kind{}, nil, fmt.Errorf("power meter %s: %w: %w", n.Text, bench.UnknownWord("kind", n.Scheme, names), bench.ErrInvalid)
}

// fits returns an error for an unknown option of the kind or an invalid value.
func (k Kind) fits(n *source.Name) error {
	if err := n.Takes(k.Options); err != nil {
		return err
	}
	if _, err := n.Every(0); err != nil {
		return err
	}
	if _, err := n.Update(0); err != nil {
		return err
	}
	if _, err := n.Number("step", 0, 0, 1e6); err != nil {
		return err
	}
	if k.check == nil {
		return nil
	}
	return k.check(n)
}

// Open opens the meter and reads it once, so that a meter without readings fails before a run
// begins. The error wraps bench.ErrInvalid for a bad name and bench.ErrUnavailable for a meter that
// does not answer.
func Open(ctx context.Context, text string) (bench.PowerReader, error) {
	k, n, err := find(text)
	if err != nil {
		return nil, err
	}
	r, err := k.open(ctx, n)
	if err != nil {
		return nil, err
	}
	if err := r.Read(make([]float64, len(r.Columns()))); err != nil {
		r.Close()
		return nil, n.Absent(fmt.Errorf("it tells no power: %w", err), "")
	}
	return r, nil
}
