package ledger

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"tare/internal/bench"
	"tare/internal/host/kube"
	"tare/internal/host/ssh"
)

// Format is the version of the ledger's lines that this program writes. It reads
// older ones too; those of format 1 have no version and their owners no lock.
const Format = 2

// Entry is one line of the ledger.
type Entry struct {
	Format int `json:"format,omitempty"`

	Op    string `json:"op"` // "register" or "release"
	Kind  string `json:"kind"`
	Name  string `json:"name"`
	Owner Owner  `json:"owner"`
}

const (
	opRegister = "register"
	opRelease  = "release"
)

// thing identifies what an entry is about.
type thing struct{ kind, name string }

// A book is a ledger file as read.
type book struct {
	path    string
	entries []Entry
	bad     []badLine
}

// badLine is a line that is not an entry.
type badLine struct {
	number int
	text   string
	err    error
}

// newer is the error of a ledger that a newer program has written to, nil if
// none has. What such lines register or release is not known here, so nothing
// of the ledger may be removed.
func (b book) newer() error {
	for _, l := range b.bad {
		var n *newerError
		if errors.As(l.err, &n) {
			return fmt.Errorf("%s:%d: %w%w", b.path, l.number, n, bench.Hint(
				"run tare clean of the newer program, which knows what it made, or name another state directory by --state"))
		}
	}
	return nil
}

// newerError says that a line is of a format that is not known yet.
type newerError struct{ format int }

func (e *newerError) Error() string {
	return fmt.Sprintf("an entry of format %d, written by a newer tare; this one reads formats up to %d", e.format, Format)
}

// corrupt returns one error for each line that could not be read.
func (b book) corrupt() []error {
	var errs []error
	for _, l := range b.bad {
		errs = append(errs, fmt.Errorf("%s:%d: %q: %w%w", b.path, l.number, l.text, l.err, bench.Hint(
			"something tare made may be named there and still be on the host: look at the line; cleaning sets it aside in "+corruptName)))
	}
	return errs
}

// readBook reads the ledger of the state directory; none is an empty one.
func readBook(dir string) (book, error) {
	path := filepath.Join(dir, fileName)
	text, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return book{}, fmt.Errorf("read ledger: %w", err)
	}
	b := parse(text)
	b.path = path
	return b, nil
}

// parse reads the lines of a ledger. What follows the last newline is torn and
// does not count.
func parse(text []byte) book {
	var b book
	for n := 1; ; n++ {
		line, rest, whole := bytes.Cut(text, []byte("\n"))
		if !whole {
			return b
		}
		text = rest
		e, err := parseEntry(line)
		if err != nil {
			b.bad = append(b.bad, badLine{n, string(line), err})
			continue
		}
		b.entries = append(b.entries, e)
	}
}

func parseEntry(line []byte) (Entry, error) {
	var version struct{ Format int }
	if err := json.Unmarshal(line, &version); err == nil && version.Format > Format {
		return Entry{}, &newerError{version.Format}
	}
	var e Entry
	dec := json.NewDecoder(bytes.NewReader(line))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&e); err != nil {
		return Entry{}, fmt.Errorf("not an entry: %w", err)
	}
	if dec.More() {
		return Entry{}, errors.New("not an entry: more than one value")
	}
	switch {
	case e.Format < 0 || e.Owner.Lock < 0:
		return Entry{}, errors.New("not an entry: a negative format or lock")
	case e.Op != opRegister && e.Op != opRelease:
		return Entry{}, fmt.Errorf("not an entry: unknown op %q", e.Op)
	case e.Kind == "" || e.Name == "":
		return Entry{}, errors.New("not an entry: kind or name is missing")
	case e.Owner.PID <= 0 || e.Owner.Boot == "":
		return Entry{}, errors.New("not an entry: owner is missing")
	}
	return e, nil
}

// held returns the entries of what is registered and not released since. What
// is registered twice belongs to its last owner.
func held(entries []Entry) []Entry {
	last := map[thing]int{}
	for i, e := range entries {
		if e.Op == opRelease {
			delete(last, thing{e.Kind, e.Name})
		} else {
			last[thing{e.Kind, e.Name}] = i
		}
	}
	var list []Entry
	for i, e := range entries {
		if at, ok := last[thing{e.Kind, e.Name}]; ok && at == i {
			list = append(list, e)
		}
	}
	return list
}

var (
	plainName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)
	errForm   = errors.New("not a name of that kind")
)

// checkThing says whether a thing is one that may be removed on the ledger's
// word alone.
func checkThing(stateDir, kind, name string) error {
	switch kind {
	case bench.KindProcess, bench.KindTap, bench.KindDomain, bench.KindMapped:
		if !plainName.MatchString(name) {
			return errForm
		}
	case bench.KindPod, bench.KindJob:
		return kube.CheckThing(name)
	case bench.KindRemote:
		return ssh.CheckThing(name)
	case bench.KindSetting:
		return checkSetting(stateDir, name)
	case bench.KindNote:
		if name != bench.CRIUNote {
			return errForm
		}
	case bench.KindPlace:
		if !slices.Contains(bench.Places, name) {
			return errForm
		}
	case bench.KindCgroup:
		if !filepath.IsLocal(name) || filepath.Clean(name) != name || name == "." {
			return errForm
		}
	case bench.KindNetNS, bench.KindMount, bench.KindDir, bench.KindLoop, bench.KindSwap:
		if filepath.Clean(name) != name {
			return errForm
		}
		if _, _, ok := beneath(stateDir, name); !ok {
			return fmt.Errorf("outside %s and %s", stateDir, bench.RuntimeDir)
		}
	default:
		return errors.New("unknown kind")
	}
	return nil
}

// beneath splits a path into the directory of ours that it lies in and the rest.
func beneath(stateDir, path string) (base, rel string, ok bool) {
	for _, base := range []string{stateDir, bench.RuntimeDir} {
		if rel, found := strings.CutPrefix(path, base+"/"); found && filepath.IsLocal(rel) && rel != "." {
			return base, rel, true
		}
	}
	return "", "", false
}
