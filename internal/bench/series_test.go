package bench

import (
	"math"
	"slices"
	"strings"
	"testing"
)

func TestSeriesCheck(t *testing.T) {
	if err := (Series{Metric: "iops", Step: 0.1, Values: []float64{3, 0, 5}}).Check(); err != nil {
		t.Error(err)
	}
	for says, s := range map[string]Series{
		"no values":               {Step: 1},
		"65537 values":            {Step: 1, Values: make([]float64, MaxPoints+1)},
		"a step of 0 s":           {Values: []float64{1}},
		"a step of NaN s":         {Step: math.NaN(), Values: []float64{1}},
		"a step of 3601 s":        {Step: 3601, Values: []float64{1}},
		"value 2 is -1":           {Step: 1, Values: []float64{1, -1}},
		"value 1 is NaN":          {Step: 1, Values: []float64{math.NaN()}},
		"value 1: +Inf":           {Step: 1, Values: []float64{math.Inf(1)}},
		"series of iops: value 1": {Metric: "iops", Step: 1, Values: []float64{1e300}},
	} {
		if err := s.Check(); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", says, err)
		}
	}
}

// The subjects' add up as far as all go; whatever else has one does not count.
func TestSeriesOfAllSubjects(t *testing.T) {
	of := func(role Role, step float64, values ...float64) ActorOutcome {
		return ActorOutcome{Role: role, Series: []Series{{Metric: "iops", Step: step, Values: values}}}
	}
	o := Outcome{Actors: []ActorOutcome{of(Neighbour, 2, 9), of(Subject, 1, 1, 2, 3), of(Subject, 1, 10, 20)}}
	s, ok := o.SeriesOf("iops")
	if !ok || s.Step != 1 || !slices.Equal(s.Values, []float64{11, 22}) || s.Metric != "iops" {
		t.Errorf("%+v, %t", s, ok)
	}
	if o.Actors[1].Series[0].Values[0] != 1 {
		t.Error("the subject's own is changed")
	}
	if _, ok := o.SeriesOf("bandwidth"); ok {
		t.Error("a series of a metric that has none")
	}
	for what, a := range map[string]ActorOutcome{"none": {Role: Subject}, "one of another step": of(Subject, 0.5, 1)} {
		other := Outcome{Actors: append(slices.Clone(o.Actors), a)}
		if _, ok := other.SeriesOf("iops"); ok {
			t.Errorf("a series though a subject has %s", what)
		}
	}
}
