// Echo stands in for the agent: it greets with one line and returns every byte
// it gets, until its input ends. Like the agent it holds programs.
package main

import (
	"io"
	"os"

	"tare/internal/guest/spawn"
)

func main() {
	if len(os.Args) == 3 && os.Args[1] == "hold" {
		spawn.Hold(os.Args[2]) // it has told the driver what is wrong
		os.Exit(1)
	}
	os.Stdout.WriteString("echo\n")
	if _, err := io.Copy(os.Stdout, os.Stdin); err != nil {
		os.Stderr.WriteString(err.Error() + "\n")
		os.Exit(1)
	}
}
