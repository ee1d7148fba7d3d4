package workload

import (
	"encoding/json"
	"errors"
	"fmt"
)

// scalar is a text for which a number or a truth value may be written too, as
// one does in YAML: argv: [sleep, 1]. It keeps what was written.
type scalar string

// UnmarshalJSON takes any JSON value but a list, a map and null.
func (s *scalar) UnmarshalJSON(data []byte) error {
	switch data[0] {
	case '"':
		return json.Unmarshal(data, (*string)(s))
	case '[', '{', 'n':
		return fmt.Errorf("%s where a text is needed", data)
	}
	*s = scalar(data)
	return nil
}

// texts are the scalars as plain texts.
func texts(scalars []scalar) []string {
	list := make([]string, len(scalars))
	for i, s := range scalars {
		list[i] = string(s)
	}
	return list
}

// plainType says in the user's words what JSON of the wrong type was found.
func plainType(err error) error {
	var te *json.UnmarshalTypeError
	if !errors.As(err, &te) {
		return err
	}
	want := te.Type.String()
	switch te.Type.Kind().String() {
	case "slice":
		want = "a list"
	case "map", "struct":
		want = "a map"
	case "string":
		want = "a text"
	case "bool":
		want = "true or false"
	case "int":
		want = "a whole number"
	}
	if te.Field != "" {
		return fmt.Errorf("%s is a %s, not %s", te.Field, te.Value, want)
	}
	return fmt.Errorf("a %s where %s is needed", te.Value, want)
}
