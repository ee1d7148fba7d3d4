package launch

import (
	"context"
	"fmt"
	"os/exec"
	"regexp"
)

// Version asks an installed program for its version, by --version.
func Version(ctx context.Context, name string) (string, error) {
	path, err := Program(name)
	if err != nil {
		return "", err
	}
	out, err := exec.CommandContext(ctx, path, "--version").Output()
	if err != nil {
		return "", fmt.Errorf("%s --version: %w", name, err)
	}
	return parseVersion(string(out))
}

var versionWord = regexp.MustCompile(`\bv?([0-9]+\.[0-9]+[0-9A-Za-z.+~:-]*)`)

// parseVersion finds the version in what a program prints for --version.
func parseVersion(text string) (string, error) {
	m := versionWord.FindStringSubmatch(text)
	if m == nil {
		return "", fmt.Errorf("no version in %q", text)
	}
	return m[1], nil
}
