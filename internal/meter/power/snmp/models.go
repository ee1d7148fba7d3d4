package snmp

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// model is a family of power distribution units: the MIB objects for the power of the whole unit
// and of an outlet, and their resolution.
type model struct {
	name string
	what string
	// enterprise is the vendor's enterprise number, the prefix of its objects.
	enterprise string
	total      string  // object of the whole unit
	outlet     string  // object of outlet %d; empty if it measures none
	scale      float64 // watts per unit of the value
	totalScale float64 // the same for the whole unit, if it differs
	// totalDigits and outletDigits are objects with the value's number of decimal digits, for MIBs
	// in which that depends on the unit.
	totalDigits, outletDigits string
	update                    time.Duration // how often the unit has a new value
}

// The objects are from the vendors' MIBs, as public drivers use them.
var models = []model{
	{name: "apc", what: "APC rPDU2 (AP8xxx, NetShelter)", enterprise: "318", scale: 1, totalScale: 10, update: time.Second,
		total:  ".1.3.6.1.4.1.318.1.1.26.4.3.1.5.1",     // rPDU2DeviceStatusPower, hundredths of kW
		outlet: ".1.3.6.1.4.1.318.1.1.26.9.4.3.1.7.%d"}, // rPDU2OutletMeteredStatusPower, W
	{name: "apc-rpdu", what: "APC rPDU of the first generation (AP78xx)", enterprise: "", scale: 1, update: time.Second,
		total: ".1.3.6.1.4.1.318.1.1.12.1.16.0"}, // rPDUIdentDevicePowerWatts, W
	{name: "eaton", what: "Eaton ePDU G2 and later", enterprise: "534", scale: 1, update: time.Second,
		total:  ".1.3.6.1.4.1.534.6.6.7.3.5.1.4.0.1",   // inputTotalWatts, W
		outlet: ".1.3.6.1.4.1.534.6.6.7.6.5.1.3.0.%d"}, // outletWatts, W
	{name: "hpe", what: "HP and HPE metered and switched PDU", enterprise: "232", scale: 1, update: time.Second,
		total:  ".1.3.6.1.4.1.232.165.7.2.1.1.5.0",      // pdu2InputPowerWatts, W
		outlet: ".1.3.6.1.4.1.232.165.7.5.1.1.14.0.%d"}, // pdu2OutletWatts, W
	{name: "raritan", what: "Raritan PX2, PX3, PX4 and Server Technology PRO3X", enterprise: "13742", scale: 1, update: time.Second,
		total:        ".1.3.6.1.4.1.13742.6.5.2.3.1.4.1.1.5",   // measurementsInletSensorValue, activePower
		totalDigits:  ".1.3.6.1.4.1.13742.6.3.3.4.1.7.1.1.5",   // inletSensorDecimalDigits
		outlet:       ".1.3.6.1.4.1.13742.6.5.4.3.1.4.1.%d.5",  // measurementsOutletSensorValue
		outletDigits: ".1.3.6.1.4.1.13742.6.3.5.4.1.7.1.%d.5"}, // outletSensorDecimalDigits
}

func modelNames() string {
	var names []string
	for _, m := range models {
		names = append(names, m.name)
	}
	return strings.Join(names, ", ")
}

func modelNamed(name string) (model, bool) {
	i := slices.IndexFunc(models, func(m model) bool { return m.name == name })
	if i < 0 {
		return model{}, false
	}
	return models[i], true
}

// modelOf recognises a unit by its sysObjectID, which begins with the vendor's number.
func modelOf(object string) (model, bool) {
	rest, ok := strings.CutPrefix(strings.TrimPrefix(object, "."), "1.3.6.1.4.1.")
	enterprise, _, _ := strings.Cut(rest, ".")
	i := slices.IndexFunc(models, func(m model) bool { return ok && m.enterprise == enterprise && enterprise != "" })
	if i < 0 {
		return model{}, false
	}
	return models[i], true
}

// objects returns the objects with the power of the outlets or the whole unit, and the objects with
// their decimal digits.
func (m model) objects(outlets []int) (values, digits []string) {
	if len(outlets) == 0 {
		values = []string{m.total}
		if m.totalDigits != "" {
			digits = []string{m.totalDigits}
		}
		return values, digits
	}
	for _, n := range outlets {
		values = append(values, fmt.Sprintf(m.outlet, n))
		if m.outletDigits != "" {
			digits = append(digits, fmt.Sprintf(m.outletDigits, n))
		}
	}
	return values, digits
}
