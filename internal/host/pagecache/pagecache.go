// Package pagecache evicts files from the kernel's page cache and returns how much of them stayed.
// It evicts nothing else, so other programs' files stay cached.
package pagecache

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Dropped is the result of an eviction, in bytes of the page cache.
type Dropped struct {
	Files int
	// Before and Kept are the bytes in the cache before and after. Pages stay if a running program
	// maps them or if they are being written. Both are -1 if the kernel has no cachestat(2), which
	// came with Linux 6.5.
	Before, Kept int64
}

// Drop evicts the pages of the files and of all files below the directories, by posix_fadvise(2)
// with POSIX_FADV_DONTNEED. The kernel's caches of names and attributes stay. It returns an error
// for a path that does not exist.
func Drop(paths []string) (Dropped, error) {
	var d Dropped
	for _, path := range paths {
		err := filepath.WalkDir(path, func(file string, e fs.DirEntry, err error) error {
			switch {
			case errors.Is(err, fs.ErrNotExist) && file != path:
				return nil // it was removed meanwhile
			case err != nil:
				return err
			case !e.Type().IsRegular():
				return nil
			}
			return d.drop(file)
		})
		if err != nil {
			return d, fmt.Errorf("drop %s from the page cache: %w", path, err)
		}
	}
	return d, nil
}

func (d *Dropped) drop(file string) error {
	fd, err := unix.Open(file, unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if errors.Is(err, unix.ENOENT) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("open %s: %w", file, err)
	}
	defer unix.Close(fd)
	d.Files++
	before, dirty := cached(fd)
	if before == 0 {
		return nil
	}
	if dirty {
		if err := unix.Fdatasync(fd); err != nil { // a dirty page cannot be evicted
			return fmt.Errorf("write %s out: %w", file, err)
		}
	}
	if err := unix.Fadvise(fd, 0, 0, unix.FADV_DONTNEED); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	kept, _ := cached(fd)
	if before < 0 || kept < 0 || d.Before < 0 {
		d.Before, d.Kept = -1, -1
		return nil
	}
	d.Before, d.Kept = d.Before+before, d.Kept+kept
	return nil
}

// cached returns how much of the file is in the page cache, in bytes, and whether it has dirty
// pages. If the kernel does not tell, it returns -1 and true.
func cached(fd int) (bytes int64, dirty bool) {
	var c unix.Cachestat_t
	if err := unix.Cachestat(uint(fd), &unix.CachestatRange{}, &c, 0); err != nil {
		return -1, true
	}
	return int64(c.Cache) * int64(unix.Getpagesize()), c.Dirty+c.Writeback > 0
}
