package docker

import (
	"path/filepath"
	"strings"

	"tare/internal/bench"
)

// paths are the files of one daemon.
type paths struct {
	name   string // of the daemon, unique in the run
	driver string // of storage
	data   string // kept between runs
	run    string // of this run, short: a socket's path is at most 107 bytes (unix(7))
}

// Host is the address of a run's daemon of the default storage driver, as in DOCKER_HOST.
func Host(run string) string { return runPaths("", run, drivers[0]).host() }

func runPaths(state, run, driver string) paths {
	name := "docker"
	if driver != drivers[0] {
		name += "-" + driver
	}
	return paths{name: name, driver: driver, data: filepath.Join(state, name), run: filepath.Join(bench.RuntimeDir, run, name)}
}

func (p paths) config() string { return filepath.Join(p.run, "daemon.json") }
func (p paths) client() string { return filepath.Join(p.run, "client") } // the docker command's own configuration
func (p paths) exec() string   { return filepath.Join(p.run, "exec") }
func (p paths) pid() string    { return filepath.Join(p.run, "docker.pid") }
func (p paths) socket() string { return filepath.Join(p.run, "docker.sock") }
func (p paths) host() string   { return "unix://" + p.socket() }
func (p paths) log() string    { return filepath.Join(p.run, "dockerd.log") }

// kept is what stays of the store, by names below the state directory.
func (p paths) kept() []bench.Kept {
	lock := p.name + ".lock"
	list := []bench.Kept{{Pattern: p.name, Lock: lock, What: "Docker's store of the image, driver " + p.driver}}
	if p.driver == "btrfs" {
		list = append(list,
			bench.Kept{Pattern: p.name + ".img", Lock: lock, What: "the file system of Docker's driver btrfs, at most " + storeSize.String()},
			bench.Kept{Pattern: p.name + ".img.part", Lock: lock, What: "the beginning of that file system"})
	}
	return list
}

// csvField writes one field of a comma-separated record (RFC 4180).
func csvField(s string) string {
	if !strings.ContainsAny(s, "\",\r\n") {
		return s
	}
	return `"` + strings.ReplaceAll(s, `"`, `""`) + `"`
}
