package spec_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"tare/internal/spec"
	"tare/internal/spec/spectest"
)

// TestHostileText feeds texts that would exhaust a careless reader.
func TestHostileText(t *testing.T) {
	var bombs strings.Builder
	bombs.WriteString("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n")
	for i := 1; i < 9; i++ {
		a, b := string(rune('0'+i-1)), string(rune('0'+i))
		bombs.WriteString("a" + b + ": &a" + b + " [" + strings.TrimSuffix(strings.Repeat("*a"+a+", ", 10), ", ") + "]\n")
	}
	var pairs strings.Builder
	for i := range 4_000 {
		fmt.Fprintf(&pairs, "k%d: 1, k%d: 1, ", i, i)
	}
	for name, text := range map[string]string{
		"nested brackets":  "a: " + strings.Repeat("[", 5_000) + strings.Repeat("]", 5_000),
		"open brackets":    strings.Repeat("[", spec.MaxText),
		"brackets, quoted": strings.Repeat(`[ "]", `, spec.MaxText/8),
		"lists in a line":  strings.Repeat("- ", spec.MaxText/2),
		"keys in a line":   strings.Repeat("? ", spec.MaxText/2),
		"nested keys":      strings.Repeat("{a: ", 5_000),
		"many keys":        "a: {" + strings.Repeat("x: 1, ", 9_000) + "}",
		"each key twice":   "a: {" + pairs.String() + "}",
		"too long":         "a: " + strings.Repeat("x", 100_000),
		"alias bomb":       bombs.String(),
		"not UTF-8":        "a: \xff\xfe",
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			defer func(began time.Time) {
				runtime.ReadMemStats(&after)
				if took, bytes := time.Since(began), after.TotalAlloc-before.TotalAlloc; took > 10*time.Second || bytes > 150<<20 {
					t.Errorf("it took %v and %d MiB", took, bytes>>20)
				}
			}(time.Now())
			if _, err := spec.Parse("x.yaml", []byte(text), nil, spectest.Vocabulary()); err == nil {
				t.Error("was read")
			} else if len(err.Error()) > 8<<10 {
				t.Errorf("an error of %d bytes", len(err.Error()))
			}
		})
	}
}
