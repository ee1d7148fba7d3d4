package launch

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"tare/internal/bench"
)

// NeedFilesystem says whether the host's kernel has the file system, built in,
// loaded or to be loaded at the first mount.
func NeedFilesystem(name string) error {
	var uts unix.Utsname
	if err := unix.Uname(&uts); err != nil {
		return fmt.Errorf("kernel release: %w", err)
	}
	return needFilesystem("/", unix.ByteSliceToString(uts.Release[:]), name)
}

func needFilesystem(root, release, name string) error {
	known, err := os.ReadFile(filepath.Join(root, "proc/filesystems"))
	if err != nil {
		return err
	}
	if slices.Contains(strings.Fields(string(known)), name) {
		return nil
	}
	loadable, err := os.ReadFile(filepath.Join(root, "lib/modules", release, "modules.dep"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if strings.Contains(string(loadable), "/"+name+".ko") {
		return nil
	}
	return fmt.Errorf("the kernel has no file system %s: %w%w", name, bench.ErrUnavailable,
		bench.Hint("install the kernel package that holds the module "+name+", or boot a kernel that has it"))
}

// NeedUserNamespaces says whether the host lets namespaces of users be made.
func NeedUserNamespaces() error { return needUserNamespaces("/") }

func needUserNamespaces(root string) error {
	const most = "proc/sys/user/max_user_namespaces"
	text, err := os.ReadFile(filepath.Join(root, most))
	switch {
	case errors.Is(err, os.ErrNotExist):
		return fmt.Errorf("the kernel has no user namespaces: %w%w", bench.ErrUnavailable, bench.Hint("boot a kernel built with CONFIG_USER_NS"))
	case err != nil:
		return err
	case strings.TrimSpace(string(text)) == "0":
		return fmt.Errorf("the host allows no user namespaces: %w%w", bench.ErrUnavailable, bench.Hint("sysctl user.max_user_namespaces=1000"))
	}
	return nil
}

// Linux 5.19 is the first on which the ids of an image can be shown
// shifted below an overlay (idmapped mounts as its layers).
const firstMappedMajor, firstMappedMinor = 5, 19

// NeedMappedIDs says whether boxes can have users of their own; see [MapIDs].
func NeedMappedIDs() error {
	if err := NeedUserNamespaces(); err != nil {
		return err
	}
	var uts unix.Utsname
	if err := unix.Uname(&uts); err != nil {
		return fmt.Errorf("kernel release: %w", err)
	}
	return mapsIDs(unix.ByteSliceToString(uts.Release[:]))
}

func mapsIDs(release string) error {
	var major, minor int
	if _, err := fmt.Sscanf(release, "%d.%d", &major, &minor); err != nil {
		return fmt.Errorf("kernel release %q: not a version", release)
	}
	if major < firstMappedMajor || major == firstMappedMajor && minor < firstMappedMinor {
		return fmt.Errorf("the kernel, %s, cannot map the ids of an overlay's layers: %w%w", release, bench.ErrUnavailable,
			bench.Hint(fmt.Sprintf("boot Linux %d.%d or later", firstMappedMajor, firstMappedMinor)))
	}
	return nil
}

// bridgeFilter is the kernel's module that sends what crosses any bridge of the
// host through iptables, the user's virtual machines' traffic too: dockerd and
// others load it with modprobe. Modules that the kernel loads by itself change
// nothing for others.
const bridgeFilter = "br_netfilter"

// BridgesFiltered reports whether what crosses a bridge passes iptables on this
// host, which nothing that Tare starts changes.
func BridgesFiltered() bool {
	_, err := os.Stat("/proc/sys/net/bridge")
	return err == nil
}

// coverBridgeFilter lets programs find no such module to load. For use inside [Apart].
func coverBridgeFilter() error {
	var uts unix.Utsname
	if err := unix.Uname(&uts); err != nil {
		return err
	}
	files, err := filepath.Glob("/lib/modules/" + unix.ByteSliceToString(uts.Release[:]) + "/kernel/net/bridge/" + bridgeFilter + ".ko*")
	if err != nil {
		return err
	}
	for _, file := range files {
		if err := unix.Mount("/dev/null", file, "", unix.MS_BIND, ""); err != nil {
			return fmt.Errorf("cover %s: %w", file, err)
		}
	}
	return nil
}
