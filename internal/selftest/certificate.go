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
	"slices"

	"tare/internal/host"
	"tare/internal/result"
)

// Format is the version of the certificate. One of an older format is taken
// for none: the self-test writes it anew.
const Format = "tare-selftest/2"

// older are the formats that are no longer read.
var older = []string{"tare-selftest/1"}

// A Certificate is what the self-test found on a host: certificate.json.
type Certificate struct {
	Format   string     `json:"format"`
	Host     host.Facts `json:"host"`
	Sections []Section  `json:"sections"` // in the order of Parts
}

// Origin says when, by what and how a part was measured.
type Origin struct {
	Date     string            `json:"date"` // RFC 3339, when the part's run began
	Tare     string            `json:"tare"`
	Command  []string          `json:"command"`       // what repeats it
	Run      string            `json:"run,omitempty"` // empty for a part without a run
	Versions map[string]string `json:"versions,omitempty"`
}

// A Section is the finding of one part as the certificate keeps it.
type Section struct {
	Part Part `json:"part"`
	Origin
	Size     int             `json:"size"`
	Unit     string          `json:"unit"`
	Complete bool            `json:"complete"`
	Short    string          `json:"short,omitempty"`
	Claims   []Claim         `json:"claims"`
	Tables   []Table         `json:"tables,omitempty"`
	Data     json.RawMessage `json:"data,omitempty"`
}

// RestsOn is how much the section rests on: "60 comparisons, fewer than 200".
func (s *Section) RestsOn() string { return size(s.Size, s.Unit, s.Short) }

func sectionOf(f *Finding, o Origin) (Section, error) {
	data, err := json.Marshal(f.Data)
	if err != nil {
		return Section{}, fmt.Errorf("section %s: %w", f.Part, err)
	}
	return Section{Part: f.Part, Origin: o, Size: f.Size, Unit: f.Unit, Complete: f.Complete, Short: f.Short,
		Claims: f.Claims, Tables: f.Tables, Data: data}, nil
}

// OfHost reports whether the certificate is of the host with these facts: the
// same machine and kernel, whatever was booted since. Nil is of none.
func (c *Certificate) OfHost(f *host.Facts) bool {
	return c != nil && c.Host.Hostname == f.Hostname && c.Host.Kernel == f.Kernel && c.Host.CPUModel == f.CPUModel && c.Host.CPUs == f.CPUs
}

// Section returns the section of a part, or nil.
func (c *Certificate) Section(p Part) *Section {
	if c == nil {
		return nil
	}
	for i := range c.Sections {
		if c.Sections[i].Part == p {
			return &c.Sections[i]
		}
	}
	return nil
}

// Keep puts a finding into the certificate of a host, c or, if that is nil or
// another host's, a new one. A section of the same version of Tare that is
// complete or larger, where the new one is not, is kept unless force is set;
// kept then says so.
func (c *Certificate) Keep(f *Finding, o Origin, h host.Facts, force bool) (merged *Certificate, kept string, err error) {
	s, err := sectionOf(f, o)
	if err != nil {
		return nil, "", err
	}
	merged = &Certificate{Format: Format, Host: h}
	if c.OfHost(&h) {
		merged.Sections = slices.Clone(c.Sections)
	}
	old := merged.Section(f.Part)
	switch {
	case old == nil:
		merged.Sections = append(merged.Sections, s)
	case !force && old.Tare == s.Tare && (old.Complete && !s.Complete || old.Complete == s.Complete && old.Size > s.Size):
		kept = fmt.Sprintf("the certificate keeps the larger %s of %.10s (%s; this one: %s)", f.Part, old.Date, old.RestsOn(), s.RestsOn())
	default:
		*old = s
	}
	order := Parts()
	slices.SortStableFunc(merged.Sections, func(a, b Section) int { return slices.Index(order, a.Part) - slices.Index(order, b.Part) })
	return merged, kept, nil
}

// Cited is what a report of a run on a host cites of the certificate; nil if it is
// not of that host.
func (c *Certificate) Cited(h *host.Facts) *result.SelfTest {
	if !c.OfHost(h) || len(c.Sections) == 0 {
		return nil
	}
	cited := &result.SelfTest{}
	for i := range c.Sections {
		s := &c.Sections[i]
		for _, claim := range s.Claims {
			cited.Claims = append(cited.Claims, result.SelfTestClaim{
				Part: string(s.Part), Date: s.Date, Tare: s.Tare, RestsOn: s.RestsOn(), Claim: claim.Claim, Found: claim.Found, Held: string(claim.Held)})
		}
	}
	return cited
}

//go:embed certificate.html
var page string

var pageTemplate = template.Must(template.New("certificate").Parse(page))

// Write writes certificate.json and certificate.html into the directory; when it
// returns nil they are on disk.
func (c *Certificate) Write(dir string) error {
	text, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return fmt.Errorf("write certificate: %w", err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("write certificate: %w", err)
	}
	if err := replace(filepath.Join(dir, "certificate.json"), func(f *os.File) error {
		_, err := f.Write(append(text, '\n'))
		return err
	}); err != nil {
		return fmt.Errorf("write certificate: %w", err)
	}
	if err := replace(filepath.Join(dir, "certificate.html"), func(f *os.File) error { return pageTemplate.Execute(f, c) }); err != nil {
		return fmt.Errorf("write certificate: %w", err)
	}
	names, err := os.Open(dir)
	if err == nil {
		err = errors.Join(names.Sync(), names.Close())
	}
	if err != nil {
		return fmt.Errorf("write certificate: %w", err)
	}
	return nil
}

// replace writes a file beside its place and then puts it there: an
// interrupted self-test must not tear what a longer one found.
func replace(path string, write func(*os.File) error) error {
	f, err := os.Create(path + ".new")
	if err != nil {
		return err
	}
	err = errors.Join(write(f), f.Sync(), f.Close())
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return os.Rename(f.Name(), path)
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
	switch {
	case slices.Contains(older, c.Format):
		return nil, nil
	case c.Format != Format:
		return nil, fmt.Errorf("read certificate %s: format %q is not known to this version, which reads %q", path, c.Format, Format)
	}
	return c, nil
}
