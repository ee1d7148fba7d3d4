package reproduce

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tare/internal/bench"
	"tare/internal/result/store"
)

// sums is the file of a folder's digests, as sha256sum writes it and checks it.
const sums = "SHA256SUMS"

// Seal writes the digests of all files of a reproduction into it, so that another host can tell that
// it has what was measured. Links and the runs' locks are left out.
func Seal(root string) error {
	files, err := filesIn(root)
	if err != nil {
		return err
	}
	var text strings.Builder
	for _, name := range files {
		digest, err := digestOf(root, name)
		if err != nil {
			return err
		}
		fmt.Fprintf(&text, "%s  %s\n", digest, name)
	}
	return store.WriteIn(root, sums, func(w io.Writer) error {
		_, err := io.WriteString(w, text.String())
		return err
	})
}

// mostSums bounds a file of digests that is read.
const mostSums = 64 << 20

// CheckSeal is an error for a folder whose files are not those that it was sealed with. One that was
// not sealed is none.
func CheckSeal(root string) error {
	f, err := os.Open(filepath.Join(root, sums))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	var wrong []string
	lines := bufio.NewScanner(io.LimitReader(f, mostSums))
	for n := 1; lines.Scan(); n++ {
		want, name, ok := strings.Cut(lines.Text(), "  ")
		if !ok || len(want) != 2*sha256.Size || !filepath.IsLocal(name) {
			return fmt.Errorf("%s:%d: %q is no digest with a file: %w", f.Name(), n, lines.Text(), bench.ErrInvalid)
		}
		if got, err := digestOf(root, name); err != nil || got != want {
			wrong = append(wrong, name)
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("%s: %w: %w", f.Name(), err, bench.ErrInvalid)
	}
	if len(wrong) > 0 {
		return fmt.Errorf("%s: not as it was sealed: %s: %w%w", root, strings.Join(wrong[:min(5, len(wrong))], ", "), bench.ErrInvalid,
			bench.Hint("get the folder anew from where it was measured; without "+sums+" it is judged as it is"))
	}
	return nil
}

// filesIn are the regular files below a folder by their paths in it, ascending.
func filesIn(root string) (files []string, err error) {
	err = filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() || e.Name() == "lock" {
			return err
		}
		name, err := filepath.Rel(root, path)
		if name != sums {
			files = append(files, name)
		}
		return err
	})
	slices.Sort(files)
	return files, err
}

// digestOf reads a file of a folder, and nothing that a link leads to.
func digestOf(root, name string) (string, error) {
	dir, err := os.OpenRoot(root)
	if err != nil {
		return "", err
	}
	defer dir.Close()
	if info, err := dir.Lstat(name); err != nil || !info.Mode().IsRegular() {
		return "", fmt.Errorf("%s: no regular file: %w", name, errors.Join(err, bench.ErrInvalid))
	}
	f, err := dir.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
