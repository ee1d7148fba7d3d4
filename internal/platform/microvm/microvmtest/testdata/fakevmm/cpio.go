package main

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
)

// memberOf returns a file of an uncompressed archive in the "newc" format.
func memberOf(archive, name string) ([]byte, error) {
	data, err := os.ReadFile(archive)
	if err != nil {
		return nil, err
	}
	const header, magic = 110, "070701"
	align := func(n int64) int64 { return (n + 3) &^ 3 }
	for at := int64(0); at+header < int64(len(data)); {
		if !bytes.HasPrefix(data[at:], []byte(magic)) {
			return nil, fmt.Errorf("initrd %s: no member at byte %d", archive, at)
		}
		field := func(n int64) int64 {
			v, perr := strconv.ParseInt(string(data[at+6+8*n:at+14+8*n]), 16, 64)
			if perr != nil {
				err = perr
			}
			return v
		}
		size, nameSize := field(6), field(11)
		if err != nil {
			return nil, err
		}
		found := string(data[at+header : at+header+nameSize-1])
		body := align(at + header + nameSize)
		if found == name {
			return data[body : body+size], nil
		}
		at = align(body + size)
	}
	return nil, fmt.Errorf("initrd %s: no %s", archive, name)
}
