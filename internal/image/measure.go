package image

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"tare/internal/bench"
	"tare/internal/host/tool"
)

// Made is what making one form of the root file system took.
type Made struct {
	Format  string      `json:"form"`
	What    string      `json:"what"`
	From    string      `json:"from"`              // the form it is made from, whose own time is not in Seconds
	Seconds float64     `json:"seconds,omitempty"` // until it was on the disk
	Size    bench.Bytes `json:"size,omitempty"`    // what a reader sees
	OnDisk  bench.Bytes `json:"on_disk,omitempty"`
	// Problem is why it could not be made, "" if it was.
	Problem string `json:"problem,omitempty"`
	// Command makes it again, where a program does.
	Command string `json:"command,omitempty"`
}

// measured is how a form is made: by a function of our own, or by a program with
// arguments in which ROOT, RAW and TAR stand for what it is made from and OUT for the form.
type measured struct {
	format, what, from string
	program, pkg, args string
	own                func(context.Context, string) error
}

// A Maker makes a form that takes more than a program: by a daemon, such as Docker's.
type Maker struct {
	Format, What, From, Command string
	// Make makes it of the archive, in an empty directory of its own, and returns how
	// long that took without what had to be up beforehand.
	Make func(ctx context.Context, tar, dir string) (time.Duration, error)
}

// Measure makes each form of the root file system anew, in a directory of its own that it
// removes, and tells how long each took and how large it is. The tree's files are read once before.
// The makers come last, the archive being there.
func (s *Store) Measure(ctx context.Context, i *Image, makers ...Maker) (_ []Made, err error) {
	free, err := freeSpace(s.images())
	if err != nil {
		return nil, fmt.Errorf("measure forms: %w", err)
	}
	if needs := bench.Bytes(6 * i.manifest.Bytes); free < needs {
		return nil, fmt.Errorf("measure forms: %s free in %s, %s needed%w", free, s.images(), needs, noSpace)
	}
	unlock, err := s.lock(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	work, finish, err := s.workDir()
	if err != nil {
		return nil, fmt.Errorf("measure forms: %w", err)
	}
	defer func() { err = errors.Join(err, finish()) }()
	if _, err := Scan(ctx, i.dir, "root"); err != nil {
		return nil, fmt.Errorf("measure forms: %w", err)
	}
	var all []Made
	for _, m := range []measured{
		{format: "tree", from: "tree", what: "files in a directory, as containers' layers have them", program: "cp", pkg: "coreutils", args: "-a ROOT OUT"},
		{format: "tar", from: "tree", what: "an archive, as Docker imports it", own: i.writeTar},
		{format: "tar.gz", from: "tar", what: "the archive compressed, as registries keep layers", program: "gzip", pkg: "gzip", args: "-c TAR"},
		{format: "raw", from: "tree", what: "an ext4 file system with room to write, sparse, as virtual machines have it", own: i.writeDisk},
		{format: "qcow2", from: "raw", what: "the same in QEMU's format", program: "qemu-img", pkg: "qemu-utils", args: "convert -f raw -O qcow2 RAW OUT"},
		{format: "qcow2, compressed", from: "raw", what: "the same, compressed", program: "qemu-img", pkg: "qemu-utils", args: "convert -c -f raw -O qcow2 RAW OUT"},
		{format: "squashfs", from: "tree", what: "a compressed read-only file system", program: "mksquashfs", pkg: "squashfs-tools", args: "ROOT OUT -no-progress -quiet"},
		{format: "erofs", from: "tree", what: "a read-only file system, not compressed", program: "mkfs.erofs", pkg: "erofs-utils", args: "OUT ROOT"},
	} {
		if err := ctx.Err(); err != nil {
			return all, fmt.Errorf("measure forms: %w", context.Cause(ctx))
		}
		s.say("making %s", m.format)
		all = append(all, i.make(ctx, work, m))
	}
	for _, m := range makers {
		if err := ctx.Err(); err != nil {
			return all, fmt.Errorf("measure forms: %w", context.Cause(ctx))
		}
		s.say("making %s", m.Format)
		all = append(all, m.made(ctx, work))
	}
	return all, nil
}

// made makes the form in a directory below work.
func (m Maker) made(ctx context.Context, work string) Made {
	made := Made{Format: m.Format, What: m.What, From: m.From, Command: m.Command}
	dir := filepath.Join(work, "by-"+m.Format)
	err := os.Mkdir(dir, 0o755)
	var took time.Duration
	if err == nil {
		took, err = m.Make(ctx, filepath.Join(work, "tar"), dir)
	}
	start := time.Now()
	if err == nil {
		err = syncAll(dir)
	}
	took += time.Since(start)
	if err == nil {
		made.Size, made.OnDisk, err = sizes(dir)
	}
	if err != nil {
		made.Problem = bench.Reason(err)
		return made
	}
	made.Seconds = took.Seconds()
	return made
}

// make makes one form in the directory work.
func (i *Image) make(ctx context.Context, work string, m measured) Made {
	out := filepath.Join(work, m.format)
	made := Made{Format: m.format, What: m.what, From: m.from}
	write := m.own
	if write == nil {
		program, err := need(m.program, m.pkg)
		if err != nil {
			made.Problem = bench.Reason(err)
			return made
		}
		paths := strings.NewReplacer("ROOT", filepath.Join(i.dir, "root"), "RAW", filepath.Join(work, "raw"), "TAR", filepath.Join(work, "tar"), "OUT", out)
		var args []string
		for arg := range strings.FieldsSeq(m.args) {
			args = append(args, paths.Replace(arg))
		}
		made.Command = m.program + " " + m.args
		write = func(ctx context.Context, path string) error { return byProgram(ctx, program, args, path) }
	}
	start := time.Now()
	err := write(ctx, out)
	if err == nil {
		err = syncAll(out)
	}
	made.Seconds = time.Since(start).Seconds()
	if err == nil {
		made.Size, made.OnDisk, err = sizes(out)
	}
	if err != nil {
		made.Problem, made.Seconds = err.Error(), 0
	}
	return made
}

// byProgram runs the program. What it prints goes to the path, which most
// programs write themselves, and then it prints nothing.
func byProgram(ctx context.Context, program string, args []string, path string) error {
	cmd := exec.Command(program, args...)
	if args[0] == "-c" {
		f, err := os.Create(path)
		if err != nil {
			return err
		}
		defer f.Close()
		cmd.Stdout = f
	}
	return tool.Run(ctx, 3*tool.Slow, cmd) // a tree of many GiB may be compressed
}

// syncAll waits until the file system of the path is on the disk: a tree has too many files for each.
func syncAll(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := unix.Syncfs(int(f.Fd())); err != nil {
		return fmt.Errorf("sync %s: %w", path, err)
	}
	return nil
}

// sizes are what readers see of all files below the path, and what they take on the disk.
func sizes(path string) (seen, onDisk bench.Bytes, err error) {
	if onDisk, err = DiskUsage(path); err != nil {
		return 0, 0, err
	}
	linked := map[uint64]bool{}
	err = filepath.WalkDir(path, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		var st unix.Stat_t
		if err := unix.Lstat(path, &st); err != nil {
			return &fs.PathError{Op: "lstat", Path: path, Err: err}
		}
		if st.Mode&unix.S_IFMT == unix.S_IFREG && !linked[st.Ino] {
			linked[st.Ino] = st.Nlink > 1
			seen += bench.Bytes(st.Size)
		}
		return nil
	})
	return seen, onDisk, err
}
