package vm

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tare/internal/bench"
	"tare/internal/platform/launch"
)

// Bare makes, in the run's directory, the initial RAM file system with the
// agent for a kernel that has all drivers built in, and returns its absolute path.
func Bare(e bench.Env) (path string, err error) {
	init, err := os.ReadFile(e.AgentPath)
	if err != nil {
		return "", fmt.Errorf("read agent: %w%w", err, bench.Hint("build tare-agent and keep it beside tare"))
	}
	f, err := os.CreateTemp(e.Dir, "initramfs-bare-*.cpio")
	if err != nil {
		return "", fmt.Errorf("make initramfs: %w", err)
	}
	c := &cpioWriter{w: f}
	writeInit(c, init)
	c.File("modules.list", 0o644, nil)
	for _, name := range slices.Sorted(maps.Keys(moreModules)) {
		c.File(moreList(name), 0o644, nil)
	}
	if err := errors.Join(c.Close(), f.Close()); err != nil {
		return "", fmt.Errorf("make initramfs: %w", err)
	}
	return filepath.Abs(f.Name())
}

// initramfs returns the path of the initial RAM file system for the agent and
// the kernel whose modules directory is given, in dir. It is made once for each
// pair: the name carries a digest of both.
func initramfs(ctx context.Context, dir, agent, modules string) (string, error) {
	init, err := os.ReadFile(agent)
	if err != nil {
		return "", fmt.Errorf("read agent: %w%w", err, bench.Hint("build tare-agent and keep it beside tare"))
	}
	dep, err := os.ReadFile(filepath.Join(modules, "modules.dep"))
	if err != nil {
		return "", fmt.Errorf("read dependencies of the guest kernel's modules: %w%w", err,
			bench.Hint("run depmod on the kernel's modules, or build the image again"))
	}
	builtin, err := os.ReadFile(filepath.Join(modules, "modules.builtin"))
	if err != nil {
		return "", fmt.Errorf("read list of the guest kernel's built-in modules: %w", err)
	}

	h := sha256.New()
	for _, part := range [][]byte{init, []byte(modules), dep, builtin} {
		fmt.Fprintf(h, "%d\n", len(part))
		h.Write(part)
	}
	name := filepath.Join(dir, "initramfs-"+hex.EncodeToString(h.Sum(nil))[:16]+".cpio")
	if _, err := os.Stat(name); err == nil {
		return name, nil
	}

	set, err := readModules(bytes.NewReader(dep), bytes.NewReader(builtin))
	if err != nil {
		return "", err
	}
	lists, err := set.lists()
	if err != nil {
		return "", err
	}
	// Written under another name first: a second platform may want the same file now.
	f, err := os.CreateTemp(dir, "initramfs-*.tmp")
	if err != nil {
		return "", fmt.Errorf("make initramfs: %w", err)
	}
	defer os.Remove(f.Name())
	err = writeInitramfs(ctx, f, init, modules, lists)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		return "", fmt.Errorf("make initramfs: %w", err)
	}
	return name, nil
}

// writeInit writes /init (the agent) and what it needs to begin.
func writeInit(c *cpioWriter, init []byte) {
	for _, dir := range []string{"dev", "proc", "sys", "modules"} {
		c.Dir(dir)
	}
	c.CharDev("dev/console", 0o600, 5, 1) // opened by the kernel for init's standard files
	c.File("init", 0o755, init)
}

// writeInitramfs writes /init (the agent), the modules' files uncompressed in
// /modules, and their paths in the order to load them in the lists.
func writeInitramfs(ctx context.Context, w io.Writer, init []byte, modules string, lists map[string][]string) error {
	c := &cpioWriter{w: w}
	writeInit(c, init)
	packed := map[string]bool{}
	for _, list := range slices.Sorted(maps.Keys(lists)) {
		var text strings.Builder
		for _, file := range lists[list] {
			name, _ := moduleName(file)
			fmt.Fprintf(&text, "/modules/%s.ko\n", name)
			if packed[name] {
				continue
			}
			data, err := readModule(ctx, filepath.Join(modules, file))
			if err != nil {
				return err
			}
			c.File("modules/"+name+".ko", 0o644, data)
			packed[name] = true
		}
		c.File(list, 0o644, []byte(text.String()))
	}
	return c.Close()
}

// readModule returns a module's file, unpacked. Debian packs modules with xz,
// whose program is at hand wherever the image could be built.
func readModule(ctx context.Context, file string) ([]byte, error) {
	switch {
	case strings.HasSuffix(file, ".ko"):
		return os.ReadFile(file)
	case strings.HasSuffix(file, ".ko.xz"):
		data, err := launch.Output(ctx, "xz", "--decompress", "--stdout", "--", file)
		if err != nil {
			return nil, fmt.Errorf("unpack module %s: %w", file, err)
		}
		return data, nil
	}
	return nil, fmt.Errorf("module %s: packed in a way that is not known", file)
}
