package ssh

import (
	"fmt"
	"strings"

	"tare/internal/bench"
)

// Where the agent lies on a further host: in a directory whose name nobody can guess, below one that
// programs may be run from.
const (
	places      = "/var/tmp/"
	placePrefix = "tare-"
	agentName   = "tare-agent"
)

// told is the line behind which a script says what it found.
const told = "tare-told"

// The scripts that hosts run. $1 is the name of the directory, which is also the mark of its processes; $2 how many CPUs they get.
const (
	lookScript = `echo ` + told + `; uname -s; uname -m; uname -r; id -u; grep -c ^processor /proc/cpuinfo`
	putScript  = `umask 077; mkdir "` + places + `$1" && cat >"` + places + `$1/` + agentName + `" && chmod 700 "` + places + `$1/` + agentName + `" && echo ` + told + ` && sha256sum "` + places + `$1/` + agentName + `"`
	// serveScript becomes the agent. The variable is how the processes are found again.
	serveScript = `exec env -i ` + bench.ProcessMark + `="$1" PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "` + places + `$1/` + agentName + `" away "` + places + `$1" "$2"`
	// removeScript kills until nothing is left that bears the mark, and then removes the directory.
	removeScript = `n=0; while :; do hit=; for e in /proc/[0-9]*/environ; do ` +
		`if tr "\000" "\n" <"$e" 2>/dev/null | grep -qx "` + bench.ProcessMark + `=$1"; then p=${e#/proc/}; kill -9 "${p%/environ}" 2>/dev/null; hit=1; fi; done; ` +
		`if [ -z "$hit" ]; then break; fi; n=$((n+1)); if [ $n -gt 100 ]; then echo "processes do not end" >&2; exit 9; fi; sleep 0.05; done; ` +
		`rm -rf --one-file-system "` + places + `$1"`
)

// line is a command line for whatever shell logs in there: sh with a fixed script and its arguments.
func line(script string, args ...string) string {
	words := []string{"exec", "sh", "-c", quoted(script), "tare"}
	for _, a := range args {
		words = append(words, quoted(a))
	}
	return strings.Join(words, " ")
}

// quoted is a text as one word of any shell.
func quoted(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// byHand is the advice to look for oneself.
func byHand(h bench.FurtherHost) bench.Hint {
	with := ""
	if h.Config != "" {
		with = "-F " + h.Config + " "
	}
	return bench.Hint(fmt.Sprintf("try it by hand: ssh %s-o BatchMode=yes %s true", with, h.Name))
}

// complaints are what ssh says, and what to do.
var complaints = []struct{ says, hint string }{
	{"REMOTE HOST IDENTIFICATION HAS CHANGED", "its key is another than ssh remembers: see that it is the right host, then ssh-keygen -R %s"},
	{"Host key verification failed", "ssh does not know its key: connect once by hand and compare it: ssh %s"},
	{"Permission denied", "ssh asks for a password or a passphrase, and nobody can be asked here: give it a key (ssh-copy-id %s) or begin ssh-agent, and keep SSH_AUTH_SOCK under sudo"},
	{"Could not resolve hostname", "name it in ~/.ssh/config of the user that runs tare (Host %s)"},
	{"Connection refused", "is sshd up on %s, and on that port?"},
	{"timed out", "is %s up, and does a firewall let ssh pass?"},
	{"No route to host", "is %s up, and on a network of this host?"},
	{"Bad configuration option", "correct the configuration of ssh for %s"},
	{"Can't open user config file", "the file that is named as config for %s must be there"},
}

// explained is the error of a connection that ssh did not make.
func explained(said string, h bench.FurtherHost) error {
	said = strings.TrimSpace(said)
	if said == "" {
		said = "ssh ended without a word"
	}
	for _, c := range complaints {
		if strings.Contains(said, c.says) {
			return fmt.Errorf("%s: %w%w", said, bench.ErrUnavailable, bench.Hint(fmt.Sprintf(c.hint, h.Name)))
		}
	}
	return fmt.Errorf("%s: %w%w", said, bench.ErrUnavailable, byHand(h))
}
