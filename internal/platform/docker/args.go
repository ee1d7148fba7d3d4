package docker

import (
	"fmt"
	"net/netip"
	"strconv"

	"tare/internal/bench"
	"tare/internal/host/cgroup"
)

// Where things lie inside a container.
const agentInside = "/.tare-agent"

// daemonArgs are the arguments of dockerd. Its configuration file is given so
// that the user's is not read.
func daemonArgs(p paths) []string {
	args := []string{
		"--config-file", p.config(),
		"--data-root", p.data, "--storage-driver", p.driver,
		"--exec-root", p.exec(),
		"--host", p.host(),
		"--pidfile", p.pid(),
		"--exec-opt", "native.cgroupdriver=cgroupfs",
		"--log-level", "warn",
	}
	if p.driver != drivers[0] {
		args = append(args, "--bridge", bridges[p.driver].name)
	}
	return args
}

// runArgs are the arguments of docker for one container. Its standard streams
// carry the agent's protocol, so they are not also written to a log file. The
// disk is the device a limit on its operations is set on, if there is one; a port is published at the
// address.
func runArgs(host, image, agent, parent, scratch, disk string, at netip.Addr, l bench.Launch) []string {
	s := l.Shape
	args := []string{
		"--host", host, "run", "--interactive", "--rm=false",
		"--name", l.ID,
		"--log-driver", "none",
		"--cgroup-parent", parent,
		"--cpuset-cpus", cgroup.CPUList(l.CPUSet),
		"--memory", bytes(s.Memory), "--memory-swap", bytes(s.Memory + s.Swap),
	}
	if s.MemorySoft > 0 {
		args = append(args, "--memory-reservation", bytes(s.MemorySoft))
	}
	switch quota, period := s.Bandwidth(); {
	case s.CPUQuota > 0 && s.CPUPeriod > 0:
		args = append(args, "--cpu-period", strconv.FormatInt(period, 10), "--cpu-quota", strconv.FormatInt(quota, 10))
	case s.CPUQuota > 0:
		args = append(args, "--cpus", strconv.FormatFloat(s.CPUQuota, 'f', -1, 64))
	}
	if s.CPUWeight > 0 {
		args = append(args, "--cpu-shares", strconv.Itoa(cgroup.SharesOf(s.CPUWeight)))
	}
	if s.Pids > 0 {
		args = append(args, "--pids-limit", strconv.Itoa(s.Pids))
	}
	if s.DiskIOPS > 0 && disk != "" {
		rate := disk + ":" + strconv.Itoa(s.DiskIOPS)
		args = append(args, "--device-read-iops", rate, "--device-write-iops", rate)
	}
	if s.DiskBandwidth > 0 && disk != "" {
		rate := disk + ":" + strconv.FormatInt(int64(s.DiskBandwidth), 10)
		args = append(args, "--device-read-bps", rate, "--device-write-bps", rate)
	}
	args = append(args, "--runtime", runtimeOf(l.Options), "--network", l.Options["net"], "--mount", bind(agent, agentInside)+",readonly")
	if port := publishes(l); port != 0 {
		args = append(args, "--publish", fmt.Sprintf("%s:%d:%d/tcp", at, port, port))
	}
	switch l.Options["storage"] {
	case "volume":
		args = append(args, "--mount", "type=volume,target="+bench.ScratchDir) // a nameless one goes with the container
	case "bind":
		args = append(args, "--mount", bind(scratch, bench.ScratchDir))
	}
	args = append(args, image, agentInside, "serve")
	if l.Options["runtime"] == kata {
		args = append(args, "--own-kernel")
	}
	return args
}

// publishes is the port of the container's that is published as the same; 0 for none.
func publishes(l bench.Launch) int {
	if l.Options[bench.PublishOption] != "yes" {
		return 0
	}
	return l.Publish
}

// bind is a --mount value. Its fields are CSV (mount(8) of the docker manual),
// so one with a comma or a quote is quoted.
func bind(from, to string) string {
	return "type=bind," + csvField("source="+from) + ",target=" + to
}

func bytes(b bench.Bytes) string { return strconv.FormatInt(int64(b), 10) + "b" }
