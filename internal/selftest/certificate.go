package selftest

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"io/fs"
	"os"
	"path/filepath"

	"tare/internal/host"
)

// Format is the version of the certificate.
const Format = "tare-selftest/1"

// A Certificate is what the self-test found on a host: certificate.json.
type Certificate struct {
	Format   string            `json:"format"`
	Date     string            `json:"date"` // RFC 3339, when the run of the last part began
	Tare     string            `json:"tare"`
	Command  []string          `json:"command"` // what repeats it
	Run      string            `json:"run"`
	Versions map[string]string `json:"versions"` // by platform
	Host     host.Facts        `json:"host"`
	AA       *AA               `json:"aa,omitempty"`
}

// ofHost reports whether the certificate is of the host with these facts: the
// same machine and kernel, whatever was booted since.
func (c *Certificate) ofHost(f *host.Facts) bool {
	return c.Host.Hostname == f.Hostname && c.Host.Kernel == f.Kernel && c.Host.CPUModel == f.CPUModel && c.Host.CPUs == f.CPUs
}

// Citation is the line by which a report on a host cites the certificate; nil
// is none.
func (c *Certificate) Citation(f *host.Facts) string {
	if c == nil || c.AA == nil || !c.ofHost(f) {
		return "no self-test on this host: run tare selftest aa"
	}
	return fmt.Sprintf("self-test of %.10s on this host: %s identical pairs called different", c.Date, c.AA.Different)
}

//go:embed certificate.html
var page string

var pageTemplate = template.Must(template.New("certificate").Parse(page))

// Write writes certificate.json and certificate.html into the directory.
func (c *Certificate) Write(dir string) error {
	c.Format = Format
	text, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return fmt.Errorf("write certificate: %w", err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("write certificate: %w", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "certificate.json"), append(text, '\n'), 0o644); err != nil {
		return fmt.Errorf("write certificate: %w", err)
	}
	f, err := os.Create(filepath.Join(dir, "certificate.html"))
	if err != nil {
		return fmt.Errorf("write certificate: %w", err)
	}
	if err := pageTemplate.Execute(f, c); err != nil {
		f.Close()
		return fmt.Errorf("write certificate: %w", err)
	}
	return f.Close()
}

// Read reads certificate.json of the directory; nil if there is none.
func Read(dir string) (*Certificate, error) {
	path := filepath.Join(dir, "certificate.json")
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read certificate: %w", err)
	}
	c := new(Certificate)
	if err := json.Unmarshal(text, c); err != nil {
		return nil, fmt.Errorf("read certificate %s: %w", path, err)
	}
	if c.Format != Format {
		return nil, fmt.Errorf("read certificate %s: format %q is not known to this version, which reads %q", path, c.Format, Format)
	}
	return c, nil
}
