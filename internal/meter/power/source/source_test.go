package source

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"tare/internal/bench"
)

func TestParse(t *testing.T) {
	n, err := Parse("snmp://pdu.lab:1161/raritan?outlet=3,4&every=500ms")
	if err != nil {
		t.Fatal(err)
	}
	if n.Scheme != "snmp" || n.Host != "pdu.lab" || n.Address(161) != "pdu.lab:1161" || n.Path != "raritan" {
		t.Errorf("%+v", n)
	}
	if o, err := n.Numbers("outlet"); err != nil || len(o) != 2 || o[1] != 4 {
		t.Errorf("outlets %v, %v", o, err)
	}
	if err := n.Takes([]string{"outlet", "step"}); err == nil || !strings.Contains(err.Error(), `"every"`) || bench.HintOf(err) != "it takes: outlet, step" {
		t.Errorf("an option nobody takes: %v", err)
	}
	if d, err := n.Every(time.Second); err != nil || d != 500*time.Millisecond {
		t.Errorf("every %v, %v", d, err)
	}
	if err := n.Takes([]string{"outlet", "every"}); err != nil {
		t.Error(err)
	}
	for _, text := range []string{"model:idle=60,core=12.5,every=1s", "model:idle=60,core=12.5?every=1s", "model:?idle=60&core=12.5&every=1s"} {
		short, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if v, err := short.Number("core", 0, 0, 1000); err != nil || v != 12.5 {
			t.Errorf("%s: core %v, %v", text, v, err)
		}
		if v, err := short.Every(0); err != nil || v != time.Second {
			t.Errorf("%s: every %v, %v", text, v, err)
		}
	}
}

func TestBadNames(t *testing.T) {
	for text, want := range map[string]string{
		"":                             "not the name",
		"pdu":                          "not the name",
		"SNMP://x":                     "not the name",
		"snmp://x:99999/":              "port",
		"ipmi://root:hunter2@bmc":      "a password in its name",
		"ipmi://root:hunt er2@bmc/%zz": "not the name",
		"snmp://x?outlet=1&outlet=2":   "2 times",
		"snmp://x?%zz":                 "cannot be read",
	} {
		_, err := Parse(text)
		if err == nil || !strings.Contains(err.Error(), want) || !errors.Is(err, bench.ErrInvalid) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
		if err != nil && strings.Contains(err.Error()+bench.HintOf(err), "hunt") {
			t.Errorf("the password is in the message: %v", err)
		}
	}
}

func TestBadOptions(t *testing.T) {
	n, err := Parse("snmp://x?outlet=0&step=-1&every=1ms&update=x")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := n.Numbers("outlet"); err == nil || !strings.Contains(err.Error(), "outlet=0") {
		t.Error(err)
	}
	if _, err := n.Number("step", 1, 0, 10); err == nil || !strings.Contains(err.Error(), "step=-1") {
		t.Error(err)
	}
	if _, err := n.Every(time.Second); err == nil || !strings.Contains(err.Error(), "every=1ms") {
		t.Error(err)
	}
	if _, err := n.Update(time.Second); err == nil || !strings.Contains(err.Error(), "update=x") {
		t.Error(err)
	}
}

func TestSecrets(t *testing.T) {
	path := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(path, []byte("from a file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PDU_SECRET", "from outside")
	for given, want := range map[string]string{"env:PDU_SECRET": "from outside", "file:" + path: "from a file"} {
		n, err := Parse("snmp://x?community=" + given)
		if err != nil {
			t.Fatal(err)
		}
		if s, err := n.Secret("community", ""); err != nil || s != want {
			t.Errorf("%s is %q, %v", given, s, err)
		}
	}
	for _, given := range []string{"hunter2", "env:NOT_THERE_AT_ALL", "file:/nowhere/at/all"} {
		n, err := Parse("snmp://x?community=" + given)
		if err != nil {
			t.Fatal(err)
		}
		_, err = n.Secret("community", "")
		if err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", given, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"snmp://a/b?c=d", "model:idle=1,core=2", "rapl:", "ipmi://u:p@h:623", "x:%zz", "redfish://u@[::1]:8443/a/b?insecure=yes"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		n, err := Parse(text)
		if err != nil {
			if !errors.Is(err, bench.ErrInvalid) {
				t.Errorf("%q: %v does not say invalid", text, err)
			}
			return
		}
		if n.Scheme == "" || n.Text != text {
			t.Errorf("%q: %+v", text, n)
		}
		for _, ask := range []func() error{
			func() error { _, err := n.Numbers("outlet"); return err },
			func() error { _, err := n.Number("step", 1, 0, 10); return err },
			func() error { _, err := n.Every(time.Second); return err },
		} {
			if err := ask(); err != nil && !errors.Is(err, bench.ErrInvalid) {
				t.Errorf("%q: %v", text, err)
			}
		}
	})
}

func TestWatts(t *testing.T) {
	for _, w := range []float64{0, -3, 1e9} {
		if Watts(w) == nil {
			t.Errorf("%g W passes", w)
		}
	}
	if err := Watts(0.4); err != nil {
		t.Error(err)
	}
}

// Every whole number is read as it was written, and nothing else.
func FuzzParseWhole(f *testing.F) {
	f.Add([]byte("231500000\n"))
	f.Add([]byte("-1"))
	f.Add([]byte("lots"))
	f.Fuzz(func(t *testing.T, b []byte) {
		v, err := parseWhole(b)
		if again, bad := parseWhole([]byte(strconv.FormatInt(v, 10))); err == nil && (bad != nil || again != v) {
			t.Errorf("%q is %d, and that %d, %v", b, v, again, bad)
		}
	})
}
