package spec

import (
	"fmt"
	"strings"

	"tare/internal/bench"
)

// unknown returns an error that a word is not among the known words. It names the nearest.
func unknown(what, word string, words []string) error {
	if n := Nearest(word, words); n != "" {
		return fmt.Errorf("unknown %s %q; did you mean %q?%w", what, word, n, oneOf(words))
	}
	return fmt.Errorf("unknown %s %q%w", what, word, oneOf(words))
}

// oneOf returns the hint to take one of the words.
func oneOf(words []string) bench.Hint {
	if len(words) == 0 {
		return "there are none"
	}
	return bench.Hint("one of: " + strings.Join(words, ", "))
}

// Nearest returns the word closest to w, or "" if none is close. A close word has at most one
// typing error per three letters, or is the only one that contains w.
func Nearest(w string, words []string) string {
	best, at := "", max(1, len(w)/3)+1
	for _, c := range words {
		if d := slips(strings.ToLower(w), strings.ToLower(c)); d < at {
			best, at = c, d
		}
	}
	if best != "" || len(w) < 3 {
		return best
	}
	for _, c := range words {
		switch {
		case !strings.Contains(strings.ToLower(c), strings.ToLower(w)):
		case best != "":
			return "" // not the only one
		default:
			best = c
		}
	}
	return best
}

// slips returns the optimal string alignment distance of a and b: the number of letters to insert,
// delete, replace or swap with their neighbour.
func slips(a, b string) int {
	s, t := []rune(a), []rune(b)
	before, last := make([]int, len(t)+1), make([]int, len(t)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(s); i++ {
		row := make([]int, len(t)+1)
		row[0] = i
		for j := 1; j <= len(t); j++ {
			replace := last[j-1]
			if s[i-1] != t[j-1] {
				replace++
			}
			row[j] = min(last[j]+1, row[j-1]+1, replace)
			if i > 1 && j > 1 && s[i-1] == t[j-2] && s[i-2] == t[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last = last, row
	}
	return last[len(t)]
}
