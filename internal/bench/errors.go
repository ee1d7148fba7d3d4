package bench

import (
	"errors"
	"regexp"
	"strings"
	"syscall"
)

// ErrUnavailable says that a platform, meter or program cannot be used on this
// host. Wrap it with the reason, and a [Hint] saying what to do about it.
var ErrUnavailable = errors.New("unavailable")

// ErrInvalid says that the user's input cannot be run: a bad specification, an impossible shape. It
// maps to exit code 3.
var ErrInvalid = errors.New("invalid")

// A Hint is advice that travels with an error and is printed on its own line.
// It never appears in the error's text. Wrap it last: fmt.Errorf("open x: %w%w", err, Hint("...")).
type Hint string

// Error returns the empty string: a hint is shown apart from the error.
func (h Hint) Error() string { return "" }

// HintOf returns the first hint in err's tree, or "". A full disk needs no explicit hint, because
// any part of the program and any program it runs may meet one.
func HintOf(err error) string {
	var h Hint
	switch {
	case errors.As(err, &h):
		return string(h)
	case err == nil:
		return ""
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT), strings.Contains(err.Error(), syscall.ENOSPC.Error()),
		strings.Contains(err.Error(), "No space left on device"):
		return fullDisk
	}
	return ""
}

const fullDisk = "a disk is full: on the host, free some space or keep the state directory on a larger disk (--state, TARE_STATE); inside an instance, give it more (shape.disk)"

// kinds matches the words of ErrUnavailable and ErrInvalid at the end of a part of an error text.
var kinds = regexp.MustCompile(`: (?:unavailable|invalid)(: | \(|$)`)

// Reason returns err's text for people. It omits the words of ErrUnavailable and ErrInvalid, which
// only name the kind of the error.
func Reason(err error) string { return kinds.ReplaceAllString(err.Error(), "$1") }
