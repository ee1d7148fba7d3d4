package store

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"tare/internal/bench"
	"tare/internal/host"
)

// tampered is a folder of a run of which one trial has an outcome, another was
// cut off, and a line is torn, and a directory elsewhere that nobody may touch.
func tampered(t *testing.T) (dir, elsewhere string) {
	t.Helper()
	dir, elsewhere = filepath.Join(t.TempDir(), "run"), t.TempDir()
	w := create(t, dir)
	appendTrial(t, w, "b01-t01")
	w.Close()
	write(t, filepath.Join(dir, trialsFile), `{"trial":"b02-t02"`)
	write(t, filepath.Join(dir, samplesDir, "b02-t02.jsonl"), `{"at":1,`)
	if err := os.Mkdir(filepath.Join(dir, outputDir, "b02-t02"), 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, outputDir, "b02-t02", "subject.stdout"), "half")
	for _, name := range []string{"theirs", "b02-t02.jsonl", "subject.stdout"} {
		write(t, filepath.Join(elsewhere, name), "precious")
	}
	return dir, elsewhere
}

// checkUntouched fails the test unless everything elsewhere is as it was.
func checkUntouched(t *testing.T, elsewhere string) {
	t.Helper()
	names, err := os.ReadDir(elsewhere)
	if err != nil || len(names) != 3 {
		t.Errorf("there are %v, %v", names, err)
	}
	for _, n := range names {
		if text, err := os.ReadFile(filepath.Join(elsewhere, n.Name())); err != nil || string(text) != "precious" {
			t.Errorf("%s is %q, %v", n.Name(), text, err)
		}
	}
}

// within fails the test if f does not return soon: a pipe must not be waited for.
func within(t *testing.T, f func() error) error {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- f() }()
	select {
	case err := <-done:
		return err
	case <-time.After(20 * time.Second):
		t.Fatal("it still waits")
		return nil
	}
}

// instead puts something else in the place of a part of the folder.
func instead(t *testing.T, dir, name string, put func(path string) error) {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.RemoveAll(path); err != nil {
		t.Fatal(err)
	}
	if err := put(path); err != nil {
		t.Fatal(err)
	}
}

// What is not a run's own file or directory is refused, whatever stands in its
// place, and nothing that it leads to is touched.
func TestResumeGoesWhereNoLinkLeads(t *testing.T) {
	link := func(to string) func(string) error { return func(path string) error { return os.Symlink(to, path) } }
	pipe := func(path string) error { return unix.Mkfifo(path, 0o644) }
	for _, c := range []struct {
		name string
		put  func(elsewhere string) func(path string) error
		says string
	}{
		{samplesDir, link, "samples is a symbolic link"},
		{outputDir, link, "output is a symbolic link"},
		{outputDir + "/b02-t02", link, "b02-t02 is a symbolic link"},
		{samplesDir, func(string) func(string) error { return link("output") }, "samples is a symbolic link"},
		{samplesDir, func(string) func(string) error { return pipe }, "samples is a named pipe"},
		{tornFile, func(e string) func(string) error { return link(filepath.Join(e, "theirs")) }, tornFile + " is a symbolic link"},
		{tornFile, func(e string) func(string) error { return link(filepath.Join(e, "new")) }, tornFile},
		{tornFile, func(string) func(string) error { return link("spec.yaml") }, tornFile + " is a symbolic link"},
		{tornFile, func(string) func(string) error { return pipe }, tornFile + " is a named pipe"},
		{tornFile, func(e string) func(string) error {
			return func(path string) error { return os.Link(filepath.Join(e, "theirs"), path) }
		}, tornFile + " has a second name"},
		{trialsFile, func(e string) func(string) error { return link(filepath.Join(e, "theirs")) }, trialsFile + " is a symbolic link"},
		{trialsFile, func(string) func(string) error { return pipe }, trialsFile + " is a named pipe"},
		{trialsFile, func(e string) func(string) error {
			return func(path string) error { return os.Link(filepath.Join(e, "theirs"), path) }
		}, trialsFile + " has a second name"},
		{headerFile, func(e string) func(string) error { return link(filepath.Join(e, "theirs")) }, headerFile + " is a symbolic link"},
		{headerFile, func(string) func(string) error { return pipe }, headerFile + " is a named pipe"},
		{headerFile, func(string) func(string) error { return link("/dev/zero") }, headerFile + " is a symbolic link"},
		{planFile, func(string) func(string) error { return pipe }, planFile + " is a named pipe"},
		{hostFile, func(string) func(string) error { return func(path string) error { return os.Mkdir(path, 0o755) } }, hostFile + " is a directory, and tare wrote a file there"},
	} {
		t.Run(c.says, func(t *testing.T) {
			dir, elsewhere := tampered(t)
			instead(t, dir, c.name, c.put(elsewhere))
			err := within(t, func() error {
				r, _, err := OpenForResume(dir)
				if err == nil {
					r.Close()
				}
				return err
			})
			if err == nil || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "/proc/self") {
				t.Errorf("%v, want %q", err, c.says)
			}
			checkUntouched(t, elsewhere)
		})
	}
}

// A report reads through no link either, and waits for no pipe.
func TestReadingFollowsNoLink(t *testing.T) {
	for name, read := range map[string]func(r *Run) error{
		samplesDir + "/b01-t01.jsonl":         func(r *Run) error { return r.Samples("b01-t01", func(*bench.Sample) error { return nil }) },
		samplesDir:                            func(r *Run) error { return r.Samples("b01-t01", func(*bench.Sample) error { return nil }) },
		outputDir + "/b01-t01/subject.stdout": func(r *Run) error { _, err := r.Output("b01-t01", "subject", "stdout"); return err },
		outputDir + "/b01-t01":                func(r *Run) error { _, err := r.Output("b01-t01", "subject", "stdout"); return err },
		specFile:                              func(r *Run) error { _, err := r.Spec(); return err },
		trialsFile: func(r *Run) error {
			for _, err := range r.Outcomes() {
				if err != nil {
					return err
				}
			}
			return nil
		},
	} {
		for what, put := range map[string]func(elsewhere, path string) error{
			"a symbolic link": func(elsewhere, path string) error { return os.Symlink(filepath.Join(elsewhere, "theirs"), path) },
			"a named pipe":    func(_, path string) error { return unix.Mkfifo(path, 0o644) },
		} {
			dir, elsewhere := tampered(t)
			r, err := Open(dir)
			if err != nil {
				t.Fatal(err)
			}
			instead(t, dir, name, func(path string) error { return put(elsewhere, path) })
			err = within(t, func() error { return read(r) })
			if !errors.Is(err, bench.ErrInvalid) || !strings.Contains(err.Error(), filepath.Join(dir, name)+" is "+what) || bench.HintOf(err) == "" {
				t.Errorf("%s as %s: %v", name, what, err)
			}
			r.Close()
		}
	}
}

// What is removed of a run that goes on are the trials of its plan that have no
// outcome, and nothing that its owner laid beside them.
func TestSweepLeavesWhatIsNotOurs(t *testing.T) {
	dir, _ := tampered(t)
	notes := []string{samplesDir + "/notes.txt", samplesDir + "/b09-t99.jsonl", outputDir + "/picture.png", outputDir + "/mine/deep/notes", outputDir + "/b01-t01/subject.stdout"}
	for _, n := range notes[:4] {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, n)), 0o755); err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(dir, n), "mine")
	}
	r, _, err := OpenForResume(dir)
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
	for _, n := range notes {
		if _, err := os.Stat(filepath.Join(dir, n)); err != nil {
			t.Error(err)
		}
	}
	for _, n := range []string{samplesDir + "/b02-t02.jsonl", outputDir + "/b02-t02"} {
		if _, err := os.Lstat(filepath.Join(dir, n)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s of a trial without an outcome: %v", n, err)
		}
	}

	// In a trial's own directory a tree is nothing that was written there.
	kept := filepath.Join(dir, outputDir, "b02-t02", "tree", "leaf")
	if err := os.MkdirAll(kept, 0o755); err != nil {
		t.Fatal(err)
	}
	if _, _, err := OpenForResume(dir); err == nil || bench.HintOf(err) != "it is nothing that tare wrote there: move it elsewhere" {
		t.Errorf("a tree: %v", err)
	}
	if _, err := os.Stat(kept); err != nil {
		t.Error(err)
	}
}

// Whoever owns the folder may exchange its parts while root works in it.
func TestResumeAgainstARace(t *testing.T) {
	t.Run("a link out of the folder", func(t *testing.T) {
		dir, elsewhere := tampered(t)
		race(t, dir, elsewhere, elsewhere)
	})
	t.Run("a link within it", func(t *testing.T) {
		dir, elsewhere := tampered(t)
		mine := filepath.Join(dir, "mine")
		if err := os.Rename(elsewhere, mine); err != nil {
			t.Fatal(err)
		}
		race(t, dir, "mine", mine)
	})
}

// race resumes the run in dir while its samples change places with a link to
// elsewhere again and again.
func race(t *testing.T, dir, to, elsewhere string) {
	samples, aside := filepath.Join(dir, samplesDir), filepath.Join(dir, "aside")
	if err := os.Symlink(to, aside); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	exchanged := make(chan int)
	go func() {
		n := 0
		for ctx.Err() == nil {
			if unix.Renameat2(unix.AT_FDCWD, samples, unix.AT_FDCWD, aside, unix.RENAME_EXCHANGE) == nil {
				n++
			}
		}
		exchanged <- n
	}()
	resumed, refused := 0, 0
	for ctx.Err() == nil {
		r, _, err := OpenForResume(dir)
		if err != nil {
			refused++
			continue
		}
		resumed++
		if err := r.Append(ctx, outcome("b02-t02", bench.Failed), someSamples(1), nil); err == nil {
			r.Close()
			text, err := os.ReadFile(filepath.Join(dir, trialsFile))
			if err != nil {
				t.Fatal(err)
			}
			first, _, _ := strings.Cut(string(text), "\n")
			if err := os.WriteFile(filepath.Join(dir, trialsFile), []byte(first+"\n"), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		r.Close()
	}
	n := <-exchanged
	t.Logf("exchanged %d times, resumed %d times, refused %d", n, resumed, refused)
	if n < 100 || refused == 0 {
		t.Error("there was no race")
	}
	checkUntouched(t, elsewhere)
}

// The report is put in its place whole, and never written through what is there.
func TestReportReplacesWhatIsThere(t *testing.T) {
	page := func(text string) func(io.Writer) error {
		return func(w io.Writer) error { _, err := io.WriteString(w, text); return err }
	}
	for what, put := range map[string]func(elsewhere, path string) error{
		"link":      func(elsewhere, path string) error { return os.Symlink(filepath.Join(elsewhere, "theirs"), path) },
		"hard link": func(elsewhere, path string) error { return os.Link(filepath.Join(elsewhere, "theirs"), path) },
		"pipe":      func(_, path string) error { return unix.Mkfifo(path, 0o644) },
		"old page":  func(_, path string) error { return os.WriteFile(path, []byte("old"), 0o644) },
	} {
		for _, name := range []string{reportFile, reportFile + ".part"} {
			dir, elsewhere := tampered(t)
			instead(t, dir, name, func(path string) error { return put(elsewhere, path) })
			r, err := Open(dir)
			if err != nil {
				t.Fatal(err)
			}
			if err := within(t, func() error { return r.WriteReport(page("new")) }); err != nil {
				t.Errorf("%s as %s: %v", name, what, err)
			}
			path := filepath.Join(dir, reportFile)
			if text, err := os.ReadFile(path); err != nil || string(text) != "new" {
				t.Errorf("%s as %s: the page is %q, %v", name, what, text, err)
			}
			if info, err := os.Lstat(path); err != nil || !info.Mode().IsRegular() {
				t.Errorf("%s as %s: %v, %v", name, what, info.Mode(), err)
			}
			broken := errors.New("no template")
			if err := r.WriteReport(func(io.Writer) error { return broken }); !errors.Is(err, broken) {
				t.Errorf("%v", err)
			}
			if text, err := os.ReadFile(path); err != nil || string(text) != "new" {
				t.Errorf("after a page that could not be made the old one is %q, %v", text, err)
			}
			if _, err := os.Lstat(path + ".part"); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("half a page was left: %v", err)
			}
			checkUntouched(t, elsewhere)
			r.Close()
		}
	}
}

// What a folder says of names cannot lead out of it, or out of a directory that
// is named by the run's id.
func TestNamesStayNames(t *testing.T) {
	for _, c := range []struct{ file, old, new, says string }{
		{headerFile, `"r1"`, `"../images"`, `"../images" is not an id of a run`},
		{headerFile, `"r1"`, `""`, `"" is not an id of a run`},
		{headerFile, `"r1"`, `"."`, `"." is not an id of a run`},
		{headerFile, `"r1"`, `"R1"`, `"R1" is not an id of a run`},
		{headerFile, `"r1"`, `"` + strings.Repeat("a", maxID+1) + `"`, "not an id of a run"},
		{planFile, `"b02-t02"`, `"../../theirs"`, `"../../theirs" cannot be the name of a file`},
		{planFile, `"b02-t02"`, `"\u001b[2J"`, `"\x1b[2J" cannot be the name of a file`},
		{planFile, `"b02-t02"`, `"b01-t01"`, "share the id of another"},
	} {
		dir, _ := tampered(t)
		path := filepath.Join(dir, c.file)
		text, err := os.ReadFile(path)
		if err != nil || !strings.Contains(string(text), c.old) {
			t.Fatalf("%s: %v", text, err)
		}
		if err := os.WriteFile(path, []byte(strings.Replace(string(text), c.old, c.new, 1)), 0o644); err != nil {
			t.Fatal(err)
		}
		for verb, open := range map[string]func(string) error{
			"report": func(dir string) error { _, err := Open(dir); return err },
			"resume": func(dir string) error { _, _, err := OpenForResume(dir); return err },
		} {
			err := open(dir)
			if !errors.Is(err, bench.ErrInvalid) || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), path) || bench.HintOf(err) == "" {
				t.Errorf("%s of %s: %v", verb, c.new, err)
			}
		}
	}
}

func TestCreateTakesNamesOnly(t *testing.T) {
	for _, id := range []string{"", "../images", "a/b", "A", strings.Repeat("a", maxID+1)} {
		dir := filepath.Join(t.TempDir(), "run")
		if _, err := Create(dir, Header{Run: id}, nil, testPlan(), &host.Facts{}); err == nil || !strings.Contains(err.Error(), "not an id of a run") {
			t.Errorf("%q: %v", id, err)
		}
		if _, err := os.Stat(dir); err == nil {
			t.Errorf("%q: the folder was made", id)
		}
	}
}

// The digest is of all that was settled when the run began, and of nothing that
// is written later.
func TestDigest(t *testing.T) {
	dir, _ := tampered(t)
	digest := func() string {
		t.Helper()
		r, err := Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		d, err := r.Digest()
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	first := digest()
	r, _, err := OpenForResume(dir)
	if err != nil {
		t.Fatal(err)
	}
	appendTrial(t, r, "b02-t02")
	if d, err := r.Digest(); err != nil || d != first {
		t.Errorf("a run that goes on has %s, %v, not %s", d, err, first)
	}
	r.Close()
	if d := digest(); d != first {
		t.Error("an outcome changed the digest")
	}
	seen := map[string]bool{first: true}
	for _, name := range []string{headerFile, specFile, planFile, hostFile} {
		write(t, filepath.Join(dir, name), "\n")
		if d := digest(); seen[d] {
			t.Errorf("a change of %s did not change the digest", name)
		} else {
			seen[d] = true
		}
	}
	made := filepath.Join(t.TempDir(), "made")
	w := create(t, made)
	before, err := w.Digest()
	w.Close()
	dir = made
	if after := digest(); err != nil || before != after {
		t.Errorf("made with %s, %v, read with %s", before, err, after)
	}
}
