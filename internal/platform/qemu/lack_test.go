package qemu

import (
	"errors"
	"testing"

	"tare/internal/bench"
	"tare/internal/platform/launch"
)

// Options that exclude each other are lacks of every host.
func TestExclusive(t *testing.T) {
	known := TCG().Options()
	for _, c := range []struct {
		options map[string]string
		ok      bool
	}{
		{nil, true},
		{map[string]string{optAIO: aioNative}, true}, // the default goes around the cache
		{map[string]string{optAIO: aioNative, optCache: "directsync"}, true},
		{map[string]string{optAIO: aioNative, optCache: "writeback"}, false},
		{map[string]string{optMachine: machineMicro, optBus: "ide"}, false},
		{map[string]string{optNet: netUser, optVhost: "on"}, false},
		{map[string]string{optPages: pagesHuge, optKSM: "on"}, false},
		{map[string]string{optPages: pagesHuge, optKSM: "off"}, true},
		{map[string]string{bench.GuestOption: bench.OwnGuest}, true},
		{map[string]string{bench.GuestOption: bench.OwnGuest, optMachine: machineMicro, optVhost: "on", optPin: "on"}, true},
		{map[string]string{bench.GuestOption: bench.OwnGuest, optInit: initSystemd}, false},
		{map[string]string{bench.GuestOption: bench.OwnGuest, optBalloon: "yes"}, false},
		{map[string]string{bench.GuestOption: bench.OwnGuest, optNet: netUser}, false},
		{map[string]string{bench.GuestOption: bench.OwnGuest, optBus: "nvme"}, false},
		{map[string]string{bench.GuestOption: bench.OwnGuest, optCache: "directsync"}, false},
		{map[string]string{bench.GuestOption: bench.OwnGuest, optRoot: "raw"}, false},
	} {
		err := checkTogether(bench.Variant(known, c.options))
		if (err == nil) != c.ok || err != nil && (!errors.Is(err, bench.ErrInvalid) || bench.HintOf(err) == "") {
			t.Errorf("%v: %v (hint %q)", c.options, err, bench.HintOf(err))
		}
	}
}

func TestBuiltWith(t *testing.T) {
	if _, err := launch.Program(program); err != nil {
		t.Skip(err)
	}
	if err := builtWith("libc.so"); err != nil {
		t.Error(err)
	}
	if err := builtWith("libnosuch.so"); !errors.Is(err, bench.ErrUnavailable) || bench.HintOf(err) == "" {
		t.Errorf("%v (hint %q)", err, bench.HintOf(err))
	}
}
