package ssh

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"tare/internal/bench"
	"tare/internal/host/tool"
)

// Thing is the name in the ledger of what was put on the host: host, directory, and the configuration
// of ssh if it is not the user's. With it whoever cleans finds it again.
func (h *Host) Thing() string {
	return strings.TrimSpace(strings.Join([]string{h.Name, h.place, h.Config}, " "))
}

// thing matches what Thing returns.
var thing = regexp.MustCompile(`^([A-Za-z0-9][A-Za-z0-9._-]{0,63}) (tare-[0-9a-f]{32})(?: (/[^\n\x00]*))?$`)

// CheckThing is an error for what [Host.Thing] never returns.
func CheckThing(name string) error {
	if !thing.MatchString(name) {
		return errors.New("not the name of a directory on a further host")
	}
	return nil
}

// RemoveThing kills what runs of a directory on a further host, and removes it. What is gone is no error.
// It makes a connection of its own, and ends at ctx.
func RemoveThing(ctx context.Context, name string) error {
	m := thing.FindStringSubmatch(name)
	if m == nil {
		return CheckThing(name)
	}
	h := bench.FurtherHost{Name: m[1], Config: m[3]}
	_, err := once(ctx, h, removeScript, m[2])
	if err == nil {
		return nil
	}
	forget := "if the host is gone for good, remove its line from the ledger"
	if todo := bench.HintOf(err); todo != "" {
		forget = todo + "; " + forget
	}
	return fmt.Errorf("%whost %s: %w", bench.Hint(forget), h.Name, err)
}

// once has a host run a script by a connection of its own, and returns what it prints.
func once(ctx context.Context, h bench.FurtherHost, script string, args ...string) ([]byte, error) {
	said := &words{}
	cmd := command(append(options(h.Config), "-o", "ControlMaster=no", "-S", "none", "--", h.Name, line(script, args...))...)
	cmd.Stderr = said
	out, err := tool.Output(ctx, tool.Deadline, cmd)
	if err != nil && said.String() != "" {
		err = explained(said.String(), h)
	}
	return out, err
}
