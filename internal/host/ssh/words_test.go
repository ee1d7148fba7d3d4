package ssh

import (
	"errors"
	"os/exec"
	"strings"
	"testing"

	"tare/internal/bench"
)

// Whatever ssh complains about has advice, and what it says is told.
func TestExplained(t *testing.T) {
	h := bench.FurtherHost{Name: "load1", Config: "/etc/own"}
	for said, want := range map[string]string{
		"root@10.0.0.1: Permission denied (publickey,password).":                             "ssh-copy-id load1",
		"Host key verification failed.":                                                      "connect once by hand and compare it: ssh load1",
		"@ WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED! @ Host key verification failed.": "ssh-keygen -R load1",
		"ssh: connect to host 10.0.0.1 port 22: Connection timed out":                        "is load1 up",
		"kex_exchange_identification: read: Connection reset by peer":                        "ssh -F /etc/own -o BatchMode=yes load1 true",
		"": "by hand",
	} {
		err := explained(said, h)
		if !strings.Contains(err.Error(), said) || !strings.Contains(bench.HintOf(err), want) || !errors.Is(err, bench.ErrUnavailable) {
			t.Errorf("%q: %v, hint %q", said, err, bench.HintOf(err))
		}
	}
}

// A name in the ledger reaches one directory of ours and nothing else.
func FuzzCheckThing(f *testing.F) {
	h := Host{FurtherHost: bench.FurtherHost{Name: "load1", Config: "/home/me/.ssh/config"}, place: placePrefix + random()}
	f.Add(h.Thing())
	f.Add("load1 tare-00000000000000000000000000000000")
	f.Add("-oProxyCommand=x tare-00000000000000000000000000000000")
	f.Add("load1 tare-../../../../etc/0000000000000000")
	f.Fuzz(func(t *testing.T, name string) {
		if CheckThing(name) != nil {
			return
		}
		host, rest, _ := strings.Cut(name, " ")
		dir, config, some := strings.Cut(rest, " ")
		if strings.HasPrefix(host, "-") || len(dir) != len(placePrefix)+32 || strings.ContainsAny(dir, "/.") || some && !strings.HasPrefix(config, "/") {
			t.Errorf("%q", name)
		}
	})
}

// What is handed to a script arrives as it is, whatever it is.
func FuzzLine(f *testing.F) {
	f.Add("plain")
	f.Add(`it's "$HOME"; rm -rf / \'`)
	f.Fuzz(func(t *testing.T, arg string) {
		if strings.Contains(arg, "\x00") {
			return
		}
		out, err := exec.Command("sh", "-c", line(`printf %s "$1"`, arg)).Output()
		if err != nil || string(out) != arg {
			t.Errorf("%q arrives as %q: %v", arg, out, err)
		}
	})
}
