// Package image makes and keeps the golden image: one root file system that
// every platform runs, in the form each takes. An image is a directory named
// by its recipe,
//
//	STATE/images/RECIPE/
//		manifest.json  what is in it
//		listing        every file with its hash; the listing's hash is the digest
//		stamp          the files' times, for a quick check that nothing was touched
//		root/          the root file system
//		kernel/        the guest kernel and its modules
//		forms/         root.tar, root.ext4, made on first use
//		lock           locked by whoever uses or removes it
//
// and appears there by one rename, when it is complete.
package image

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"tare/internal/bench"
	"tare/internal/host/tree"
	"tare/internal/image/own"
)

// DefaultDir is where Tare keeps its state unless told otherwise.
const DefaultDir = "/var/lib/tare"

// Store is the place of the images on this host.
type Store struct {
	Dir    string // the state directory
	Recipe Recipe
	// Ledger, if not nil, is told of what a build makes before it is made.
	Ledger bench.Ledger
	// Progress, if not nil, is given a line for people at each step of a build.
	Progress func(string)
	// Source is the image of the user's own to take, if the recipe names one.
	Source *own.Source
	// From is where it is taken from.
	From string
	// Mirror is the Debian mirror to build from; empty lets mmdebstrap choose.
	Mirror string
}

// New returns the store of the golden image in a state directory.
func New(dir string) *Store { return &Store{Dir: dir, Recipe: Golden()} }

func (s *Store) images() string { return filepath.Join(s.Dir, "images") }

func (s *Store) path() string { return filepath.Join(s.images(), short(s.Recipe.Hash())) }

func (s *Store) say(format string, args ...any) {
	if s.Progress != nil {
		s.Progress(fmt.Sprintf(format, args...))
	}
}

// Open returns the image of the store's recipe, after a check that nothing in
// it was touched. If it is not built, the error wraps [bench.ErrUnavailable].
// The image cannot be removed until it is closed.
func (s *Store) Open(ctx context.Context) (*Image, error) {
	i, err := s.open(s.path())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, s.notBuilt()
	}
	if err != nil {
		return nil, err
	}
	if err := i.check(ctx); err != nil {
		i.Close()
		return nil, err
	}
	return i, nil
}

// Manifest tells what is in the image of the store's recipe, without a look at
// its files. If it is not built, the error wraps [bench.ErrUnavailable].
func (s *Store) Manifest() (Manifest, error) {
	data, err := os.ReadFile(filepath.Join(s.path(), "manifest.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return Manifest{}, s.notBuilt()
	}
	if err != nil {
		return Manifest{}, fmt.Errorf("%s: %w", s.Recipe.what(), err)
	}
	return DecodeManifest(data)
}

func (s *Store) notBuilt() error {
	build := bench.Hint("tare image build")
	if len(s.Recipe.Families)+len(s.Recipe.Added) > 0 {
		build = "the run that needs it builds it"
	}
	if s.Recipe.Own != "" {
		build = "a new run takes it from where it is"
	}
	if r := s.Recipe.Role; r != "" {
		build = "tare image build --" + bench.Hint(r) + "; a run that names a nesting builds it"
	}
	return fmt.Errorf("%s: not built: %w%w", s.Recipe.what(), bench.ErrUnavailable, build)
}

func (s *Store) open(dir string) (*Image, error) {
	held, err := hold(dir, unix.LOCK_SH)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return nil, fmt.Errorf("image %s: being removed: %w", filepath.Base(dir), err)
	}
	if err != nil {
		return nil, fmt.Errorf("image: %w", err)
	}
	data, err := os.ReadFile(filepath.Join(dir, "manifest.json"))
	if err != nil {
		held.Close()
		return nil, fmt.Errorf("image: %w", err)
	}
	m, err := DecodeManifest(data)
	if err == nil && !strings.HasPrefix(m.RecipeHash, filepath.Base(dir)) {
		err = fmt.Errorf("image manifest: recipe %s lies in directory %s", m.RecipeHash, filepath.Base(dir))
	}
	if err != nil {
		held.Close()
		return nil, fmt.Errorf("%w%w", err, rebuild)
	}
	return &Image{dir: dir, hold: held, manifest: m, store: s}, nil
}

// Info is a line of the list of images.
type Info struct {
	Digest  string            `json:"digest"` // "" if the manifest is damaged
	Recipe  string            `json:"recipe"` // the directory's name
	Role    string            `json:"role,omitempty"`
	Beyond  []string          `json:"beyond,omitempty"` // families and packages that the base has not
	From    string            `json:"from,omitempty"`   // where an image of the user's own was taken from
	Current bool              `json:"current"`
	Created time.Time         `json:"created"`
	Size    bench.Bytes       `json:"size"` // on disk, of everything
	Formats map[string]Format `json:"forms"`
	Kernel  string            `json:"kernel,omitempty"`
	Program map[string]string `json:"programs"`
	// Problem is why the image cannot be used, "" if it can.
	Problem string `json:"problem,omitempty"`
}

// List describes the images in the store, the current recipe's first, then the newest.
func (s *Store) List() ([]Info, error) {
	entries, err := os.ReadDir(s.images())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if errors.Is(err, fs.ErrPermission) {
		return nil, fmt.Errorf("list images: %w%w", err, bench.Hint("the state directory is root's: sudo tare image list"))
	}
	if err != nil {
		return nil, fmt.Errorf("list images: %w", err)
	}
	var list []Info
	for _, e := range entries {
		if !e.IsDir() || strings.HasPrefix(e.Name(), ".") {
			continue
		}
		dir := filepath.Join(s.images(), e.Name())
		info := Info{Recipe: e.Name(), Current: dir == s.path() || dir == NewHosts(s.Dir).path()}
		if info.Size, err = DiskUsage(dir); err != nil {
			return nil, fmt.Errorf("list images: %w", err)
		}
		i, err := s.open(dir)
		if err != nil {
			info.Problem = err.Error()
		} else {
			m := i.Manifest()
			info.Role, info.Beyond = m.Recipe.Role, slices.Concat(m.Recipe.Families, m.Recipe.Added)
			info.From = m.From
			info.Digest, info.Created, info.Kernel, info.Program = m.Digest, m.Created, m.Kernel, m.Programs
			info.Formats = i.formats()
			i.Close()
		}
		list = append(list, info)
	}
	slices.SortStableFunc(list, func(a, b Info) int {
		if a.Current != b.Current {
			if a.Current {
				return -1
			}
			return 1
		}
		return b.Created.Compare(a.Created)
	})
	return list, nil
}

// Remove deletes the one image whose digest or recipe begins with prefix, and
// returns what it was. An image in use by a run is not removed.
func (s *Store) Remove(ctx context.Context, prefix string) (Info, error) {
	list, err := s.List()
	if err != nil {
		return Info{}, err
	}
	var found []Info
	for _, i := range list {
		if prefix != "" && (strings.HasPrefix(i.Recipe, prefix) ||
			strings.HasPrefix(i.Digest, prefix) || strings.HasPrefix(i.Digest, "sha256:"+prefix)) {
			found = append(found, i)
		}
	}
	if len(found) != 1 {
		return Info{}, fmt.Errorf("remove image %q: %d images match: %w%w", prefix, len(found), bench.ErrInvalid,
			bench.Hint("tare image list shows digests and recipes; give enough of one to tell it from the others"))
	}
	unlock, err := s.lock(ctx)
	if err != nil {
		return Info{}, err
	}
	defer unlock()
	dir := filepath.Join(s.images(), found[0].Recipe)
	held, err := hold(dir, unix.LOCK_EX)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return Info{}, fmt.Errorf("remove image %s: in use by a run: %w%w", found[0].Recipe, err,
			bench.Hint("wait for the run to end"))
	}
	if err != nil {
		return Info{}, fmt.Errorf("remove image: %w", err)
	}
	defer held.Close()
	if err := tree.Unmounted(dir); err != nil {
		return Info{}, err
	}
	// Out of its place first, so that a removal cut short leaves no half image.
	work, finish, err := s.workDir()
	if err != nil {
		return Info{}, fmt.Errorf("remove image: %w", err)
	}
	err = os.Rename(dir, filepath.Join(work, found[0].Recipe))
	if err = errors.Join(err, finish()); err != nil {
		return Info{}, fmt.Errorf("remove image: %w", err)
	}
	return found[0], nil
}

// sweep removes what builds and removals that were cut short left behind. The
// lock must be held.
func (s *Store) sweep() error {
	stale, err := filepath.Glob(filepath.Join(s.images(), buildPrefix+"*"))
	if err != nil {
		return fmt.Errorf("sweep images: %w", err)
	}
	for _, dir := range stale {
		if err := tree.Remove(dir); err != nil {
			return fmt.Errorf("sweep images: %w", err)
		}
	}
	return nil
}

// DiskUsage is the space the files below dir take on disk; one that goes
// meanwhile counts for nothing.
func DiskUsage(dir string) (bench.Bytes, error) {
	var n int64
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		var st unix.Stat_t
		if err := unix.Lstat(path, &st); err == unix.ENOENT {
			return nil
		} else if err != nil {
			return &fs.PathError{Op: "lstat", Path: path, Err: err}
		}
		n += st.Blocks * 512
		return nil
	})
	return bench.Bytes(n), err
}
