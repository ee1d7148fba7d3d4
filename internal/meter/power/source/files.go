package source

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// Whole reads a small file of the kernel's that holds one whole number.
func Whole(path string) (int64, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	v, err := parseWhole(b)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", path, err)
	}
	return v, nil
}

func parseWhole(b []byte) (int64, error) {
	v, err := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%.40q is not a whole number", b)
	}
	return v, nil
}
