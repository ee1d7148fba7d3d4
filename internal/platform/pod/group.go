package pod

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// deepest is how far below the top of a hierarchy a pod's control group lies at most: cgroupRoot, three
// levels of the quality of service, and some for a node that is a container itself.
const deepest = 8

// GroupOf returns the directory of the pod's control group below the top of a hierarchy, "" for none.
// The kubelet names it pod<UID> (cgroupfs driver) or <parent>-pod<UID with _>.slice (systemd driver);
// where it lies depends on the quality of service and on the kubelet's cgroupRoot
// (pkg/kubelet/cm/pod_container_manager_linux.go).
func GroupOf(top, uid string) (string, error) {
	if uid == "" {
		return "", nil
	}
	plain, slice := "pod"+uid, "pod"+strings.ReplaceAll(uid, "-", "_")+".slice"
	found := ""
	err := filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil && path != top && os.IsNotExist(err): // removed meanwhile
			return fs.SkipDir
		case err != nil:
			return err
		case !d.IsDir():
			return nil
		case d.Name() == plain || strings.HasSuffix(d.Name(), "-"+slice):
			found = path
			return fs.SkipAll
		}
		if rel, err := filepath.Rel(top, path); err != nil || strings.Count(rel, "/") >= deepest-1 {
			return fs.SkipDir
		}
		return nil
	})
	return found, err
}
