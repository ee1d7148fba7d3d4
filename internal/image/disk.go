package image

import (
	"context"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"tare/internal/bench"
	"tare/internal/host/tool"
)

// diskRoom is what the disk has beyond its content, for guests that write on a
// copy or an overlay of it. It takes no space: the file is sparse.
const diskRoom = 256 * bench.MiB

// writeDisk makes an ext4 file system of the root directory. It has no
// journal: it is never written, and each boot would replay it. The UUID and
// the hash seed come from the digest and the times from the recipe, so that
// the same tree gives the same bytes.
func (i *Image) writeDisk(ctx context.Context, path string) error {
	mkfs, err := need("mkfs.ext4", "e2fsprogs")
	if err != nil {
		return err
	}
	root := filepath.Join(i.dir, "root")
	size, err := diskSize(root)
	if err != nil {
		return err
	}
	id := i.manifest.Digest[len("sha256:"):]
	uuid := strings.Join([]string{id[:8], id[8:12], id[12:16], id[16:20], id[20:32]}, "-")
	epoch := strconv.FormatInt(i.manifest.Recipe.Epoch, 10)
	cmd := exec.Command(mkfs, "-q", "-F", "-d", root,
		"-O", "^has_journal", "-m", "0", "-b", "4096", "-i", "8192", "-L", i.Label(),
		"-U", uuid, "-E", "hash_seed="+uuid+",lazy_itable_init=0,root_owner=0:0,nodiscard",
		path, strconv.FormatInt(int64(size/bench.KiB), 10)+"k")
	cmd.Env = append(os.Environ(), "LC_ALL=C", "E2FSPROGS_FAKE_TIME="+epoch, "SOURCE_DATE_EPOCH="+epoch)
	return tool.Run(ctx, tool.Slow, cmd)
}

// Label is the disk's volume label, by which a guest with several disks tells
// them apart: "tare" for the golden image, "tare-hosts" for the outer guests'.
func (i *Image) Label() string {
	if role := i.manifest.Recipe.Role; role != "" {
		return "tare-" + role
	}
	return "tare"
}

// diskSize is what the tree takes in blocks of 4 KiB, and a tenth and
// [diskRoom] more, in whole MiB.
func diskSize(root string) (bench.Bytes, error) {
	var n bench.Bytes
	err := filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		var st unix.Stat_t
		if err := unix.Lstat(path, &st); err != nil {
			return &fs.PathError{Op: "lstat", Path: path, Err: err}
		}
		n += 256 // the inode
		if st.Mode&unix.S_IFMT == unix.S_IFREG || st.Mode&unix.S_IFMT == unix.S_IFDIR {
			n += (bench.Bytes(st.Size) + 4095) / 4096 * 4096
		}
		return nil
	})
	n += n/10 + diskRoom
	return (n + bench.MiB - 1) / bench.MiB * bench.MiB, err
}
