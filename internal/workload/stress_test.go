package workload

import (
	"errors"
	"strings"
	"testing"

	"tare/internal/bench"
)

func TestStressSteps(t *testing.T) {
	w := stress{}
	for _, c := range []struct {
		given bench.Params
		pids  int
		want  string
	}{
		{nil, 0, "--cpu 2 --cpu-method matrixprod"},
		{bench.Params{"workers": "3"}, 0, "--cpu 3 --cpu-method matrixprod"},
		{bench.Params{"busy": "25"}, 0, "--cpu 2 --cpu-method matrixprod --cpu-load 25"},
		{bench.Params{"kind": "io"}, 0, "--hdd 2 --hdd-bytes 67108864 --hdd-opts direct"},
		{bench.Params{"kind": "memory"}, 0, "--vm 2 --vm-bytes 268435456 --vm-keep --vm-method write64"},
		{bench.Params{"kind": "fork"}, 0, "--fork 2 --fork-max 32"},
		{bench.Params{"kind": "fork"}, 40, "--fork 2 --fork-max 8"},
	} {
		s := setting()
		s.Shape.Pids = c.pids
		steps, err := w.Steps(bench.SubjectPart, fill(t, w, c.given), s)
		if err != nil {
			t.Fatal(err)
		}
		if argv := strings.Join(steps.Main.Argv, " "); argv != "stress-ng --timeout 0 --temp-path /scratch "+c.want {
			t.Errorf("%v: %s", c.given, argv)
		}
		if !steps.Service {
			t.Errorf("%v: not a service", c.given)
		}
	}
	for _, c := range []struct {
		given bench.Params
		shape bench.Shape
	}{
		{bench.Params{"kind": "io"}, bench.Shape{Disk: 64 * bench.MiB}},
		{bench.Params{"kind": "memory", "workers": "1000"}, bench.Shape{Memory: 64 * bench.MiB}},
		{bench.Params{"kind": "fork"}, bench.Shape{Pids: 4}},
		{bench.Params{"kind": "io", "busy": "50"}, bench.Shape{Disk: bench.GiB}},
		{bench.Params{"busy": "101"}, bench.Shape{}},
	} {
		s := setting()
		s.Shape = c.shape
		if _, err := w.Steps(bench.SubjectPart, fill(t, w, c.given), s); !errors.Is(err, bench.ErrInvalid) {
			t.Errorf("%v in %+v: %v", c.given, c.shape, err)
		}
	}
}
