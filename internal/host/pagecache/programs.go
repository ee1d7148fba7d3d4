package pagecache

import (
	"debug/elf"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Programs returns the files of the installed programs, given by name or path, and the shared
// libraries they are linked with. It does not know other files that a program opens.
func Programs(names []string) []string {
	var files []string
	for _, name := range names {
		if path := find(name, append(filepath.SplitList(os.Getenv("PATH")), "/usr/local/sbin", "/usr/sbin", "/sbin", "/usr/bin")); path != "" {
			files = link(files, path)
		}
	}
	return files
}

// link adds the file and its shared libraries.
func link(files []string, path string) []string {
	path, err := filepath.EvalSymlinks(path)
	if err != nil || slices.Contains(files, path) {
		return files
	}
	files = append(files, path)
	f, err := elf.Open(path)
	if err != nil {
		return files // a script
	}
	defer f.Close()
	needed, err := f.ImportedLibraries()
	if err != nil {
		return files
	}
	for _, name := range needed {
		if lib := find(name, libraryPath(f, filepath.Dir(path))); lib != "" {
			files = link(files, lib)
		}
	}
	return files
}

// libraryPath returns the directories that ld.so(8) searches, except for its cache: the file's own
// list and the distributions' directories.
func libraryPath(f *elf.File, origin string) []string {
	var dirs []string
	for _, tag := range []elf.DynTag{elf.DT_RUNPATH, elf.DT_RPATH} {
		lists, err := f.DynString(tag)
		if err != nil {
			continue
		}
		for _, list := range lists {
			dirs = append(dirs, filepath.SplitList(strings.ReplaceAll(list, "$ORIGIN", origin))...)
		}
	}
	for _, pattern := range []string{"/lib/*-linux-gnu*", "/usr/lib/*-linux-gnu*", "/lib64", "/usr/lib64", "/lib", "/usr/lib", "/usr/local/lib"} {
		at, _ := filepath.Glob(pattern) // the patterns are well-formed
		dirs = append(dirs, at...)
	}
	return dirs
}

func find(name string, dirs []string) string {
	if filepath.IsAbs(name) {
		return name
	}
	for _, dir := range dirs {
		path := filepath.Join(dir, name)
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			return path
		}
	}
	return ""
}
