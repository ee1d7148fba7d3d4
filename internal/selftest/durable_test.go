package selftest

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"tare/internal/host"
	"tare/internal/verify/powercut"
)

// TestDurable loses the power while a certificate is replaced: there is the old one or the new, whole, and the new once it was written.
func TestDurable(t *testing.T) {
	certificate := func(cpus int) *Certificate { return &Certificate{Format: Format, Host: host.Facts{CPUs: cpus}} }
	page := func(cpus int) []byte {
		var b bytes.Buffer
		if err := pageTemplate.Execute(&b, certificate(cpus)); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	pages := [][]byte{page(1), page(22222)}
	powercut.Run(t, powercut.Scenario{
		Before: func(dir string) error { return certificate(1).Write(dir) },
		Act: func(dir string, promise func(string)) error {
			if err := certificate(22222).Write(dir); err != nil {
				return err
			}
			promise("written")
			return nil
		},
		Check: func(dir string, promised []string) error {
			c, err := Read(dir)
			if err != nil || c == nil {
				return fmt.Errorf("no certificate: %w", err)
			}
			text, err := os.ReadFile(filepath.Join(dir, "certificate.html"))
			if err != nil {
				return err
			}
			which := slices.IndexFunc(pages, func(p []byte) bool { return bytes.Equal(p, text) })
			if which < 0 {
				return errors.New("the page is torn")
			}
			if len(promised) > 0 && (c.Host.CPUs == 1 || which == 0) {
				return errors.New("the new certificate is lost")
			}
			return nil
		},
		Guards: `
sync certificate.json.new: before rename to certificate.json
sync certificate.html.new: before rename to certificate.html
sync .: before "written"
`,
	})
}
