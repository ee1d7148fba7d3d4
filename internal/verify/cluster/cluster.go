package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"tare/internal/bench"
	"tare/internal/host/cgroup"
	"tare/internal/host/tool"
	"tare/internal/host/tree"
)

// member is a node. The first has the control plane as well.
type member struct{ name, address, pods string }

// All addresses are in the nodes' network namespaces.
var members = []member{
	{"node1", "10.77.0.1", "10.77.1.0/24"},
	{"node2", "10.77.0.2", "10.77.2.0/24"},
}

const (
	services   = "10.77.255.0/24"
	apiService = "10.77.255.1"
	api        = "10.77.0.1:6443"
)

// classes are the runtime classes. Their names are those of containerd's runtimes.
var classes = []string{"runc", "crun", "runsc"}

// upWithin is how long a cluster may take to be ready; on a machine of two CPUs it takes 6 to 20 s.
const upWithin = 5 * time.Minute

// longestDir leaves room for the names of sockets, which have at most 107 bytes (unix(7)).
const longestDir = 70

type cluster struct{ dir string }

func (c cluster) path(elem ...string) string {
	return filepath.Join(append([]string{c.dir}, elem...)...)
}

// group is the name of the control group of all its processes. It follows from the directory, so
// that a cluster whose start was killed is found as well.
func (c cluster) group() string {
	return fmt.Sprintf("cluster-%x", sha256.Sum256([]byte(c.dir)))[:16]
}

// up begins a cluster with the programs in the given directory, and returns once it is ready.
func (c cluster) up(ctx context.Context, programs string) error {
	began := time.Now()
	ctx, cancel := context.WithTimeout(ctx, upWithin)
	defer cancel()
	if len(c.dir) > longestDir {
		return fmt.Errorf("%s has more than %d bytes, and sockets lie below it%w", c.dir, longestDir, bench.Hint("choose a shorter path"))
	}
	if err := os.Mkdir(c.dir, 0o700); err != nil {
		return fmt.Errorf("%w%w", err, bench.Hint("name a new directory, or end the cluster there: scripts/cluster down "+c.dir))
	}
	err := c.start(ctx, programs)
	if err != nil {
		return fmt.Errorf("%w%w", err, bench.Hint("the logs are in "+c.path("node1", "log")+"; scripts/cluster down "+c.dir+" removes all"))
	}
	fmt.Printf("%d nodes are ready after %.1f s; kubeconfig: %s\n", len(members), time.Since(began).Seconds(), c.path("kubeconfig"))
	return nil
}

func (c cluster) start(ctx context.Context, programs string) error {
	host, err := cgroup.Detect()
	if err != nil {
		return err
	}
	if host.Mode() == "v2" {
		return fmt.Errorf("this host has cgroup v2 alone, which nodes are not made for%w", bench.Hint("boot with systemd.unified_cgroup_hierarchy=0"))
	}
	if err := os.CopyFS(c.path("bin"), os.DirFS(programs)); err != nil {
		return err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer listener.Close()
	if err := c.configure(listener.Addr().String()); err != nil {
		return err
	}
	var pids []int
	for _, m := range members {
		pid, err := c.begin(host, m)
		if err != nil {
			return err
		}
		pids = append(pids, pid)
	}
	if err := link(ctx, pids); err != nil {
		return err
	}
	if err := c.expose(host, listener, pids[0]); err != nil {
		return err
	}
	return c.ready(ctx)
}

// inside returns a command that starts in the group of that name below the cluster's.
func (c cluster) inside(host *cgroup.FS, name string, args ...string) (*exec.Cmd, error) {
	g, _, err := host.Create(c.group()+"/"+name, cgroup.Limits{})
	if err != nil {
		return nil, err
	}
	log, err := os.Create(c.path(members[0].name, "log", name+".log"))
	if err != nil {
		return nil, err
	}
	cmd := exec.Command("sh", append([]string{"-c", `for f in $GROUP; do echo 0 >"$f" || exit; done; unset GROUP; exec "$@"`, "sh"}, args...)...)
	cmd.Env = append(os.Environ(), "GROUP="+strings.Join(g.ProcsFiles(), " "))
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return cmd, nil
}

// begin starts the first process of a node. The process of the returned id has the node's
// namespaces, except for that of processes.
func (c cluster) begin(host *cgroup.FS, m member) (int, error) {
	cmd, err := c.inside(host, m.name, "unshare", "--mount", "--net", "--uts", "--ipc", "--cgroup", "--pid", "--fork", "--kill-child",
		c.path("bin", "cluster"), "node", c.dir, m.name)
	if err != nil {
		return 0, err
	}
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	return cmd.Process.Pid, nil
}

// link connects the nodes by a pair of Ethernet devices.
func link(ctx context.Context, pids []int) error {
	own, err := os.Readlink("/proc/self/ns/net")
	if err != nil {
		return err
	}
	for _, pid := range pids {
		for {
			theirs, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/net", pid))
			if err == nil && theirs != own {
				break
			}
			if err != nil {
				return fmt.Errorf("a node ended at once: %w", err)
			}
			if err := pause(ctx); err != nil {
				return err
			}
		}
	}
	return tool.Run(ctx, tool.Deadline, exec.Command("nsenter", fmt.Sprintf("--net=/proc/%d/ns/net", pids[0]),
		"ip", "link", "add", "eth0", "type", "veth", "peer", "name", "eth0", "netns", fmt.Sprint(pids[1])))
}

// expose lets a process in the first node's network serve the listener, which is in the host's.
func (c cluster) expose(host *cgroup.FS, listener net.Listener, pid int) error {
	file, err := listener.(*net.TCPListener).File()
	if err != nil {
		return err
	}
	defer file.Close()
	cmd, err := c.inside(host, "forward", "nsenter", fmt.Sprintf("--net=/proc/%d/ns/net", pid), c.path("bin", "cluster"), "forward", api)
	if err != nil {
		return err
	}
	cmd.ExtraFiles = []*os.File{file}
	return cmd.Start()
}

// forward connects what comes to the listener of file descriptor 3 to the address.
func forward(address string) error {
	listener, err := net.FileListener(os.NewFile(3, "listener"))
	if err != nil {
		return err
	}
	for {
		in, err := listener.Accept()
		if err != nil {
			return err
		}
		go func() {
			defer in.Close()
			out, err := net.Dial("tcp", address)
			if err != nil {
				fmt.Fprintln(os.Stderr, err)
				return
			}
			defer out.Close()
			go func() {
				_, _ = io.Copy(out, in)
				_ = out.(*net.TCPConn).CloseWrite()
			}()
			_, _ = io.Copy(in, out)
		}()
	}
}

// ready imports the image of the pods' first processes, makes the runtime classes, and waits until
// both nodes are ready.
func (c cluster) ready(ctx context.Context) error {
	if err := c.await(ctx, func() error {
		_, err := c.kubectl(ctx, nil, "get", "--raw", "/readyz")
		return err
	}); err != nil {
		return fmt.Errorf("the API server is not ready: %w", err)
	}
	if err := writeImage(c.path("image.tar"), c.path("bin", "cluster")); err != nil {
		return err
	}
	if err := c.load(ctx, c.path("image.tar")); err != nil {
		return err
	}
	var list bytes.Buffer
	for _, class := range classes {
		fmt.Fprintf(&list, "---\napiVersion: node.k8s.io/v1\nkind: RuntimeClass\nmetadata: {name: %s}\nhandler: %s\n", class, class)
	}
	if _, err := c.kubectl(ctx, &list, "apply", "-f", "-"); err != nil {
		return err
	}
	return c.await(ctx, func() error {
		args := []string{"wait", "--for=condition=Ready", "--timeout=60s"}
		for _, m := range members {
			args = append(args, "node/"+m.name)
		}
		_, err := c.kubectl(ctx, nil, args...)
		return err
	})
}

// await calls f until it succeeds.
func (c cluster) await(ctx context.Context, f func() error) error {
	for {
		err := f()
		if err == nil {
			return nil
		}
		if late := pause(ctx); late != nil {
			return errors.Join(err, late)
		}
	}
}

func pause(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(200 * time.Millisecond):
		return nil
	}
}

// kubectl runs kubectl as the administrator and returns what it prints.
func (c cluster) kubectl(ctx context.Context, stdin io.Reader, args ...string) (string, error) {
	cmd := exec.Command(c.path("bin", "kube"), append([]string{"kubectl", "--kubeconfig", c.path("kubeconfig")}, args...)...)
	cmd.Stdin = stdin
	out, err := tool.Output(ctx, 2*time.Minute, cmd)
	return string(out), err
}

// load imports an archive of an image, as OCI or Docker write it, into both nodes.
func (c cluster) load(ctx context.Context, archive string) error {
	for _, m := range members {
		cmd := exec.Command("ctr", "--address", c.path(m.name, "containerd.sock"), "--namespace", "k8s.io", "images", "import", archive)
		if err := tool.Run(ctx, tool.Slow, cmd); err != nil {
			return fmt.Errorf("import %s into %s: %w", archive, m.name, err)
		}
	}
	return nil
}

// down kills the cluster's processes, with which its namespaces and mounts end, and removes its
// directory.
func (c cluster) down(ctx context.Context) error {
	if err := cgroup.Remove(ctx, c.group()); err != nil {
		return err
	}
	return tree.Remove(c.dir)
}
