package image

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"strings"
	"time"

	"tare/internal/bench"
)

// manifestFormat names the layout of manifest.json.
const manifestFormat = "tare-image/1"

// Manifest tells what is in an image. It is written once, when the image is built.
type Manifest struct {
	Format     string    `json:"format"`
	Digest     string    `json:"digest"`
	RecipeHash string    `json:"recipe_hash"`
	Recipe     Recipe    `json:"recipe"`
	Created    time.Time `json:"created"`
	// Builder are the versions of the host's programs that made it.
	Builder  map[string]string `json:"builder"`
	Packages []Package         `json:"packages"`
	// Programs are the versions the programs told inside the finished tree.
	Programs map[string]string `json:"programs"`
	// Kernel is the guest kernel's release, as in lib/modules/RELEASE.
	Kernel string `json:"kernel,omitempty"`
	// From is where an image of the user's own was taken from, and Config how its programs are run.
	From   string             `json:"from,omitempty"`
	Config *bench.ImageConfig `json:"config,omitempty"`
	Files  int                `json:"files"`
	Bytes  int64              `json:"bytes"` // of all regular files
}

// Package is an installed Debian package.
type Package struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	Arch    string `json:"arch"`
}

var (
	digestPattern = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)
	hashFormat    = regexp.MustCompile(`^[0-9a-f]{64}$`)
)

// DecodeManifest reads manifest.json and checks that it says what an image needs.
func DecodeManifest(data []byte) (Manifest, error) {
	var m Manifest
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&m); err != nil {
		return Manifest{}, fmt.Errorf("image manifest: %w", err)
	}
	if _, err := d.Token(); err != io.EOF {
		return Manifest{}, fmt.Errorf("image manifest: more text after its end")
	}
	switch {
	case m.Format != manifestFormat:
		return Manifest{}, fmt.Errorf("image manifest: format %q, not %q", m.Format, manifestFormat)
	case !digestPattern.MatchString(m.Digest):
		return Manifest{}, fmt.Errorf("image manifest: digest %q is not sha256 and 64 hexadecimal digits", m.Digest)
	case !hashFormat.MatchString(m.RecipeHash):
		return Manifest{}, fmt.Errorf("image manifest: recipe hash %q is not 64 hexadecimal digits", m.RecipeHash)
	case m.Files < 0 || m.Bytes < 0:
		return Manifest{}, fmt.Errorf("image manifest: %d files of %d bytes", m.Files, m.Bytes)
	}
	return m, nil
}

// Encode writes the manifest as indented JSON.
func (m Manifest) Encode() ([]byte, error) {
	b, err := json.MarshalIndent(m, "", "\t")
	if err != nil {
		return nil, fmt.Errorf("image manifest: %w", err)
	}
	return append(b, '\n'), nil
}

// parsePackages reads dpkg's status file (deb822 paragraphs) and returns the
// installed packages in its order, which is by name.
func parsePackages(r io.Reader) ([]Package, error) {
	var packages []Package
	var p Package
	installed, started := false, false
	finish := func() error {
		if started && installed {
			if p.Name == "" || p.Version == "" {
				return fmt.Errorf("dpkg status: package %q without name or version %q", p.Name, p.Version)
			}
			packages = append(packages, p)
		}
		p, installed, started = Package{}, false, false
		return nil
	}
	s := bufio.NewScanner(r)
	s.Buffer(nil, 4<<20)
	for s.Scan() {
		line := s.Text()
		if strings.TrimSpace(line) == "" {
			if err := finish(); err != nil {
				return nil, err
			}
			continue
		}
		if line[0] == ' ' || line[0] == '\t' {
			continue // a continued field; none of ours
		}
		started = true
		field, value, ok := strings.Cut(line, ":")
		if !ok {
			return nil, fmt.Errorf("dpkg status: line %q is not a field", line)
		}
		value = strings.TrimSpace(value)
		switch field {
		case "Package":
			p.Name = value
		case "Version":
			p.Version = value
		case "Architecture":
			p.Arch = value
		case "Status":
			installed = value == "install ok installed"
		}
	}
	if err := s.Err(); err != nil {
		return nil, fmt.Errorf("dpkg status: %w", err)
	}
	return packages, finish()
}
