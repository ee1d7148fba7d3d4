package result

import (
	"encoding/json"
	"os"
	"reflect"
	"strings"
	"testing"
)

func TestFormatNamesEveryFieldOfTheResult(t *testing.T) {
	const page = "docs/format/result.md"
	text, err := os.ReadFile("../../" + page)
	if err != nil {
		t.Fatal(err)
	}
	var walk func(reflect.Type)
	walk = func(typ reflect.Type) {
		switch typ.Kind() {
		case reflect.Pointer, reflect.Slice, reflect.Map, reflect.Array:
			walk(typ.Elem())
		case reflect.Struct:
			if typ.PkgPath() != reflect.TypeFor[Result]().PkgPath() || typ.Implements(reflect.TypeFor[json.Marshaler]()) {
				return // a type of the plan's, described there, or one that is a number in JSON
			}
			for i := range typ.NumField() {
				if !typ.Field(i).IsExported() {
					continue
				}
				name, _, _ := strings.Cut(typ.Field(i).Tag.Get("json"), ",")
				if !strings.Contains(string(text), "`"+name+"`") {
					t.Errorf("%s.%s: %s does not name %q", typ.Name(), typ.Field(i).Name, page, name)
				}
				walk(typ.Field(i).Type)
			}
		}
	}
	walk(reflect.TypeFor[Result]())
}
