package workload

import (
	"fmt"
	"strings"

	"tare/internal/bench"
)

// suggest is the hint after an unknown word: the nearest valid one if it is
// near enough to be meant, and all of them otherwise.
func suggest(word string, valid []string) bench.Hint {
	if len(valid) == 0 {
		return bench.Hint("there are none")
	}
	nearest, best := "", len(word)/2+1
	for _, v := range valid {
		if d := editDistance(word, v); d < best {
			nearest, best = v, d
		}
	}
	if nearest != "" {
		return bench.Hint(fmt.Sprintf("did you mean %s?", nearest))
	}
	return bench.Hint("one of " + strings.Join(valid, ", "))
}

// editDistance is the Levenshtein distance of a and b in bytes.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			substitute := diagonal
			if a[i] != b[j] {
				substitute++
			}
			diagonal = row[j+1]
			row[j+1] = min(substitute, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
