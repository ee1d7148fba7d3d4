// Echo stands in for the agent: it greets with one line and returns every byte
// it gets, until its input ends.
package main

import (
	"io"
	"os"
)

func main() {
	os.Stdout.WriteString("echo\n")
	if _, err := io.Copy(os.Stdout, os.Stdin); err != nil {
		os.Stderr.WriteString(err.Error() + "\n")
		os.Exit(1)
	}
}
