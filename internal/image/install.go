package image

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"tare/internal/bench"
	"tare/internal/host/tool"
	"tare/internal/host/tree"
)

// keyring signs what a build installs.
const keyring = "/usr/share/keyrings/debian-archive-keyring.gpg"

// errDownload marks a failure that a second try may cure.
var errDownload = errors.New("download failed")

// install makes WORK/root, and WORK/kernel with the kernel's package file,
// with mmdebstrap. A failed download is tried once more.
func (s *Store) install(ctx context.Context, work string) error {
	err := s.mmdebstrap(ctx, work)
	if errors.Is(err, errDownload) && ctx.Err() == nil {
		s.say("a download failed; trying once more")
		for _, dir := range []string{"root", "kernel", "tmp"} {
			if err := tree.Remove(filepath.Join(work, dir)); err != nil {
				return err
			}
		}
		err = s.mmdebstrap(ctx, work)
	}
	if err != nil {
		return err
	}
	return tree.Remove(filepath.Join(work, "tmp"))
}

// mmdebstrap runs the program once.
func (s *Store) mmdebstrap(ctx context.Context, work string) error {
	program, err := need("mmdebstrap", "mmdebstrap")
	if err != nil {
		return err
	}
	for _, dir := range []string{"kernel", "tmp"} {
		if err := os.Mkdir(filepath.Join(work, dir), 0o755); err != nil {
			return err
		}
	}
	var scripts []string
	write := func(name, text string) error {
		path := filepath.Join(work, "tmp", name)
		scripts = append(scripts, path)
		return os.WriteFile(path, []byte(text), 0o755)
	}
	if s.Recipe.Kernel != "" {
		if err := write("kernel.sh", s.Recipe.Script); err != nil {
			return err
		}
	}
	for i, text := range s.Recipe.Hooks {
		if err := write(fmt.Sprintf("%s%d.sh", hookPrefix, i), text); err != nil {
			return err
		}
	}
	id := "image-" + strings.TrimPrefix(filepath.Base(work), buildPrefix)
	if s.Ledger != nil {
		if err := s.Ledger.Register(bench.KindProcess, id); err != nil {
			return err
		}
	}
	cmd := exec.CommandContext(ctx, program, mmdebstrapArgs(s.Recipe, work, scripts, s.Mirror, aptProxy(ctx))...)
	cmd.Env = append(os.Environ(), "LC_ALL=C", "TMPDIR="+filepath.Join(work, "tmp"),
		"SOURCE_DATE_EPOCH="+strconv.FormatInt(s.Recipe.Epoch, 10),
		"TARE_KERNEL="+s.Recipe.Kernel, "TARE_KERNEL_DIR="+filepath.Join(work, "kernel"),
		bench.ProcessMark+"="+id)
	tail, err := s.runApart(cmd)
	if s.Ledger != nil {
		err = errors.Join(err, s.Ledger.Release(bench.KindProcess, id))
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return explain(err, tail)
}

func mmdebstrapArgs(r Recipe, work string, scripts []string, mirror, proxy string) []string {
	args := []string{"--mode=root", "--format=directory", "--variant=minbase",
		"--architectures=" + r.Arch, "--keyring=" + keyring,
		"--include=" + strings.Join(r.Packages, ","),
		"--aptopt=APT::Sandbox::User \"root\"", "--aptopt=Acquire::Retries \"3\""}
	if proxy != "" {
		args = append(args, "--aptopt=Acquire::http::Proxy \""+proxy+"\"")
	}
	for _, p := range r.Exclude {
		args = append(args, "--dpkgopt=path-exclude="+p)
	}
	for _, p := range r.Keep {
		args = append(args, "--dpkgopt=path-include="+p)
	}
	for _, script := range scripts {
		args = append(args, "--customize-hook="+script)
	}
	args = append(args, r.Suite, filepath.Join(work, "root"))
	if mirror != "" {
		args = append(args, mirror)
	}
	return args
}

// aptProxy is the proxy the host's apt is told to use, "" for none.
func aptProxy(ctx context.Context) string {
	out, err := tool.Output(ctx, tool.Deadline, exec.Command("apt-config", "dump", "--format", "%v", "Acquire::http::Proxy"))
	proxy := strings.TrimSpace(string(out))
	if err != nil || strings.ContainsAny(proxy, "\"\n;") {
		return ""
	}
	return proxy
}

// runApart runs a command as the first process of a PID namespace, with mounts
// of its own, and returns the last lines it printed. However it or this process
// ends, the kernel kills all that it started, and the mounts it made in the tree
// (among them binds of the host's directories) are never seen from outside.
func (s *Store) runApart(cmd *exec.Cmd) (tail []string, err error) {
	runtime.LockOSThread() // the parent of Pdeathsig is a thread
	defer runtime.UnlockOSThread()
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:   unix.CLONE_NEWPID,
		Unshareflags: unix.CLONE_NEWNS, // and Go makes the mounts private
		Pdeathsig:    syscall.SIGKILL,
	}
	cmd.WaitDelay = 10 * time.Second
	r, w := io.Pipe()
	cmd.Stdout, cmd.Stderr = w, w
	done := make(chan []string)
	go func() { done <- s.follow(r) }()
	err = cmd.Run()
	w.Close()
	return <-done, err
}

// hookPrefix begins the name of a script of the recipe's own, as mmdebstrap prints it.
const hookPrefix = "hook-"

// steps are the lines of mmdebstrap that people want to see.
var steps = map[string]string{
	"running apt-get update":                          "reading the package lists",
	"downloading packages with apt":                   "downloading packages",
	"extracting archives":                             "unpacking the base system",
	"installing essential packages":                   "installing the base system",
	"installing remaining packages inside the chroot": "installing the programs and what they need",
	"running --customize-hook directly":               "downloading the guest kernel",
	"cleaning package lists and apt cache":            "cleaning up",
}

// follow passes on the steps and keeps the last lines.
func (s *Store) follow(r io.Reader) []string {
	const keep = 12
	var tail []string
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line := strings.TrimSpace(lines.Text())
		if line == "" {
			continue
		}
		if tail = append(tail, line); len(tail) > keep {
			tail = tail[1:]
		}
		if text, ok := strings.CutPrefix(line, "I: "); ok {
			text, _, _ = strings.Cut(strings.TrimSuffix(text, "..."), ":")
			if strings.Contains(line, "/"+hookPrefix) {
				s.say("preparing what the programs work on")
			} else if step, ok := steps[text]; ok {
				s.say("%s", step)
			}
		}
	}
	io.Copy(io.Discard, r) // a line too long to keep must not block the program
	return tail
}

var (
	fullText     = regexp.MustCompile(`No space left on device|Disk quota exceeded|You don't have enough free space`)
	downloadText = regexp.MustCompile(`Failed to fetch|failure resolving|Could not resolve|Could not connect|` +
		`Unable to connect|Connection (timed out|failed|refused)|Hash Sum mismatch|Network is unreachable|` +
		`is not \(yet\) available|Some index files failed to download|Undetermined Error`)
	unknownText = regexp.MustCompile(`Unable to locate package \S+`)
	keyText     = regexp.MustCompile(`NO_PUBKEY|is not signed|Missing key|signatures couldn't be verified`)
)

// explain turns a failure of mmdebstrap into an error that says what happened,
// with its last lines and what to do.
func explain(err error, tail []string) error {
	if err == nil {
		return nil
	}
	text := strings.Join(tail, "\n")
	said := "; it said:\n  " + strings.Join(tail, "\n  ")
	switch {
	case fullText.MatchString(text):
		return fmt.Errorf("mmdebstrap: %w: %w%s", unix.ENOSPC, err, said)
	case unknownText.MatchString(text):
		return fmt.Errorf("%s: %w%w", unknownText.FindString(text), bench.ErrInvalid,
			bench.Hint("packages to add to the image are those of Debian "+Golden().Suite))
	case keyText.MatchString(text):
		return fmt.Errorf("mmdebstrap: %w%s%w", err, said,
			bench.Hint("the host's debian-archive-keyring may be older than the suite: apt install debian-archive-keyring from a newer release"))
	case downloadText.MatchString(text):
		return fmt.Errorf("mmdebstrap: %w: %w%s%w", errDownload, err, said,
			bench.Hint("check that this host reaches a Debian mirror (apt update), or name one"))
	}
	return fmt.Errorf("mmdebstrap: %w%s", err, said)
}
