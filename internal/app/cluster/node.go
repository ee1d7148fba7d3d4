package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"tare/internal/app/site"
	"tare/internal/bench"
	"tare/internal/host/kube"
	"tare/internal/image"
	"tare/internal/platform/launch"
	"tare/internal/platform/pod"
	"tare/internal/result/store"
	"tare/internal/state"
	"tare/internal/state/ledger"
)

// hostRoot is where the job's pod has the root of its node.
const hostRoot = "/host"

// The commands of this program in the job's pod.
const (
	NodeWord    = "node"         // what the pod runs: see [Node.Measure]
	ResultsWord = "node-results" // what is started in it to fetch: see [Node.Send]
)

// SpecVariable has the text of a specification that is no built-in one, in the job's pod.
const SpecVariable = "TARE_SPEC"

// Node is this process in the job's pod.
type Node struct {
	Site *site.Site // of the node, as the node sees it
	Run  string
	Spec string // the name of the file for the specification, "" for a built-in one
}

func (n Node) dir() string { return filepath.Join(n.Site.Dir, "kubernetes", n.Run) }

// What is in the node's directory of the run.
const (
	ownRoot    = "container" // the root of the pod's container, without what is mounted in it
	ownAccount = "account"   // of the pod: its token, its namespace, the cluster's certificate
	results    = "results"
	endedFile  = "ended"  // written when measuring has ended
	readerFile = "reader" // locked by whoever waits for the results
)

// Ended is how measuring on the node ended.
type Ended struct {
	Status int `json:"status"` // the exit status of tare run
}

// keptFor is how long results wait for somebody who fetches them.
const keptFor = time.Hour

// Measure runs "tare run" with the arguments as on the node itself: as root, in the node's own root. Then it
// waits until the results are fetched and its end is asked for, and removes what it made.
func (n Node) Measure(ctx context.Context, args []string) (err error) {
	own, err := os.Open("/")
	if err != nil {
		return err
	}
	defer own.Close()
	account, err := os.Open(kube.AccountDir)
	if err != nil {
		return fmt.Errorf("the pod's service account: %w%w", err, bench.Hint("the pod needs one, with its token mounted: "+Page))
	}
	defer account.Close()
	if err := errors.Join(syscall.Chroot(hostRoot), os.Chdir("/")); err != nil {
		return fmt.Errorf("enter the node's root: %w", err)
	}
	if err := n.Site.Make(); err != nil {
		return err
	}
	led, err := ledger.Open(n.Site.Dir, n.Run)
	if err != nil {
		return err
	}
	var undo launch.Undo
	defer func() { err = undo.Fail(ctx, err) }()
	if err := undo.Register(led, bench.KindDir, n.dir(), func(ctx context.Context) error {
		return n.Site.Cleaner().RemoveDirs(ctx, n.dir())
	}); err != nil {
		return err
	}
	for dir, from := range map[string]*os.File{ownRoot: own, ownAccount: account} {
		if err := n.bind(&undo, led, from, filepath.Join(n.dir(), dir)); err != nil {
			return err
		}
	}
	status, err := n.measure(ctx, led, args)
	if err != nil {
		return err
	}
	text, err := json.Marshal(Ended{Status: status})
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(n.dir(), endedFile+".new"), append(text, '\n'), 0o600); err != nil {
		return err
	}
	if err := os.Rename(filepath.Join(n.dir(), endedFile+".new"), filepath.Join(n.dir(), endedFile)); err != nil {
		return err
	}
	select {
	case <-ctx.Done():
	case <-time.After(keptFor):
	}
	return n.awaitReaders()
}

// bind makes a directory of the container appear in the node's root, for as long as the container is there.
func (n Node) bind(undo *launch.Undo, led bench.Ledger, from *os.File, at string) error {
	if err := undo.Register(led, bench.KindMount, at, func(context.Context) error {
		err := unix.Unmount(at, unix.MNT_DETACH)
		if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOENT) { // not mounted yet
			return nil
		}
		return err
	}); err != nil {
		return err
	}
	if err := os.MkdirAll(at, state.Mode); err != nil {
		return err
	}
	if err := unix.Mount(fmt.Sprintf("/proc/self/fd/%d", from.Fd()), at, "", unix.MS_BIND, ""); err != nil {
		return fmt.Errorf("show the container's files to the node: %w", err)
	}
	return nil
}

// measure makes the image of the container's and runs "tare run"; it returns the exit status.
func (n Node) measure(ctx context.Context, led *ledger.Ledger, args []string) (status int, err error) {
	container := filepath.Join(n.dir(), ownRoot)
	img, err := n.Site.Images(image.New, led).Receive(ctx, container)
	if err != nil {
		return 0, err
	}
	digest := img.Digest()
	if err := img.Close(); err != nil {
		return 0, err
	}
	if n.Spec != "" {
		path := filepath.Join(n.dir(), n.Spec)
		if err := os.WriteFile(path, []byte(os.Getenv(SpecVariable)), 0o600); err != nil {
			return 0, err
		}
		args = append(args, path)
	}
	config := filepath.Join(n.dir(), "kubeconfig")
	if err := kube.WriteAccount(config, filepath.Join(n.dir(), ownAccount)); err != nil {
		return 0, err
	}
	cmd := exec.Command(filepath.Join(container, site.Program), append(args, "--state", n.Site.Dir, "--output", filepath.Join(n.dir(), results))...)
	cmd.Env = append(os.Environ(), kube.Variable+"="+config, pod.VariableImage+"="+digest)
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case err = <-ended:
	case <-ctx.Done():
		_ = cmd.Process.Signal(syscall.SIGTERM) // it may have ended just now
		err = <-ended
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() >= 0 {
		return exit.ExitCode(), nil
	}
	return 0, err
}

// awaitReaders returns when nobody waits for the results any more.
func (n Node) awaitReaders() error {
	f, err := os.OpenFile(filepath.Join(n.dir(), readerFile), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	return unix.Flock(int(f.Fd()), unix.LOCK_EX)
}

// looksApart is how often the node is asked whether measuring has ended.
const looksApart = 500 * time.Millisecond

// Send waits in the job's pod until measuring has ended, or the reader is closed. It writes a line once it
// waits, so that the pod does not end before it has sent, a line of JSON with how measuring ended, and the
// run's folder as [store.Pack] does, if there is one.
func (n Node) Send(ctx context.Context, gone io.Reader, to io.Writer) error {
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		_, _ = io.Copy(io.Discard, gone)
		cancel(errors.New("whoever fetches is gone"))
	}()
	dir := filepath.Join(hostRoot, n.dir())
	var held *os.File
	for {
		if held == nil {
			if f, err := os.OpenFile(filepath.Join(dir, readerFile), os.O_RDWR|os.O_CREATE, 0o600); err == nil {
				defer f.Close()
				if err := unix.Flock(int(f.Fd()), unix.LOCK_SH); err != nil {
					return err
				}
				if _, err := fmt.Fprintln(to, "{}"); err != nil {
					return err
				}
				held = f
			}
		}
		text, err := os.ReadFile(filepath.Join(dir, endedFile))
		if err == nil && held != nil {
			if _, err := to.Write(text); err != nil {
				return err
			}
			break
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(looksApart):
		}
	}
	folder := filepath.Join(dir, results)
	if _, err := os.Stat(filepath.Join(folder, "run.json")); err != nil {
		return nil // nothing was begun
	}
	return store.Pack(to, folder)
}
