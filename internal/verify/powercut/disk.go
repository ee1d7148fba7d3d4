package powercut

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
)

// A node is a file or directory, whatever its names; 0 is none and 1 the directory that is recorded.
type node int

const top node = 1

// An event is what one system call did.
type event struct {
	what     string
	data     map[node]string          // the new content of files
	names    map[node]map[string]node // the new entries of directories; 0: the name is gone
	synced   node                     // what was forced to disk; 0: nothing
	promised string
}

// A world is what a disk holds.
type world struct {
	data  map[node]string
	names map[node]map[string]node // of directories
}

func newWorld() world {
	return world{data: map[node]string{}, names: map[node]map[string]node{top: {}}}
}

func (w world) clone() world {
	c := world{data: maps.Clone(w.data), names: map[node]map[string]node{}}
	for n, names := range w.names {
		c.names[n] = maps.Clone(names)
	}
	return c
}

// A change is what may be lost: the content of one file, or what one call did to one directory.
type change struct {
	what  string
	of    node
	data  *string
	names map[string]node
}

func (w world) apply(c change) {
	if c.data != nil {
		w.data[c.of] = *c.data
	}
	for name, n := range c.names {
		if w.names[c.of] == nil {
			w.names[c.of] = map[string]node{}
		}
		if n == 0 {
			delete(w.names[c.of], name)
		} else {
			w.names[c.of][name] = n
		}
	}
}

// torn is the change with half of what it added.
func (c change) torn(before string) change {
	same := 0
	for same < min(len(before), len(*c.data)) && before[same] == (*c.data)[same] {
		same++
	}
	half := (*c.data)[:same+(len(*c.data)-same)/2]
	c.what, c.data = "half of "+c.what, &half
	return c
}

// A recording is what happened to a directory, from its first state on.
type recording struct {
	first  world
	isDir  map[node]bool
	events []event
}

// A file is one of a disk, by its path.
type file struct {
	path string
	dir  bool
	data string
}

// A disk is what a loss of power may leave, and which of what was not synced is on it.
type disk struct {
	how   string
	files []file
}

// disks are what may be on disk if the power is lost right after event k, the sync of event without left out.
func (r *recording) disks(k, without int) []disk {
	synced := r.first.clone()
	var open []change // not synced, in their order; one for each file's content
	for i, e := range r.events[:k+1] {
		for n, data := range e.data {
			open = slices.DeleteFunc(open, func(c change) bool { return c.of == n && c.data != nil })
			open = append(open, change{what: e.what, of: n, data: &data})
		}
		for n, names := range e.names {
			open = append(open, change{what: e.what, of: n, names: names})
		}
		if e.synced != 0 && i != without {
			for _, c := range open {
				if c.of == e.synced {
					synced.apply(c)
				}
			}
			open = slices.DeleteFunc(open, func(c change) bool { return c.of == e.synced })
		}
	}
	var all []disk
	add := func(how string, keep []change) {
		w := synced.clone()
		for _, c := range keep {
			w.apply(c)
		}
		all = append(all, disk{how, r.files(w, top, ".")})
	}
	add("only what was synced on disk", nil)
	add("everything on disk", open)
	for i, c := range open {
		others := slices.Delete(slices.Clone(open), i, i+1)
		add(fmt.Sprintf("everything on disk but %q", c.what), others)
		add(fmt.Sprintf("only %q on disk of what was not synced", c.what), []change{c})
		if c.data != nil {
			half := c.torn(synced.data[c.of])
			add(fmt.Sprintf("everything on disk but only %s", half.what), append(others, half))
			add(fmt.Sprintf("only %s on disk of what was not synced", half.what), []change{half})
		}
	}
	return all
}

// files lists what a disk holds from a directory down.
func (r *recording) files(w world, dir node, path string) []file {
	list := []file{{path: path, dir: true}}
	for _, name := range slices.SortedFunc(maps.Keys(w.names[dir]), cmp.Compare[string]) {
		n, at := w.names[dir][name], filepath.Join(path, name)
		if r.isDir[n] {
			list = append(list, r.files(w, n, at)...)
		} else {
			list = append(list, file{path: at, data: w.data[n]})
		}
	}
	return list
}
