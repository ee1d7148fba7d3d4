// Package ipmi reads power from a baseboard management controller by IPMI 2.0 over the network: the
// DCMI power reading of the whole machine, or a named sensor in watts.
package ipmi

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/bougou/go-ipmi/pkg/client"
	"github.com/bougou/go-ipmi/pkg/types"

	"tare/internal/bench"
	"tare/internal/meter/power/source"
)

const (
	port     = 623
	every    = time.Second
	answerIn = time.Second     // of one message, asked for twice
	openIn   = 8 * time.Second // of a session with its six messages
	readIn   = 2 * time.Second
	// lost is how many consecutive failures end the session. A controller that was reset has
	// forgotten it.
	lost = 3
)

// Meter is a controller's power reading, or one of its sensors.
type Meter struct {
	host, user, password string
	port                 int
	suite                types.CipherSuiteID
	bmc                  *client.Client
	sensor               *types.SDRFull // nil for DCMI
	number               uint8
	failed               int
	source               bench.PowerSource
}

// mostStep is an upper bound of the meters' resolution, in W.
const mostStep = 1e4

// longestUser is IPMI's limit on a user name, in bytes.
const longestUser = 16

// Check returns an error for a name that no controller can answer.
func Check(n *source.Name) error {
	if err := n.Remote(); err != nil {
		return err
	}
	switch {
	case n.Path != "":
		return n.Errorf("/%s: a controller is named by its host alone; a sensor is ?sensor=NAME", n.Path)
	case len(n.User) > longestUser:
		return n.Errorf("user %q: IPMI takes at most %d characters", n.User, longestUser)
	}
	if _, err := suiteOf(n); err != nil {
		return err
	}
	if _, err := n.Number("step", 1, 0, mostStep); err != nil {
		return err
	}
	return n.Secrets("password")
}

// suiteOf returns the requested cipher suite.
func suiteOf(n *source.Name) (types.CipherSuiteID, error) {
	suite, err := n.Number("cipher", float64(types.CipherSuiteID17), 0, 17)
	if err == nil && suite != math.Trunc(suite) {
		err = n.Errorf("cipher=%s is not a whole number", n.Option("cipher", ""))
	}
	return types.CipherSuiteID(suite), err
}

// Open connects to the controller that the name says:
// ipmi://USER@HOST?password=env:NAME, and ?sensor=NAME for a sensor.
func Open(ctx context.Context, n *source.Name) (*Meter, error) {
	every, err := n.Every(every)
	if err != nil {
		return nil, err
	}
	update, err := n.Update(time.Second)
	if err != nil {
		return nil, err
	}
	m := &Meter{host: n.Host, port: n.Port, user: n.User,
		source: bench.PowerSource{Name: n.Text, Every: every.Seconds(), Update: update.Seconds()}}
	if m.port == 0 {
		m.port = port
	}
	if m.password, err = n.Secret("password", "env:IPMI_PASSWORD"); err != nil {
		return nil, err
	}
	if m.suite, err = suiteOf(n); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, openIn)
	defer cancel()
	if err := m.connect(ctx); err != nil {
		return nil, n.Absent(err, "are the address, the user and the password right, and IPMI over LAN on? An older controller needs ?cipher=3")
	}
	step := 1.0
	m.source.Of = "the machine of the controller " + n.Host + ", by DCMI"
	if name := n.Option("sensor", ""); name != "" {
		if step, err = m.choose(ctx, name); err != nil {
			m.Close()
			return nil, n.Absent(err, "ipmitool sdr type current and ipmitool sensor list show what there is")
		}
		m.source.Of = fmt.Sprintf("sensor %q of the controller %s", name, n.Host)
	}
	if m.source.StepW, err = n.Number("step", step, 0, mostStep); err != nil {
		m.Close()
		return nil, err
	}
	return m, nil
}

func (m *Meter) connect(ctx context.Context) error {
	c, err := client.NewClient(m.host, m.port, m.user, m.password)
	if err != nil {
		return err
	}
	m.bmc = c.WithInterface(client.InterfaceLanplus).WithTimeout(answerIn).WithRetry(1).WithCipherSuiteID(m.suite).
		WithMaxPrivilegeLevel(types.PrivilegeLevelUser)
	return m.bmc.Connect(ctx)
}

// choose finds the sensor and returns its step in watts.
func (m *Meter) choose(ctx context.Context, name string) (float64, error) {
	sdr, err := m.bmc.GetSDRBySensorName(ctx, name)
	if err != nil {
		return 0, fmt.Errorf("sensor %q: %w", name, err)
	}
	if sdr.Full == nil || !sdr.HasAnalogReading() {
		return 0, fmt.Errorf("sensor %q: has no reading in numbers", name)
	}
	if unit := sdr.Full.SensorUnit; unit.BaseUnit != types.SensorUnitType_Watts {
		return 0, fmt.Errorf("sensor %q: is in %v, not in watts", name, unit)
	}
	m.sensor, m.number = sdr.Full, uint8(sdr.SensorNumber())
	return math.Abs(m.sensor.ConvertReading(101) - m.sensor.ConvertReading(100)), nil
}

func (m *Meter) Meter() string             { return "ipmi" }
func (m *Meter) Level() bench.Level        { return bench.Power }
func (m *Meter) Columns() []string         { return []string{bench.ColPower} }
func (m *Meter) Source() bench.PowerSource { return m.source }

// Read asks the controller. It takes up to 2 s without an answer, and up to 8 s if it must reopen
// the session.
func (m *Meter) Read(values []float64) error {
	w, err := m.watts()
	if err == nil {
		m.failed = 0
	} else {
		m.failed++
	}
	return source.Fill(values, w, err)
}

func (m *Meter) watts() (float64, error) {
	if m.failed >= lost {
		ctx, cancel := context.WithTimeout(context.Background(), openIn)
		defer cancel()
		if err := m.connect(ctx); err != nil {
			return 0, fmt.Errorf("open the session again: %w", err)
		}
		m.failed = 0
	}
	ctx, cancel := context.WithTimeout(context.Background(), readIn)
	defer cancel()
	var w float64
	if m.sensor == nil {
		r, err := m.bmc.GetDCMIPowerReading(ctx)
		if err != nil {
			return 0, err
		}
		if !r.PowerMeasurementActive {
			return 0, errors.New("the controller says that it does not measure power now")
		}
		w = float64(r.CurrentPower)
	} else {
		r, err := m.bmc.GetSensorReading(ctx, m.number)
		if err != nil {
			return 0, err
		}
		if r.ReadingUnavailable || r.SensorScanningDisabled {
			return 0, errors.New("the controller says that the sensor has no reading now")
		}
		w = m.sensor.ConvertReading(r.Reading)
	}
	return w, source.Watts(w)
}

// Close ends the session. A controller that does not answer lets the session time out.
func (m *Meter) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), readIn)
	defer cancel()
	_ = m.bmc.Close(ctx)
	return nil
}

var _ bench.PowerReader = (*Meter)(nil)
