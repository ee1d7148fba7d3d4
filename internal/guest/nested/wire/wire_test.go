package wire

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"testing"

	"tare/internal/bench"
)

func TestErrorsSurviveTheWay(t *testing.T) {
	for _, cause := range []error{bench.ErrUnavailable, bench.ErrInvalid, errors.New("other")} {
		said := fmt.Errorf("open docker: %w%w", cause, bench.Hint("install it"))
		line, err := json.Marshal(Fail(said))
		if err != nil {
			t.Fatal(err)
		}
		var a Answer
		if err := json.Unmarshal(line, &a); err != nil {
			t.Fatal(err)
		}
		got := a.Err()
		if got.Error() != said.Error() || bench.HintOf(got) != "install it" {
			t.Errorf("%q with hint %q became %q with hint %q", said, bench.HintOf(said), got, bench.HintOf(got))
		}
		for _, kind := range []error{bench.ErrUnavailable, bench.ErrInvalid} {
			if errors.Is(got, kind) != errors.Is(said, kind) {
				t.Errorf("%v: is %v: %t", said, kind, errors.Is(got, kind))
			}
		}
	}
	if err := (Answer{}).Err(); err != nil {
		t.Errorf("an answer without an error gives %v", err)
	}
}

func TestMissingValuesStayMissing(t *testing.T) {
	line, err := json.Marshal(Pack([]float64{1.5, math.NaN(), 0}))
	if err != nil || string(line) != "[1.5,null,0]" {
		t.Fatalf("%s, %v", line, err)
	}
	var v Values
	if err := json.Unmarshal(line, &v); err != nil {
		t.Fatal(err)
	}
	got := make([]float64, 3)
	if err := v.Unpack(got); err != nil || got[0] != 1.5 || !math.IsNaN(got[1]) || got[2] != 0 {
		t.Errorf("%v, %v", got, err)
	}
	if err := v.Unpack(make([]float64, 2)); err == nil {
		t.Error("three values filled two columns")
	}
}
