package bench

import (
	"errors"
	"regexp"
)

// ErrUnavailable says that a platform, meter or program cannot be used on this
// host. Wrap it with the reason, and a [Hint] saying what to do about it.
var ErrUnavailable = errors.New("unavailable")

// ErrInvalid says that what the user gave cannot be run: a bad specification,
// an impossible shape. It maps to exit code 3.
var ErrInvalid = errors.New("invalid")

// A Hint is advice that travels with an error and is printed on its own line.
// It never appears in the error's text. Wrap it last: fmt.Errorf("open x: %w%w", err, Hint("...")).
type Hint string

// Error returns the empty string: a hint is shown apart from the error.
func (h Hint) Error() string { return "" }

// HintOf returns the first hint in err's tree, or "".
func HintOf(err error) string {
	var h Hint
	if errors.As(err, &h) {
		return string(h)
	}
	return ""
}

// kinds are the words of ErrUnavailable and ErrInvalid where they end a part of a text.
var kinds = regexp.MustCompile(`: (?:unavailable|invalid)(: | \(|$)`)

// Reason is err's text for people, without the words of ErrUnavailable and
// ErrInvalid, which only say what kind of error it is.
func Reason(err error) string { return kinds.ReplaceAllString(err.Error(), "$1") }
