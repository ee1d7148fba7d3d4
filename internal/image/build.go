package image

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"tare/internal/bench"
	"tare/internal/host/tree"
)

// buildPrefix begins the name of every directory that is not, or no longer, an image.
const buildPrefix = ".build-"

// buildNeeds is the free space a build needs: the tree, the downloads and the forms.
const buildNeeds = 2 * bench.GiB

// sdistNeeds is what source distributions need beyond it: the archive, what pip makes of it, and the
// files, in the tree and in the forms.
const sdistNeeds = 3 * bench.GiB

// Build makes the image of the store's recipe, or opens it if it is there. It
// needs root, mmdebstrap and a Debian mirror; a missing program wraps
// [bench.ErrUnavailable]. A build cut short leaves nothing that counts as an image.
func (s *Store) Build(ctx context.Context) (*Image, error) {
	return s.make(ctx, "build", func(work string) error { return s.buildIn(ctx, work) }, s.preflight)
}

// make makes the image in a work directory, unless it is there, once what it needs is. The verb says how.
func (s *Store) make(ctx context.Context, verb string, in func(work string) error, needs func() error) (*Image, error) {
	unlock, err := s.lock(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	if err := s.sweep(); err != nil {
		return nil, err
	}
	i, err := s.Open(ctx)
	if !errors.Is(err, bench.ErrUnavailable) {
		return i, err // made already, or damaged: the user decides
	}
	if err := needs(); err != nil {
		return nil, fmt.Errorf("%s the image: %w", verb, err)
	}
	work, finish, err := s.workDir()
	if err != nil {
		return nil, fmt.Errorf("%s the image: %w", verb, err)
	}
	err = in(work)
	if err == nil {
		err = os.Rename(work, s.path())
	}
	if err = errors.Join(err, finish()); err != nil {
		return nil, fmt.Errorf("%s the image: %w", verb, diskFull(err, s.images()))
	}
	return s.open(s.path())
}

// workDir makes a directory beside the images, known to the ledger until
// finish removes what is left of it.
func (s *Store) workDir() (dir string, finish func() error, err error) {
	dir = filepath.Join(s.images(), fmt.Sprintf("%s%d-%x", buildPrefix, os.Getpid(), time.Now().UnixNano()))
	if s.Ledger != nil {
		if err := s.Ledger.Register(bench.KindDir, dir); err != nil {
			return "", nil, err
		}
	}
	finish = func() error {
		if err := tree.Remove(dir); err != nil || s.Ledger == nil {
			return err
		}
		return s.Ledger.Release(bench.KindDir, dir)
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		return "", nil, errors.Join(err, finish())
	}
	return dir, finish, nil
}

// buildIn fills a directory with everything an image is.
func (s *Store) buildIn(ctx context.Context, work string) error {
	start := time.Now()
	m := Manifest{Format: manifestFormat, Recipe: s.Recipe, RecipeHash: s.Recipe.Hash(),
		Created: start.UTC().Truncate(time.Second)}
	if s.Recipe.Own != "" {
		return s.take(ctx, work, &m)
	}
	var err error
	if m.Builder, err = builderVersions(ctx); err != nil {
		return err
	}
	if err := s.install(ctx, work); err != nil {
		return err
	}
	if err := s.takePinned(ctx, work); err != nil {
		return err
	}
	root := filepath.Join(work, "root")
	if err := tidy(root, s.Recipe); err != nil {
		return err
	}
	if m.Kernel, err = s.unpackKernel(ctx, work); err != nil {
		return err
	}
	status, err := os.Open(filepath.Join(root, "var/lib/dpkg/status"))
	if err != nil {
		return err
	}
	m.Packages, err = parsePackages(status)
	status.Close()
	if err != nil {
		return err
	}
	for _, d := range s.Recipe.Sdists {
		m.Packages = append(m.Packages, Package{Name: d.Name, Version: d.Version, Arch: "all"})
	}
	s.say("asking %d programs for their versions", len(s.Recipe.Programs))
	if m.Programs, err = programVersions(ctx, root, s.Recipe.Programs, m.Packages); err != nil {
		return err
	}
	for _, tree := range trees(m.Kernel) {
		if err := clampTimes(filepath.Join(work, tree), s.Recipe.Epoch); err != nil {
			return err
		}
	}
	if err := s.complete(ctx, work, &m); err != nil {
		return err
	}
	s.say("built in %.0f s: %d packages, %s in %d files, %s", time.Since(start).Seconds(),
		len(m.Packages), bench.Bytes(m.Bytes).String(), m.Files, m.Digest)
	return nil
}

// complete adds to an image's files what tells of them.
func (s *Store) complete(ctx context.Context, work string, m *Manifest) error {
	s.say("hashing the files")
	entries, err := Scan(ctx, work, trees(m.Kernel)...)
	if err != nil {
		return err
	}
	for _, e := range entries {
		m.Files++
		m.Bytes += e.Size
	}
	listing := Listing(m.RecipeHash, entries)
	m.Digest = DigestOf(listing)
	return s.seal(work, *m, listing)
}

// seal writes the image's own files and makes all of it durable.
func (s *Store) seal(work string, m Manifest, listing []byte) error {
	data, err := m.Encode()
	if err != nil {
		return err
	}
	st, err := stamp(work, trees(m.Kernel)...)
	if err != nil {
		return err
	}
	for name, content := range map[string][]byte{"manifest.json": data, "listing": listing, "stamp": []byte(st)} {
		if err := writeFile(filepath.Join(work, name), content); err != nil {
			return err
		}
	}
	d, err := os.Open(work)
	if err != nil {
		return err
	}
	defer d.Close()
	if err := unix.Syncfs(int(d.Fd())); err != nil {
		return fmt.Errorf("sync %s: %w", work, err)
	}
	return nil
}

// preflight finds out what would make the build fail later.
func (s *Store) preflight() error {
	if os.Geteuid() != 0 {
		return fmt.Errorf("needs root: %w%w", bench.ErrUnavailable, bench.Hint("sudo tare image build"))
	}
	needed := [][2]string{{"mmdebstrap", "mmdebstrap"}, {"dpkg-deb", "dpkg"}, {"depmod", "kmod"}, {"mkfs.ext4", "e2fsprogs"}}
	if s.Recipe.Own != "" {
		needed = nil
	}
	for _, p := range needed {
		if _, err := need(p[0], p[1]); err != nil {
			return err
		}
	}
	if _, err := os.Stat(keyring); err != nil && s.Recipe.Own == "" {
		return fmt.Errorf("%w: %w%w", err, bench.ErrUnavailable, bench.Hint("apt install debian-archive-keyring"))
	}
	for _, p := range s.Recipe.pinned() {
		if err := p.need(); err != nil {
			return err
		}
	}
	needs := buildNeeds
	if len(s.Recipe.Sdists) > 0 {
		needs += sdistNeeds
	}
	free, err := freeSpace(s.images())
	if err != nil {
		return err
	}
	if free < needs {
		return fmt.Errorf("%s free in %s, %s needed%w", free, s.images(), needs, noSpace)
	}
	return nil
}

const noSpace = bench.Hint("make room there, or choose another state directory")

// diskFull says in plain words that the disk is full, if that is what err is.
func diskFull(err error, dir string) error {
	if err == nil || !errors.Is(err, unix.ENOSPC) && !errors.Is(err, unix.EDQUOT) {
		return err
	}
	free, statErr := freeSpace(dir)
	if statErr != nil {
		return err
	}
	return fmt.Errorf("the disk is full (%s free in %s): %w%w", free, dir, err, noSpace)
}

func freeSpace(dir string) (bench.Bytes, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return 0, &fs.PathError{Op: "statfs", Path: dir, Err: err}
	}
	return bench.Bytes(st.Bavail) * bench.Bytes(st.Bsize), nil
}
