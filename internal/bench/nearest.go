package bench

import (
	"fmt"
	"strings"
)

// UnknownWord returns an error that a word is not among the known words. It names the nearest.
func UnknownWord(what, word string, words []string) error {
	return fmt.Errorf("unknown %s %q%s%w", what, word, DidYouMean(word, words), OneOf(words))
}

// DidYouMean asks for the nearest of the words, as the end of a message. It is "" if none is close.
func DidYouMean(word string, words []string) string {
	if n := Nearest(word, words); n != "" && n != word {
		return fmt.Sprintf("; did you mean %q?", n)
	}
	return ""
}

// OneOf returns the hint to take one of the words.
func OneOf(words []string) Hint {
	if len(words) == 0 {
		return "there are none"
	}
	return Hint("one of: " + strings.Join(words, ", "))
}

// Nearest returns the word closest to w, or "" if none is close. A close word has at most one
// typing error per three letters, or is the only one that contains w, or the only one of at least
// four letters within w.
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
	if best = only(words, func(c string) bool { return within(w, c) }); best != "" {
		return best
	}
	return only(words, func(c string) bool { return len(c) >= 4 && within(c, w) })
}

// only returns the one word that is as asked, or "" if none is or several are.
func only(words []string, as func(string) bool) string {
	found := ""
	for _, w := range words {
		switch {
		case !as(w):
		case found != "":
			return ""
		default:
			found = w
		}
	}
	return found
}

func within(part, whole string) bool {
	return strings.Contains(strings.ToLower(whole), strings.ToLower(part))
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
