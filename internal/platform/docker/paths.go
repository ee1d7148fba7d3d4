package docker

import (
	"path/filepath"
	"strings"

	"tare/internal/bench"
)

// paths are the files of one daemon.
type paths struct {
	data string // kept between runs
	run  string // of this run, short: a socket's path is at most 107 bytes (unix(7))
}

// Host is the address of the daemon of a run, as in DOCKER_HOST.
func Host(run string) string { return runPaths("", run).host() }

func runPaths(state, run string) paths {
	return paths{data: filepath.Join(state, "docker"), run: filepath.Join(bench.RuntimeDir, run, "docker")}
}

func (p paths) config() string { return filepath.Join(p.run, "daemon.json") }
func (p paths) client() string { return filepath.Join(p.run, "client") } // the docker command's own configuration
func (p paths) exec() string   { return filepath.Join(p.run, "exec") }
func (p paths) pid() string    { return filepath.Join(p.run, "docker.pid") }
func (p paths) socket() string { return filepath.Join(p.run, "docker.sock") }
func (p paths) host() string   { return "unix://" + p.socket() }
func (p paths) log() string    { return filepath.Join(p.run, "dockerd.log") }

// csvField writes one field of a comma-separated record (RFC 4180).
func csvField(s string) string {
	if !strings.ContainsAny(s, "\",\r\n") {
		return s
	}
	return `"` + strings.ReplaceAll(s, `"`, `""`) + `"`
}
