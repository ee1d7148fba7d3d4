package vm

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"

	"tare/internal/bench"
	"tare/internal/platform/launch"
)

// Kernels are those that guests boot in the place of the image's, each with an initial RAM file
// system of its own. It may be used from several goroutines; the zero value has none.
type Kernels struct {
	mu    sync.Mutex
	known map[string]*Kernel // by path
}

// Kernel is a kernel of the host's that guests boot.
type Kernel struct {
	Path, Initrd string
	Release      string
	// Modules is the directory of its modules; "" if none was found, and its drivers must be built in.
	Modules string
}

// String says it for a log.
func (k *Kernel) String() string {
	from := "modules of " + k.Modules
	if k.Modules == "" {
		from = "without modules: its drivers for disk, network and serial port, and ext4, must be built in"
	}
	return fmt.Sprintf("kernel %s, release %s, %s", k.Path, k.Release, from)
}

// Get returns the kernel in a file. Its initial RAM file system is made at first use in the run's
// directory. Modules that cannot be used are an error.
func (ks *Kernels) Get(ctx context.Context, e bench.Env, path string) (*Kernel, error) {
	ks.mu.Lock()
	defer ks.mu.Unlock()
	if k := ks.known[path]; k != nil {
		return k, nil
	}
	k, err := newKernel(ctx, e, path)
	if err != nil {
		return nil, err
	}
	if ks.known == nil {
		ks.known = map[string]*Kernel{}
	}
	ks.known[path] = k
	return k, nil
}

// Files are what the guests of all of them boot from, as absolute paths.
func (ks *Kernels) Files() []string {
	ks.mu.Lock()
	defer ks.mu.Unlock()
	var files []string
	for _, k := range ks.known {
		files = append(files, k.Path, k.Initrd)
	}
	return files
}

func newKernel(ctx context.Context, e bench.Env, path string) (*Kernel, error) {
	release, err := launch.KernelRelease(path)
	if err != nil {
		return nil, err
	}
	k := &Kernel{Path: path, Release: release}
	if k.Modules, err = modulesBeside(path, release); err != nil {
		return nil, err
	}
	if k.Modules == "" {
		_, modules, err := e.Image.Kernel(ctx)
		if err != nil {
			return nil, fmt.Errorf("kernel of the image: %w", err)
		}
		if filepath.Base(modules) == release {
			k.Modules = modules
		}
	}
	if k.Modules == "" {
		k.Initrd, err = Bare(e)
	} else if k.Initrd, err = initramfs(ctx, e.Dir, e.AgentPath, k.Modules); err == nil {
		k.Initrd, err = filepath.Abs(k.Initrd)
	}
	if err != nil {
		return nil, fmt.Errorf("%v: %w", k, err)
	}
	return k, nil
}

// modulesBeside looks for the modules of a release where a package or a build puts them beside the
// kernel: DIR/boot/vmlinuz and DIR/lib/modules/RELEASE, or below usr. It returns "" if there are none.
// Whoever may write there decides what the guest runs: that must be root or the kernel's owner.
func modulesBeside(kernel, release string) (string, error) {
	kernel, err := filepath.EvalSymlinks(kernel)
	if err != nil {
		return "", err
	}
	file, err := os.Stat(kernel)
	if err != nil {
		return "", err
	}
	top := filepath.Dir(filepath.Dir(kernel))
	for _, lib := range []string{"usr/lib", "lib"} {
		dir := filepath.Join(top, lib, "modules", release)
		info, err := os.Stat(dir)
		switch {
		case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
			continue
		case err != nil:
			return "", fmt.Errorf("modules of kernel %s: %w", kernel, err)
		case !info.IsDir() || !trusted(info, file):
			return "", fmt.Errorf("modules of kernel %s: %s belongs to somebody else, or everybody may write there: %w%w", kernel, dir, bench.ErrInvalid,
				bench.Hint("give it to the kernel's owner, or put the kernel elsewhere"))
		}
		return dir, nil
	}
	return "", nil
}

// trusted says whether a directory is root's or the file's owner's, and nobody else's to write.
func trusted(dir, file fs.FileInfo) bool {
	d, ok := dir.Sys().(*syscall.Stat_t)
	f, fine := file.Sys().(*syscall.Stat_t)
	return ok && fine && (d.Uid == 0 || d.Uid == f.Uid) && dir.Mode()&0o002 == 0
}
