package domain

import (
	"encoding/hex"
	"errors"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"tare/internal/bench"
)

// What Xen 4.20 answered about its control domain and about a paravirtual
// domain of 256 MiB, of which xl list said at the same time that they had run 18.2 and 7.8 s.
var (
	control = captured("000000002000ffff00800200000000000080020000000000000000000000000000000000000000000000000000000000643d040000000000eb85a83104000000010000000000000000000000000000000000000000000000000000000000000028000000000000000001000000000000000000000000000000000000000000000000000000000000")
	guest   = captured("010000000000ffff00000100000000000001010000000000000000000000000000000000000000000000000000000000613c0400000000000e8e4ed1010000000100000000000000000000007bd961a2e5d211f1b70afb57fe017f4c0000000028000000000000000000000000000000000000000000000000000000000000000000000000000000")
)

func captured(text string) []byte {
	b, err := hex.DecodeString(strings.Join(strings.Fields(text), ""))
	if err != nil {
		panic(err)
	}
	return b
}

func TestParseInfo(t *testing.T) {
	for number, c := range map[int]struct {
		answer []byte
		want   Info
	}{
		0: {control, Info{CPU: 18.012997099, VCPUs: 1}},
		1: {guest, Info{CPU: 7.806553614, VCPUs: 1}},
	} {
		got, err := parseInfo(c.answer, number)
		if err != nil || got != c.want {
			t.Errorf("domain %d: %+v, %v; want %+v", number, got, err, c.want)
		}
	}
	dying := append([]byte(nil), guest...)
	dying[placeFlags] |= flagDying
	if got, err := parseInfo(dying, 1); err != nil || !got.Dying {
		t.Errorf("a dying domain: %+v, %v", got, err)
	}
}

// The hypervisor answers with the next domain there is: it is not the one asked for.
func TestParseInfoOfAnother(t *testing.T) {
	if _, err := parseInfo(guest, 0); !errors.Is(err, unix.ESRCH) {
		t.Errorf("domain 1 in place of 0: %v", err)
	}
	if _, err := parseInfo(guest[:20], 1); err == nil {
		t.Error("20 bytes were taken for a description")
	}
}

func FuzzParseInfo(f *testing.F) {
	f.Add(control, 0)
	f.Add(guest, 1)
	f.Fuzz(func(t *testing.T, answer []byte, number int) {
		if i, err := parseInfo(answer, number); err == nil && i.CPU < 0 {
			t.Errorf("ran %v s", i.CPU)
		}
	})
}

// TestRequest writes the structure as sysctl.h has it.
func TestRequest(t *testing.T) {
	p := make([]byte, 256)
	p[200] = 1 // left by the request before
	putRequest(p, 0x15, 3, 0x7f0000000400)
	want := captured("06000000 15000000 0300 0000 01000000 0004 0000 007f 0000 00000000")
	if got := p[:len(want)]; string(got) != string(want) || p[200] != 0 {
		t.Errorf("% x, want % x", got, want)
	}
}

// On a host that runs no Xen there is nobody to ask.
func TestOpenWithoutXen(t *testing.T) {
	h, err := Open()
	if err == nil {
		h.Close()
		t.Skip("this host is Xen's control domain")
	}
	if !errors.Is(err, bench.ErrUnavailable) {
		t.Errorf("%v", err)
	}
}
