package result

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

func TestFiguresAreAllThatMayBeAbsent(t *testing.T) {
	var u Usage
	names := map[string]*Measured{}
	for _, f := range u.Figures() {
		names[f.Name] = f.Measured
	}
	row := reflect.ValueOf(&u).Elem()
	for i := range row.NumField() {
		field, ok := row.Field(i).Addr().Interface().(*Measured)
		name, _, _ := strings.Cut(row.Type().Field(i).Tag.Get("json"), ",")
		if ok && names[name] != field {
			t.Errorf("%s is not the figure %q", row.Type().Field(i).Name, name)
		}
		delete(names, name)
	}
	for name := range names {
		t.Errorf("no field is %q", name)
	}
}

func TestWhatIsAbsentStaysUnknown(t *testing.T) {
	text, err := json.Marshal(Usage{GuestCPU: Known(0.5), StealCPU: Known(0), Absent: []string{"other_cpu"}})
	if err != nil || !strings.Contains(string(text), `"guest_cpu":0.5,"layer_cpu":0,"other_cpu":0`) {
		t.Fatalf("%s, %v", text, err)
	}
	var u Usage
	if err := json.Unmarshal(text, &u); err != nil || u.GuestCPU != Known(0.5) || u.StealCPU != Known(0) || u.OtherCPU.Known {
		t.Errorf("%+v, %v", u, err)
	}
}
