package proc

import (
	"fmt"
	"strconv"
	"strings"
)

// Swap is a swap space in use, sizes in bytes.
type Swap struct {
	Path       string
	Size, Used int64
}

// ParseSwaps reads /proc/swaps (proc(5)): a head, then a line for each space,
// sizes in KiB. Blanks in a path are written as octal numbers.
func ParseSwaps(b []byte) ([]Swap, error) {
	var all []Swap
	first := true
	for line := range strings.Lines(string(b)) {
		if first { // the head
			first = false
			continue
		}
		f := strings.Fields(line)
		if len(f) != 5 {
			return nil, fmt.Errorf("swaps: %.200q has %d columns, not 5", line, len(f))
		}
		size, err1 := strconv.ParseInt(f[2], 10, 52)
		used, err2 := strconv.ParseInt(f[3], 10, 52)
		if err1 != nil || err2 != nil || size < 0 || used < 0 || used > size {
			return nil, fmt.Errorf("swaps: %.200q: not a size and what is used of it", line)
		}
		all = append(all, Swap{swapPath.Replace(f[0]), size << 10, used << 10})
	}
	return all, nil
}

var swapPath = strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)
