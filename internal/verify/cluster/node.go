package main

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// node is the first process of a node, in namespaces of its own. It makes the node's root and
// network, starts its programs, and ends when one of them does.
func (c cluster) node(name string) error {
	m, other := members[0], members[1]
	if name == other.name {
		m, other = other, m
	}
	if err := c.enter(m); err != nil {
		return fmt.Errorf("make the root: %w", err)
	}
	if err := connect(m, other); err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	running := map[int]string{}
	start := func(name string, args ...string) error {
		log, err := os.Create(c.path(m.name, "log", name+".log"))
		if err != nil {
			return err
		}
		defer log.Close()
		cmd := exec.Command(args[0], args[1:]...)
		cmd.Stdout, cmd.Stderr = log, log
		if err := cmd.Start(); err != nil {
			return err
		}
		running[cmd.Process.Pid] = name
		return nil
	}
	kube := func(name string, flags ...string) error {
		return start(name, append([]string{c.path("bin", "kube"), name}, flags...)...)
	}
	errs := []error{start("containerd", "containerd", "--config", c.path(m.name, "containerd.toml"))}
	if m == members[0] {
		errs = append(errs,
			kube("etcd", "--data-dir="+c.path("etcd"), "--unsafe-no-fsync", "--log-level=warn"),
			kube("apiserver",
				"--etcd-servers=http://127.0.0.1:2379",
				"--advertise-address="+m.address,
				"--service-cluster-ip-range="+services,
				"--client-ca-file="+c.path("pki", "ca.crt"),
				"--tls-cert-file="+c.path("pki", "apiserver.crt"),
				"--tls-private-key-file="+c.path("pki", "apiserver.key"),
				"--kubelet-certificate-authority="+c.path("pki", "ca.crt"),
				"--kubelet-client-certificate="+c.path("pki", "admin.crt"),
				"--kubelet-client-key="+c.path("pki", "admin.key"),
				"--kubelet-preferred-address-types=InternalIP",
				"--service-account-issuer=https://kubernetes.default.svc",
				"--service-account-key-file="+c.path("pki", "service-accounts.key"),
				"--service-account-signing-key-file="+c.path("pki", "service-accounts.key"),
				"--authorization-mode=Node,RBAC",
				"--enable-admission-plugins=NodeRestriction",
				"--allow-privileged=true"))
	}
	awaitAPI()
	if m == members[0] {
		errs = append(errs,
			kube("controller-manager",
				"--kubeconfig="+c.path("controller-manager.kubeconfig"),
				"--service-account-private-key-file="+c.path("pki", "service-accounts.key"),
				"--root-ca-file="+c.path("pki", "ca.crt"),
				"--use-service-account-credentials",
				"--leader-elect=false"),
			kube("scheduler",
				"--kubeconfig="+c.path("scheduler.kubeconfig"),
				"--leader-elect=false"))
	}
	errs = append(errs,
		kube("kubelet",
			"--config="+c.path(m.name, "kubelet.yaml"),
			"--kubeconfig="+c.path(m.name+".kubeconfig"),
			"--hostname-override="+m.name,
			"--node-ip="+m.address),
		kube("proxy", "--config="+c.path(m.name, "proxy.yaml")))
	if err := errors.Join(errs...); err != nil {
		return err
	}
	for {
		var status unix.WaitStatus
		pid, err := unix.Wait4(-1, &status, 0, nil)
		if err != nil && !errors.Is(err, unix.EINTR) {
			return err
		}
		if name := running[pid]; name != "" {
			return fmt.Errorf("%s ended with status %d: see %s.log", name, status.ExitStatus(), name)
		}
	}
}

// awaitAPI returns once the API server is ready: the other programs do not wait long for it.
func awaitAPI() {
	client := http.Client{Timeout: time.Second, Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	for {
		answer, err := client.Get("https://" + api + "/readyz")
		if err == nil {
			answer.Body.Close()
			if answer.StatusCode == http.StatusOK {
				return
			}
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// mount is a mount in the node's root.
type mount struct {
	source, target, kind string
	flags                uintptr
	data                 string
}

// enter makes the node's root, a layer over the host's, and moves into it.
func (c cluster) enter(m member) error {
	own := func(elem ...string) string { return c.path(append([]string{m.name}, elem...)...) }
	root := own("root")
	text, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return err
	}
	list := []mount{
		{"none", "/", "", syscall.MS_REC | syscall.MS_PRIVATE, ""},
		{"overlay", root, "overlay", 0, "lowerdir=/,upperdir=" + own("upper") + ",workdir=" + own("work")},
		{c.dir, root + c.dir, "", syscall.MS_BIND, ""},
		{"proc", root + "/proc", "proc", 0, ""},
		{"sysfs", root + "/sys", "sysfs", 0, ""},
		{"/dev", root + "/dev", "", syscall.MS_BIND | syscall.MS_REC, ""},
		{"tmpfs", root + "/run", "tmpfs", 0, "mode=755"},
		{"tmpfs", root + "/tmp", "tmpfs", 0, ""},
		{"tmpfs", root + "/sys/fs/cgroup", "tmpfs", 0, "mode=755"},
		{own("containerd"), root + "/var/lib/containerd", "", syscall.MS_BIND, ""},
		{own("kubelet"), root + "/var/lib/kubelet", "", syscall.MS_BIND, ""},
		{own("log"), root + "/var/log", "", syscall.MS_BIND, ""},
	}
	for line := range strings.Lines(string(text)) {
		if controllers := strings.Split(line, ":")[1]; controllers != "" {
			dir := root + "/sys/fs/cgroup/" + strings.TrimPrefix(controllers, "name=")
			list = append(list, mount{"cgroup", dir, "cgroup", 0, strings.Replace(controllers, "name=", "none,name=", 1)})
		}
	}
	for name := range settings {
		list = append(list, mount{own("sysctl", strings.ReplaceAll(name, "/", ".")), root + "/proc/sys/" + name, "", syscall.MS_BIND, ""})
	}
	for _, mnt := range list {
		if _, err := os.Stat(mnt.target); err != nil {
			if err := os.MkdirAll(mnt.target, 0o755); err != nil {
				return err
			}
		}
		if err := syscall.Mount(mnt.source, mnt.target, mnt.kind, mnt.flags, mnt.data); err != nil {
			return fmt.Errorf("mount %s: %w", mnt.target, err)
		}
	}
	if err := os.Chdir(root); err != nil {
		return err
	}
	// The old root comes to lie on the new one (pivot_root(2)).
	if err := syscall.PivotRoot(".", "."); err != nil {
		return fmt.Errorf("pivot_root: %w", err)
	}
	if err := syscall.Unmount(".", syscall.MNT_DETACH); err != nil {
		return err
	}
	if err := os.Chdir("/"); err != nil {
		return err
	}
	if err := syscall.Mount("none", "/", "", syscall.MS_REC|syscall.MS_SHARED, ""); err != nil {
		return err
	}
	// Controllers that share a hierarchy are looked for by either's name.
	dirs, err := filepath.Glob("/sys/fs/cgroup/*,*")
	if err != nil {
		return err
	}
	for _, dir := range dirs {
		for name := range strings.SplitSeq(filepath.Base(dir), ",") {
			if err := os.Symlink(filepath.Base(dir), "/sys/fs/cgroup/"+name); err != nil {
				return err
			}
		}
	}
	path := c.path("bin") + ":/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
	return errors.Join(os.Setenv("PATH", path), os.Setenv("HOME", "/root"), syscall.Sethostname([]byte(m.name)))
}

// connect sets up the node's side of the link once it is there.
func connect(m, other member) error {
	if err := os.WriteFile("/proc/sys/net/ipv4/ip_forward", []byte("1"), 0); err != nil {
		return err
	}
	for {
		if _, err := os.Stat("/sys/class/net/eth0"); err == nil {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	for _, args := range []string{
		"link set lo up",
		"address add " + m.address + "/24 dev eth0",
		"link set eth0 up",
		"route add " + other.pods + " via " + other.address,
		"route add default via " + other.address, // kubelet and kube-proxy look for one
	} {
		if out, err := exec.Command("ip", strings.Fields(args)...).CombinedOutput(); err != nil {
			return fmt.Errorf("ip %s: %w: %s", args, err, out)
		}
	}
	return nil
}
