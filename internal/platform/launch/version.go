package launch

import (
	"context"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
)

// Version asks an installed program for its version, by --version.
func Version(ctx context.Context, name string) (string, error) {
	return VersionOf(ctx, name, "")
}

// VersionOf is Version of a program that must begin what it prints with a banner,
// so that another of the same name is not taken for it.
func VersionOf(ctx context.Context, name, banner string) (string, error) {
	out, err := About(ctx, name)
	if err != nil {
		return "", err
	}
	if !strings.HasPrefix(string(out), banner) {
		first, _, _ := strings.Cut(string(out), "\n")
		return "", fmt.Errorf("%s is another program of that name: its version is %.100q", name, first)
	}
	return parseVersion(string(out))
}

// VersionBy asks a program for its version by these arguments.
func VersionBy(ctx context.Context, name string, args ...string) (string, error) {
	out, err := Output(ctx, name, args...)
	if err != nil {
		return "", err
	}
	return parseVersion(string(out))
}

// About is what a program prints of itself for --version. Nothing is left by that:
// crun, which is krun as well, first makes the directory in which it keeps containers, and is told one that is there.
func About(ctx context.Context, name string) ([]byte, error) {
	args := []string{"--version"}
	if program := filepath.Base(name); program == "crun" || program == "krun" {
		args = []string{"--root=/", "--version"}
	}
	return Output(ctx, name, args...)
}

var (
	versionWord = regexp.MustCompile(`\bv?([0-9]+\.[0-9]+[0-9A-Za-z.+~:-]*)`)
	// specLine is the version of the runtime specification, which is no version of the program.
	specLine = regexp.MustCompile(`(?m)^spec:.*$`)
	// unnumbered is what a build without a version says: "runsc version VERSION_MISSING".
	unnumbered = regexp.MustCompile(`^\w+ version (\w+)`)
)

// parseVersion finds the version in what a program prints for --version.
func parseVersion(text string) (string, error) {
	text = specLine.ReplaceAllString(text, "")
	m := versionWord.FindStringSubmatch(text)
	if m == nil {
		m = unnumbered.FindStringSubmatch(text)
	}
	if m == nil {
		return "", fmt.Errorf("no version in %q", text)
	}
	return m[1], nil
}
