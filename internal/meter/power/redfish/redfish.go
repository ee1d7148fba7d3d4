// Package redfish reads power from a management controller by Redfish: the Power resource of a
// chassis (PowerControl, DSP0268) or, if it has none, its EnvironmentMetrics.
//
// It asks for two documents, so it has no library: plain HTTP over TLS and JSON.
package redfish

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path"
	"strings"
	"time"

	"tare/internal/bench"
	"tare/internal/meter/power/source"
)

const (
	port     = 443
	answerIn = 2 * time.Second
	every    = time.Second
	maxBody  = 1 << 20
	root     = "/redfish/v1/"
)

// Meter is a chassis.
type Meter struct {
	http           http.Client
	base           string // https://HOST:PORT
	user, password string
	path           string // of the document with the power
	source         bench.PowerSource
}

// mostStep is an upper bound of the meters' resolution, in W.
const mostStep = 1e4

// Check returns an error for a name that no controller can answer, and for a missing certificate
// file.
func Check(n *source.Name) error {
	if err := n.Remote(); err != nil {
		return err
	}
	if strings.Contains(n.Path, "/") || strings.Contains(n.Path, "..") {
		return n.Errorf("%q is not the name of a chassis", n.Path)
	}
	if _, err := n.Number("step", 1, 0, mostStep); err != nil {
		return err
	}
	if _, err := trusted(n); err != nil {
		return err
	}
	return n.Secrets("password")
}

// Open connects to the controller that the name says:
// redfish://USER@HOST/CHASSIS?password=env:NAME. Without a chassis in the name, the controller must
// have exactly one.
func Open(ctx context.Context, n *source.Name) (*Meter, error) {
	every, err := n.Every(every)
	if err != nil {
		return nil, err
	}
	update, err := n.Update(time.Second)
	if err != nil {
		return nil, err
	}
	m := &Meter{base: "https://" + n.Address(port), user: n.User,
		source: bench.PowerSource{Name: n.Text, Every: every.Seconds(), Update: update.Seconds()}}
	if m.source.StepW, err = n.Number("step", 1, 0, mostStep); err != nil {
		return nil, err
	}
	if m.password, err = n.Secret("password", passwordFrom(n)); err != nil {
		return nil, err
	}
	trust, err := trusted(n)
	if err != nil {
		return nil, err
	}
	m.http = http.Client{Timeout: answerIn, Transport: &http.Transport{TLSClientConfig: trust, MaxIdleConns: 1},
		// Follow no redirect: it would send the password elsewhere.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	if err := m.find(ctx, n); err != nil {
		m.Close()
		return nil, err
	}
	return m, nil
}

// passwordFrom returns the default place of the password.
func passwordFrom(n *source.Name) string {
	if n.User == "" {
		return ""
	}
	return "env:REDFISH_PASSWORD"
}

// trusted returns the TLS settings. They trust the system's authorities, those in a file, or any
// certificate.
func trusted(n *source.Name) (*tls.Config, error) {
	insecure, err := n.Word("insecure", "no", "yes")
	if err != nil {
		return nil, err
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: insecure == "yes"}
	if file := n.Option("ca", ""); file != "" {
		pem, err := os.ReadFile(file)
		if err != nil {
			return nil, n.Errorf("ca: %w", err)
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(pem) {
			return nil, n.Errorf("ca: %s holds no certificate", file)
		}
	}
	return c, nil
}

// find looks for the document with the power.
func (m *Meter) find(ctx context.Context, n *source.Name) error {
	absent := func(err error) error {
		hint := bench.Hint("are the address, the user and the password right?")
		var unknown x509.UnknownAuthorityError
		var invalid x509.HostnameError
		if errors.As(err, &unknown) || errors.As(err, &invalid) {
			hint = "its certificate is not signed by anyone trusted here: name the signer's, ?ca=FILE, or trust anyone on that network: ?insecure=yes"
		}
		return n.Absent(err, hint)
	}
	chassis := n.Path
	if chassis == "" {
		var all struct{ Members []link }
		if err := m.get(ctx, root+"Chassis", &all); err != nil {
			return absent(err)
		}
		if len(all.Members) != 1 {
			var names []string
			for _, l := range all.Members {
				names = append(names, path.Base(l.ID))
			}
			return fmt.Errorf("power meter %s: the controller has %d chassis: %w%w", n.Text, len(names), bench.ErrInvalid,
				bench.Hint("name one, redfish://HOST/CHASSIS: "+strings.Join(names, ", ")))
		}
		chassis = path.Base(all.Members[0].ID)
	}
	if strings.Contains(chassis, "/") || strings.Contains(chassis, "..") {
		return n.Errorf("%q is not the name of a chassis", chassis)
	}
	var errs []error
	for _, document := range []string{"Power", "EnvironmentMetrics"} {
		m.path = root + "Chassis/" + chassis + "/" + document
		body, err := m.fetch(ctx, m.path)
		if err == nil {
			_, err = Watts(body)
		}
		if err == nil {
			m.source.Of = fmt.Sprintf("chassis %s of the controller %s, by Redfish", chassis, n.Host)
			return nil
		}
		errs = append(errs, err)
	}
	return absent(errors.Join(errs...))
}

type link struct {
	ID string `json:"@odata.id"`
}

func (m *Meter) get(ctx context.Context, path string, into any) error {
	body, err := m.fetch(ctx, path)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(body, into); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

func (m *Meter) fetch(ctx context.Context, path string) ([]byte, error) {
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, m.base+path, nil)
	if err != nil {
		return nil, err
	}
	q.Header.Set("Accept", "application/json")
	q.Header.Set("OData-Version", "4.0")
	if m.user != "" {
		q.SetBasicAuth(m.user, m.password)
	}
	a, err := m.http.Do(q)
	if err != nil {
		return nil, err
	}
	defer a.Body.Close()
	body, err := io.ReadAll(io.LimitReader(a.Body, maxBody+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: %w", path, err)
	case a.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("%s: %s", path, a.Status)
	case len(body) > maxBody:
		return nil, fmt.Errorf("%s: more than %d bytes", path, maxBody)
	}
	return body, nil
}

// Watts reads a Power or an EnvironmentMetrics document.
func Watts(body []byte) (float64, error) {
	var d struct {
		PowerControl []struct{ PowerConsumedWatts *float64 }
		PowerWatts   *struct{ Reading *float64 }
	}
	if err := json.Unmarshal(body, &d); err != nil {
		return 0, fmt.Errorf("not a Redfish document: %w", err)
	}
	var w float64
	switch {
	case d.PowerWatts != nil && d.PowerWatts.Reading != nil:
		w = *d.PowerWatts.Reading
	case len(d.PowerControl) > 0 && d.PowerControl[0].PowerConsumedWatts != nil:
		// The first is the whole chassis; others are of parts of it (DSP0268, Power).
		w = *d.PowerControl[0].PowerConsumedWatts
	default:
		return 0, errors.New("the document has neither PowerConsumedWatts nor PowerWatts")
	}
	return w, source.Watts(w)
}

func (m *Meter) Meter() string             { return "redfish" }
func (m *Meter) Level() bench.Level        { return bench.Power }
func (m *Meter) Columns() []string         { return []string{bench.ColPower} }
func (m *Meter) Source() bench.PowerSource { return m.source }

// Read asks the controller. It takes up to 2 s without an answer.
func (m *Meter) Read(values []float64) error {
	body, err := m.fetch(context.Background(), m.path)
	var w float64
	if err == nil {
		w, err = Watts(body)
	}
	return source.Fill(values, w, err)
}

// Close drops the connection.
func (m *Meter) Close() error {
	m.http.CloseIdleConnections()
	return nil
}

var _ bench.PowerReader = (*Meter)(nil)
