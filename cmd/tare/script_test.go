package main

import (
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"tare/internal/app/site"
	"tare/internal/image"
	"tare/internal/result/store"
	"tare/internal/result/store/storetest"
)

// TestScripts drives the program as a user does. Beside testscript's own
// commands the scripts have:
//
//	exits STATUS COMMAND...   run a command that ends with the status
//	imaged FILE[=MODE]...     put files into the image, as if it had been built
//	held DIR                  hold the lock of the run in DIR, as a run that goes on does, to the end of the script
//	begun DIR                 remember the run in DIR as one that began on this host
//	synthetic DIR [MISSING] [NAME=VALUE]...   write a run, the last trials of which may be missing
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(e *testscript.Env) error {
			e.Setenv("PATH", bin+string(filepath.ListSeparator)+os.Getenv("PATH"))
			e.Values[testingTB{}] = e.T()
			e.Setenv("TARE_STATE", filepath.Join(e.WorkDir, "state"))
			e.Setenv("TARE_LOCK", filepath.Join(e.WorkDir, "measure.lock"))
			return nil
		},
		Condition: func(what string) (bool, error) {
			if what != "root" {
				return false, errors.New("unknown condition")
			}
			return os.Geteuid() == 0, nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": exits, "synthetic": synthetic, "begun": begun, "held": held, "imaged": imaged,
		},
	})
}

// testingTB is the key of the script's test among its values.
type testingTB struct{}

func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits STATUS COMMAND...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	err = ts.Exec(args[1], args[2:]...)
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		got = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("exit status %d, not %d", got, want)
	}
}

func synthetic(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 {
		ts.Fatalf("usage: synthetic DIR [MISSING] [seed=N] [blocks=N] [noise=SD] [fail=EVERY] [cases=N] [PLATFORM=FACTOR]...")
	}
	o := storetest.Options{Cases: []string{"cpu", "startup"}, Blocks: 4, Seconds: 2, FailEvery: 7, Ratio: maps.Clone(storetest.DefaultRatio)}
	for _, arg := range args[1:] {
		name, value, named := strings.Cut(arg, "=")
		if !named {
			name, value = "missing", arg
		}
		v, err := strconv.ParseFloat(value, 64)
		ts.Check(err)
		switch name {
		case "missing":
			o.Missing = int(v)
		case "seed":
			o.Seed = uint64(v)
		case "blocks":
			o.Blocks = int(v)
		case "noise":
			o.Noise = v
		case "fail":
			o.FailEvery = int(v)
		case "cases":
			o.Cases = o.Cases[:int(v)]
		default:
			o.Ratio[name] *= v
		}
	}
	t := ts.Value(testingTB{}).(testing.TB)
	ts.Check(storetest.Synthetic(t, ts.MkAbs(args[0]), o).Close())
}

func begun(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: begun DIR")
	}
	ts.Check(remember(ts.Getenv("TARE_STATE"), ts.MkAbs(args[0])))
}

func imaged(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 {
		ts.Fatalf("usage: imaged FILE... FILE=MODE...")
	}
	root := filepath.Join(ts.Getenv("TARE_STATE"), "images", image.Golden().Hash()[:12], "root")
	for _, arg := range args {
		file, octal, ok := strings.Cut(arg, "=")
		if !ok {
			octal = "755"
		}
		mode, err := strconv.ParseUint(octal, 8, 32)
		ts.Check(err)
		ts.Check(os.MkdirAll(filepath.Join(root, filepath.Dir(file)), 0o755))
		ts.Check(os.WriteFile(filepath.Join(root, file), nil, os.FileMode(mode)))
	}
}

func held(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: held DIR")
	}
	r, _, err := store.OpenForResume(ts.MkAbs(args[0]))
	ts.Check(err)
	ts.Defer(func() { r.Close() })
}

// remember has the state directory know the run in a folder as one that began
// here as it is now.
func remember(state, dir string) error {
	r, err := store.Open(dir)
	if err != nil {
		return err
	}
	defer r.Close()
	if err := os.MkdirAll(state, 0o700); err != nil {
		return err
	}
	if err := os.Remove(filepath.Join(state, "begun", r.Header().Run)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return (&site.Site{Dir: state}).Begin(r)
}
