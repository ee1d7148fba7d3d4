package image

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"

	"tare/internal/bench"
)

// versionPattern is how programs write their versions: "1.0.20", "fio-3.39", "5.0.7".
var versionPattern = regexp.MustCompile(`\d+(\.\d+)+`)

// programVersions makes sure that every program is in the tree and runs there,
// and returns their versions as they tell them themselves, or as dpkg does.
func programVersions(ctx context.Context, root string, programs []Program, packages []Package) (map[string]string, error) {
	versions := map[string]string{}
	for _, p := range programs {
		if _, err := os.Lstat(filepath.Join(root, p.Path)); err != nil {
			return nil, fmt.Errorf("image program %s: %w", p.Name, err)
		}
		var err error
		if p.Args == nil {
			versions[p.Name], err = packageVersion(packages, p.Package)
		} else {
			versions[p.Name], err = askVersion(ctx, root, p)
		}
		if err != nil {
			return nil, fmt.Errorf("image program %s: %w", p.Name, err)
		}
	}
	return versions, nil
}

func packageVersion(packages []Package, name string) (string, error) {
	for _, p := range packages {
		if p.Name == name {
			return p.Version, nil
		}
	}
	return "", fmt.Errorf("package %s is not installed", name)
}

// askVersion runs the program in the tree.
func askVersion(ctx context.Context, root string, p Program) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, p.Path, p.Args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: root}
	cmd.Dir = "/"
	cmd.Env = []string{"PATH=/usr/sbin:/usr/bin", "LC_ALL=C", "HOME=/root"}
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w: %s", p.Path, strings.Join(p.Args, " "), err, strings.TrimSpace(string(out)))
	}
	v := versionPattern.FindString(string(out))
	if v == "" {
		return "", fmt.Errorf("%s %s: no version in %q", p.Path, strings.Join(p.Args, " "), out)
	}
	return v, nil
}

// need finds a program of the host; the error says which package has it.
func need(program, pkg string) (string, error) {
	path, err := exec.LookPath(program)
	if errors.Is(err, exec.ErrNotFound) {
		// Root's PATH may lack the directories of root's programs.
		for _, dir := range []string{"/usr/sbin", "/sbin"} {
			if p, err := exec.LookPath(filepath.Join(dir, program)); err == nil {
				return p, nil
			}
		}
	}
	if err != nil {
		return "", fmt.Errorf("%s is not installed: %w%w", program, bench.ErrUnavailable, bench.Hint("apt install "+pkg))
	}
	return path, nil
}
