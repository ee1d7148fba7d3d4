package image

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"tare/internal/host/tool"
	"tare/internal/host/tree"
)

// unpackKernel turns WORK/kernel, which holds one package file, into
// boot/vmlinuz-RELEASE and lib/modules/RELEASE and returns the release.
func (s *Store) unpackKernel(ctx context.Context, work string) (string, error) {
	dir := filepath.Join(work, "kernel")
	if s.Recipe.Kernel == "" {
		return "", tree.Remove(dir)
	}
	pkg, err := theOne(dir, "*.deb")
	if err != nil {
		return "", err
	}
	s.say("unpacking the guest kernel")
	all := filepath.Join(work, "kernel-package")
	if err := command(ctx, "dpkg-deb", "dpkg", "-x", pkg, all); err != nil {
		return "", err
	}
	image, err := theOne(all, "boot/vmlinuz-*")
	if err != nil {
		return "", err
	}
	release := strings.TrimPrefix(filepath.Base(image), "vmlinuz-")
	modules := filepath.Join(all, "usr/lib/modules", release)
	if _, err := os.Stat(modules); err != nil { // before Debian 13
		modules = filepath.Join(all, "lib/modules", release)
	}
	for _, d := range []string{"boot", "lib/modules"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
			return "", err
		}
	}
	for from, to := range map[string]string{
		image: "boot",
		filepath.Join(all, "boot/config-"+release): "boot",
		modules: "lib/modules",
	} {
		if err := os.Rename(from, filepath.Join(dir, to, filepath.Base(from))); err != nil {
			return "", fmt.Errorf("kernel package %s: %w", filepath.Base(pkg), err)
		}
	}
	if err := depmod(ctx, dir, release); err != nil {
		return "", err
	}
	if err := os.Remove(pkg); err != nil {
		return "", err
	}
	return release, tree.Remove(all)
}

// depmod writes modules.dep, which the package leaves to its installation
// script. Newer versions of the program look below usr/ first, so for its time
// that is the same directory.
func depmod(ctx context.Context, dir, release string) error {
	if err := os.Symlink(".", filepath.Join(dir, "usr")); err != nil {
		return err
	}
	if err := command(ctx, "depmod", "kmod", "-b", dir, release); err != nil {
		return err
	}
	return os.Remove(filepath.Join(dir, "usr"))
}

// theOne returns the single file in dir that matches.
func theOne(dir, pattern string) (string, error) {
	found, err := fs.Glob(os.DirFS(dir), pattern)
	if err != nil {
		return "", err
	}
	if len(found) != 1 {
		return "", fmt.Errorf("kernel package: %d files match %s, not one", len(found), pattern)
	}
	return filepath.Join(dir, found[0]), nil
}

// command runs a program of the host; what it prints is for its error.
func command(ctx context.Context, program, pkg string, args ...string) error {
	path, err := need(program, pkg)
	if err != nil {
		return err
	}
	return tool.Run(ctx, tool.Slow, exec.Command(path, args...))
}

// builderVersions are the versions of the host's programs that shape an image.
func builderVersions(ctx context.Context) (map[string]string, error) {
	versions := map[string]string{}
	for _, program := range []string{"mmdebstrap", "dpkg-deb"} {
		path, err := need(program, program)
		if err != nil {
			return nil, err
		}
		out, err := tool.Output(ctx, tool.Deadline, exec.Command(path, "--version"))
		if err != nil {
			return nil, fmt.Errorf("%s --version: %w", program, err)
		}
		versions[program] = versionPattern.FindString(string(out))
	}
	return versions, nil
}
