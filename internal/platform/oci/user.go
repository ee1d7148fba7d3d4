package oci

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"tare/internal/bench"
	"tare/internal/host/cgroup"
	"tare/internal/platform/launch"
)

// User is an unprivileged user who runs a program for some launches. Nobody is
// entered in the host's list of users: the lists that the program finds are files of the
// instance's own, in its mount namespace. The user's id is [launch.FirstID],
// and the further ones that newuidmap(1) grants (subuid(5)) follow it, so that container and
// files are mapped as [launch.MapIDs] does.
type User struct {
	// With are the options of these launches.
	With map[string]string
	// Home fills the user's home directory, for a run; may be nil.
	Home func(run, dir string) error
}

// userName is as good as any: it is seen by the program alone.
const userName = "tare"

// Where an unprivileged user finds what the container is made of: in a RAM file
// system of the instance's own, for the state directory need not be open to all.
const (
	userDir     = bench.RuntimeDir
	userRootfs  = userDir + "/root"
	userScratch = userDir + "/scratch"
	userAgent   = userDir + "/agent"
	userHome    = userDir + "/home"
	userRun     = userHome + "/run"
)

// byUser reports whether the launch's program is run by an unprivileged user.
func (i *instance) byUser() bool {
	if i.engine.User == nil {
		return false
	}
	for name, value := range i.engine.User.With {
		if i.launch.Options[name] != value {
			return false
		}
	}
	return true
}

// caveats are what holds for the user's containers on this host.
func (u *User) caveats() ([]bench.Caveat, error) {
	if u == nil {
		return nil, nil
	}
	groups, err := cgroup.Detect()
	if err != nil || groups.Mode() == "v2" {
		return nil, err
	}
	return []bench.Caveat{{Text: "limits ignored: only root makes control groups of version 1", With: u.With}}, nil
}

// delegated reports whether the program can make control groups: the user has been
// given the instance's, which version 1 does not provide for.
func (i *instance) delegated() bool { return i.engine.cgroups.Mode() == "v2" }

// userControls are the limits that the user's program can hold a container to.
func (i *instance) userControls(controller, v1, v2 string) bool {
	if controller == "cpuset" { // the instance's own group holds it
		return true
	}
	return i.delegated() && i.outer.Has(controller, v1, v2)
}

// toUser changes the site to what the user finds.
func (i *instance) toUser() {
	s := &i.site
	s.Rootfs, s.State, s.Home, s.Delegated = userRootfs, userHome, userHome, i.delegated()
	if s.NetNS != "" {
		s.NetNS = "" // the program is started in it
	}
	for n := range s.Spec.Mounts {
		switch s.Spec.Mounts[n].Destination {
		case agentInside:
			s.Spec.Mounts[n].Source = userAgent
		case bench.ScratchDir:
			s.Spec.Mounts[n].Source = userScratch
		}
	}
}

// born is the group that the program is started in. Where the user makes control groups,
// no process may be in the one they are made in (the kernel's cgroup-v2.rst, "No
// Internal Process Constraint").
func (i *instance) born() (*cgroup.Group, error) {
	if !i.delegated() {
		return i.outer, nil
	}
	g, _, err := i.engine.cgroups.Create(i.outer.Name()+"/program", cgroup.Limits{})
	if err != nil {
		return nil, err
	}
	for _, dir := range []string{i.outer.Dirs()[cgroup.Unified], g.Dirs()[cgroup.Unified]} {
		for _, name := range []string{"", "cgroup.procs", "cgroup.threads", "cgroup.subtree_control"} {
			if err := os.Chown(filepath.Join(dir, name), launch.FirstID, launch.FirstID); err != nil {
				return nil, fmt.Errorf("give the user a control group: %w", err)
			}
		}
	}
	return g, nil
}

// startByUser starts the program as the user, in the network namespace that the container is to share.
func (i *instance) startByUser() (p *launch.Process, err error) {
	netns := i.port.NetNS
	if netns == "" {
		netns = i.engine.env.Testnet.NetNS()
	}
	group, err := i.born()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(i.engine.program(i.launch), i.argv[1:]...)
	cmd.Dir = "/"
	cmd.Env = []string{"PATH=" + launch.SearchPath(""), bench.ProcessMark + "=" + i.launch.ID, "HOME=" + userHome, "XDG_RUNTIME_DIR=" + userRun}
	err = launch.Apart(netns, func() error {
		if err := i.settle(); err != nil {
			return err
		}
		return group.Around(func(born syscall.SysProcAttr) (err error) {
			cmd.SysProcAttr = &born
			cmd.SysProcAttr.Credential = &syscall.Credential{Uid: launch.FirstID, Gid: launch.FirstID}
			p, err = launch.Start(cmd, i.log())
			return err
		})
	})
	return p, err
}

// settle makes the user and all that the user needs, for use inside [launch.Apart].
func (i *instance) settle() error {
	b := i.bundle()
	if err := launch.FreshSysfs(); err != nil {
		return err
	}
	if err := launch.CoverControllers(i.engine.cgroups.Mode()); err != nil {
		return err
	}
	if err := launch.MapIDs(b.image, b.upper(), filepath.Join(b.dir, "scratch")); err != nil {
		return err
	}
	if err := launch.Hide(userDir); err != nil {
		return err
	}
	for _, dir := range []string{userRootfs, userScratch, userHome, userRun} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			return err
		}
	}
	if err := os.WriteFile(userAgent, nil, 0o755); err != nil {
		return err
	}
	for to, from := range map[string]string{userScratch: filepath.Join(b.dir, "scratch"), userAgent: i.engine.env.AgentPath} {
		if err := unix.Mount(from, to, "", unix.MS_BIND, ""); err != nil {
			return fmt.Errorf("bind %s: %w", from, err)
		}
	}
	if err := launch.Overlay(b.image, b.dir, userRootfs); err != nil {
		return err
	}
	if home := i.engine.User.Home; home != nil {
		if err := home(i.engine.env.Run, userHome); err != nil {
			return err
		}
	}
	if err := launch.GiveAway(userHome); err != nil {
		return err
	}
	return enroll()
}

// enroll shows lists of users and of granted ids with the user in them.
func enroll() error {
	dir := userDir + "/etc"
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	grant := fmt.Sprintf("%s:%d:%d\n", userName, launch.FirstID+1, launch.IDs-1)
	for name, line := range map[string]string{
		"passwd": fmt.Sprintf("%s:x:%d:%[2]d::%s:/bin/sh\n", userName, launch.FirstID, userHome),
		"group":  fmt.Sprintf("%s:x:%d:\n", userName, launch.FirstID),
		"subuid": grant, "subgid": grant,
	} {
		shown, text := filepath.Join(dir, name), ""
		if name == "passwd" || name == "group" {
			old, err := os.ReadFile("/etc/" + name)
			if err != nil {
				return err
			}
			text = strings.TrimRight(string(old), "\n") + "\n"
		}
		if err := os.WriteFile(shown, []byte(text+line), 0o644); err != nil {
			return err
		}
		if err := unix.Mount(shown, "/etc/"+name, "", unix.MS_BIND, ""); err != nil {
			return fmt.Errorf("show the program its user in /etc/%s: %w%w", name, err,
				bench.Hint("newuidmap needs that file: install uidmap"))
		}
	}
	return nil
}

// partsOfUser are as parts. On version 1 the program is in the container's group, too.
func (i *instance) partsOfUser() (dirs map[string]string, helpers []bench.Process, err error) {
	group, dirs := i.container()
	if len(dirs) == 0 {
		group, dirs = i.outer, i.outer.Dirs()
	}
	helpers, err = launch.Parts(i.outer, group, map[string]string{
		filepath.Base(i.engine.Program): i.engine.Part, "conmon": i.engine.Watcher,
	})
	if err == nil && len(helpers) == 0 {
		err = errors.New("no process of the program")
	}
	return dirs, helpers, err
}
