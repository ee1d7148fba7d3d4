package nest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"tare/internal/bench"
	"tare/internal/guest/nested/wire"
	"tare/internal/host/tool"
	trees "tare/internal/host/tree"
	"tare/internal/platform/launch"
)

// tools are the files that an outer guest is given.
type tools struct {
	program, agent  string // tare and its agent
	kernel, modules string // the golden image's
	own             string // the modules of the outer guest's kernel, if it runs another; else ""
	carried         []string
	versions        map[string]string // of the programs in the outer guests' images
}

// ownModules is the directory of those on the disk.
const ownModules = "own-modules"

// tools finds or makes the disk with Tare.
func (e *engine) tools(ctx context.Context, own string) (string, error) {
	if e.p.setup.Tools != nil {
		return e.p.setup.Tools()
	}
	kernel, modules, err := e.env.Image.Kernel(ctx)
	if err != nil {
		return "", fmt.Errorf("kernel of the image: %w", err)
	}
	t := tools{agent: e.env.AgentPath, kernel: kernel, modules: modules, own: own}
	if t.program, err = e.p.setup.Program(); err != nil {
		return "", err
	}
	if t.versions, err = e.p.setup.Versions(); err != nil {
		return "", err
	}
	for _, name := range asks(e.p.innermost()).Carry {
		path, err := launch.Program(name)
		if err != nil {
			return "", fmt.Errorf("%w: %w", err, bench.ErrUnavailable)
		}
		t.carried = append(t.carried, path)
	}
	e.made, err = t.disk(ctx, e.env.Dir)
	return e.made, err
}

// disk makes a raw ext4 image of them.
func (t tools) disk(ctx context.Context, dir string) (string, error) {
	fail := func(err error) (string, error) { return "", fmt.Errorf("disk of the outer guest's tools: %w", err) }
	tree, path := filepath.Join(dir, "tools"), filepath.Join(dir, "tools.ext4")
	defer trees.Remove(tree)
	var size int64
	for name, from := range map[string]string{"modules": t.modules, ownModules: t.own} {
		if from == "" {
			continue
		}
		to := filepath.Join(tree, name, filepath.Base(from))
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return fail(err)
		}
		n, err := copyTree(to, from)
		if err != nil {
			return fail(err)
		}
		size += n
	}
	files := map[string]string{"tare": t.program, "tare-agent": t.agent, "vmlinuz": t.kernel}
	for _, program := range t.carried {
		files[filepath.Join(filepath.Base(wire.Carried), filepath.Base(program))] = program
	}
	if err := os.MkdirAll(filepath.Join(tree, filepath.Base(wire.Carried)), 0o755); err != nil {
		return fail(err)
	}
	versions, err := json.Marshal(t.versions)
	if err == nil {
		err = os.WriteFile(filepath.Join(tree, filepath.Base(wire.Versions)), versions, 0o644)
	}
	if err != nil {
		return fail(err)
	}
	for name, from := range files {
		n, err := copyFile(filepath.Join(tree, name), from, 0o755)
		if err != nil {
			return fail(err)
		}
		size += n
	}
	mkfs, err := launch.Program("mkfs.ext4")
	if err != nil {
		return fail(fmt.Errorf("%w: %w%w", err, bench.ErrUnavailable, bench.Hint("apt-get install e2fsprogs")))
	}
	kib := (size+size/8)>>10 + 16<<10 // and what the file system itself needs
	cmd := exec.Command(mkfs, "-q", "-F", "-O", "^has_journal", "-L", wire.ToolsLabel, "-d", tree,
		path, strconv.FormatInt(kib, 10)+"k")
	if err := tool.Run(ctx, tool.Slow, cmd); err != nil {
		return fail(err)
	}
	return path, nil
}

// copyTree copies directories and regular files, and returns their size with
// each file rounded up to a block.
func copyTree(to, from string) (size int64, err error) {
	err = filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		target := filepath.Join(to, strings.TrimPrefix(path, from))
		switch {
		case d.IsDir():
			return os.Mkdir(target, 0o755)
		case d.Type().IsRegular():
			n, err := copyFile(target, path, 0o644)
			size += (n + 4095) / 4096 * 4096
			return err
		}
		return nil
	})
	return size, err
}

func copyFile(to, from string, mode fs.FileMode) (int64, error) {
	r, err := os.Open(from)
	if err != nil {
		return 0, err
	}
	defer r.Close()
	w, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
	if err != nil {
		return 0, err
	}
	n, err := io.Copy(w, r)
	return n, errors.Join(err, w.Close())
}
