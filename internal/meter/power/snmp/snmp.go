// Package snmp reads power distribution units by SNMP, version 2c or 3.
package snmp

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/big"
	"strings"
	"time"

	"github.com/gosnmp/gosnmp"

	"tare/internal/bench"
	"tare/internal/meter/power/source"
)

const (
	port = 161
	// An unanswered request is repeated once, so a reading takes at most 2 s.
	answerIn = time.Second
	retries  = 1
	every    = 500 * time.Millisecond

	leastScale, mostScale = 1e-6, 1e6 // watts of 1
	mostStep              = 1e4       // W

	sysObjectID = ".1.3.6.1.2.1.1.2.0"
)

// Meter is a unit, or some of its outlets, whose power is added up.
type Meter struct {
	client  *gosnmp.GoSNMP
	objects []string
	scale   []float64 // watts of 1, by object
	source  bench.PowerSource
}

// Open connects to the unit that the name says: snmp://HOST/MODEL?outlet=3,4.
func Open(ctx context.Context, n *source.Name) (*Meter, error) {
	w, err := wished(n)
	if err != nil {
		return nil, err
	}
	every, err := n.Every(every)
	if err != nil {
		return nil, err
	}
	m := &Meter{source: bench.PowerSource{Name: n.Text, Every: every.Seconds()}}
	if m.client, err = client(ctx, n); err != nil {
		return nil, err
	}
	if err := m.client.Connect(); err != nil {
		return nil, n.Absent(err, "")
	}
	if err := m.choose(n, w); err != nil {
		m.Close()
		return nil, err
	}
	return m, nil
}

// choose determines which objects to read, and their resolution.
func (m *Meter) choose(n *source.Name, w wish) error {
	if !w.known {
		var err error
		if w.model, err = m.detect(n); err != nil {
			return err
		}
		if err := w.measured(n); err != nil {
			return err
		}
	}
	md, outlets := w.model, w.outlets
	scale, err := n.Number("scale", m.scaleOf(md, outlets), leastScale, mostScale)
	if err != nil {
		return err
	}
	values, digits := md.objects(outlets)
	m.objects = values
	step := 0.0
	for i := range values {
		s := scale
		if i < len(digits) {
			d, err := m.digits(digits[i])
			if err != nil {
				return n.Absent(err, "is that the right model and outlet?")
			}
			s *= math.Pow10(-d)
		}
		m.scale = append(m.scale, s)
		step += s
	}
	if m.source.StepW, err = n.Number("step", step, 0, mostStep); err != nil {
		return err
	}
	update, err := n.Update(md.update)
	if err != nil {
		return err
	}
	m.source.Update = update.Seconds()
	m.source.Of = fmt.Sprintf("the PDU %s (%s)", n.Host, md.what)
	if len(outlets) > 0 {
		m.source.Of = fmt.Sprintf("outlet %s of %s", strings.Trim(strings.ReplaceAll(fmt.Sprint(outlets), " ", " and "), "[]"), m.source.Of)
	}
	return nil
}

func (m *Meter) scaleOf(md model, outlets []int) float64 {
	if len(outlets) == 0 && md.totalScale != 0 {
		return md.totalScale
	}
	return md.scale
}

// detect asks the unit for its model.
func (m *Meter) detect(n *source.Name) (model, error) {
	answer, err := m.client.Get([]string{sysObjectID})
	if err != nil {
		return model{}, n.Absent(fmt.Errorf("no answer by SNMP: %w", err), "is the address right, SNMP on, and the community or user allowed to read?")
	}
	object := ""
	if len(answer.Variables) == 1 {
		object, _ = answer.Variables[0].Value.(string)
	}
	md, ok := modelOf(object)
	if !ok {
		return model{}, fmt.Errorf("power meter %s: its maker is not known (sysObjectID %q): %w%w", n.Text, object, bench.ErrInvalid,
			bench.Hint("name the model ("+modelNames()+") or the object with the watts: ?oid=.1.3.6...&scale=0.1"))
	}
	return md, nil
}

// digits returns the number of decimal digits of a value.
func (m *Meter) digits(object string) (int, error) {
	answer, err := m.client.Get([]string{object})
	if err != nil {
		return 0, err
	}
	values, err := numbers(answer.Variables, 1)
	if err != nil {
		return 0, fmt.Errorf("decimal digits: %w", err)
	}
	if d := values[0]; d < 0 || d > 9 {
		return 0, fmt.Errorf("decimal digits %g: not from 0 to 9", d)
	}
	return int(values[0]), nil
}

// numbers returns the values of an answer. It returns an error unless there are want values.
func numbers(vars []gosnmp.SnmpPDU, want int) ([]float64, error) {
	if len(vars) != want {
		return nil, fmt.Errorf("%d values in an answer to a question for %d", len(vars), want)
	}
	var out []float64
	for _, v := range vars {
		switch v.Type {
		case gosnmp.Integer, gosnmp.Counter32, gosnmp.Gauge32, gosnmp.Uinteger32, gosnmp.Counter64:
			f, _ := new(big.Float).SetInt(gosnmp.ToBigInt(v.Value)).Float64()
			out = append(out, f)
		case gosnmp.NoSuchObject, gosnmp.NoSuchInstance, gosnmp.EndOfMibView:
			return nil, fmt.Errorf("object %s: the unit has none", v.Name)
		case gosnmp.OctetString:
			b, _ := v.Value.([]byte)
			return nil, fmt.Errorf("object %s: %.40q is not a number", v.Name, b)
		default:
			return nil, fmt.Errorf("object %s: a value of type %v is not a number", v.Name, v.Type)
		}
	}
	return out, nil
}

func (m *Meter) Meter() string             { return "snmp" }
func (m *Meter) Level() bench.Level        { return bench.Power }
func (m *Meter) Columns() []string         { return []string{bench.ColPower} }
func (m *Meter) Source() bench.PowerSource { return m.source }

// Read asks the unit. It takes up to 2 s without an answer.
func (m *Meter) Read(values []float64) error {
	w, err := m.watts()
	return source.Fill(values, w, err)
}

func (m *Meter) watts() (float64, error) {
	answer, err := m.client.Get(m.objects)
	if err != nil {
		return 0, err
	}
	if answer.Error != gosnmp.NoError {
		return 0, fmt.Errorf("the unit answers: %v", answer.Error)
	}
	list, err := numbers(answer.Variables, len(m.objects))
	if err != nil {
		return 0, err
	}
	sum := 0.0
	for i, v := range list {
		if v < 0 {
			return 0, fmt.Errorf("object %s: %g: not measured there", m.objects[i], v)
		}
		sum += v * m.scale[i]
	}
	return sum, source.Watts(sum)
}

// Close closes the socket.
func (m *Meter) Close() error {
	if m.client.Conn == nil {
		return nil
	}
	return errors.Join(m.client.Close())
}

var _ bench.PowerReader = (*Meter)(nil)
