// Package source parses the name of a power meter. It is a URL with the kind of meter as scheme and
// the options as query: "snmp://pdu/apc?outlet=3". The name never holds a secret. An option's value
// "env:NAME" or "file:PATH" says where the secret is stored.
package source

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"net"
	"net/netip"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"tare/internal/bench"
)

// Name is a parsed meter name.
type Name struct {
	Text   string // as it was given
	Scheme string
	Host   string // without port; empty for a meter of this machine
	Port   int    // 0 if none was given
	User   string
	Path   string // without the first slash
	given  url.Values
}

var errForm = errors.New("not the name of a power meter")

const maxText = 2000

// Parse parses a name. It refuses a password in it, because every user of a host can read command
// lines.
func Parse(text string) (*Name, error) {
	fail := func(why error, hint bench.Hint) (*Name, error) {
		return nil, fmt.Errorf("power meter %q: %w: %w%w", shown(text), why, bench.ErrInvalid, hint)
	}
	form := bench.Hint("write it as KIND://HOST/WHICH?OPTION=VALUE or KIND:?OPTION=VALUE; tare list meters shows the kinds")
	scheme, rest, ok := strings.Cut(text, ":")
	if !ok || scheme == "" || len(text) > maxText {
		return fail(errForm, form)
	}
	if strings.Trim(scheme, "abcdefghijklmnopqrstuvwxyz") != "" {
		return fail(errForm, form)
	}
	n := &Name{Text: text, Scheme: scheme}
	if !strings.HasPrefix(rest, "//") && !strings.HasPrefix(rest, "?") && rest != "" {
		// model:idle=60,core=12 is short for model:?idle=60&core=12. It may be followed by
		// ?every=1s.
		rest = "?" + strings.NewReplacer(",", "&", "?", "&").Replace(rest)
	}
	u, err := url.Parse(scheme + ":" + rest)
	if err != nil {
		return fail(errForm, form)
	}
	if u.User != nil {
		if _, has := u.User.Password(); has {
			n.Text = scheme + "://" + u.User.Username() + "@" + u.Host
			return nil, fmt.Errorf("power meter %s: a password in its name: %w%w", n.Text, bench.ErrInvalid,
				bench.Hint("every user of this host could read it: put it into the environment or a file and name that: ?password=env:NAME or ?password=file:PATH"))
		}
		n.User = u.User.Username()
	}
	n.Host, n.Path = u.Hostname(), strings.Trim(u.Path, "/")
	if p := u.Port(); p != "" {
		if n.Port, err = strconv.Atoi(p); err != nil || n.Port < 1 || n.Port > 65535 {
			return fail(fmt.Errorf("port %q is not a number from 1 to 65535", p), "")
		}
	}
	if n.given, err = url.ParseQuery(u.RawQuery); err != nil {
		return fail(fmt.Errorf("its options cannot be read: %w", err), form)
	}
	for key, values := range n.given {
		if len(values) > 1 {
			return fail(fmt.Errorf("option %s is there %d times", key, len(values)), "")
		}
	}
	return n, nil
}

// shown keeps a name that may hold a password out of messages.
func shown(text string) string {
	if at := strings.LastIndexByte(text, '@'); at >= 0 {
		if scheme, _, ok := strings.Cut(text, "://"); ok {
			return scheme + "://...@" + text[at+1:]
		}
		return "...@" + text[at+1:]
	}
	if len(text) > 100 {
		return text[:100] + "..."
	}
	return text
}

// Errorf returns an error about the meter that wraps bench.ErrInvalid.
func (n *Name) Errorf(format string, args ...any) error {
	return fmt.Errorf("power meter %s: %w: %w", n.Text, fmt.Errorf(format, args...), bench.ErrInvalid)
}

// Absent returns an error about the meter that wraps bench.ErrUnavailable.
func (n *Name) Absent(why error, hint bench.Hint) error {
	return fmt.Errorf("power meter %s: %w: %w%w", strings.TrimSuffix(n.Text, ":"), why, bench.ErrUnavailable, hint)
}

// Option returns an option's value, or the default if it is not given.
func (n *Name) Option(key, otherwise string) string {
	if v := n.given.Get(key); v != "" {
		return v
	}
	return otherwise
}

// Number returns a numeric option. It returns an error if the value is out of bounds.
func (n *Name) Number(key string, otherwise, least, most float64) (float64, error) {
	text := n.Option(key, "")
	if text == "" {
		return otherwise, nil
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(v) || v < least || v > most {
		return 0, n.Errorf("%s=%s is not a number from %g to %g", key, text, least, most)
	}
	return v, nil
}

// Numbers returns an option that is a list of whole numbers from 1, such as "3,4".
func (n *Name) Numbers(key string) ([]int, error) {
	text := n.Option(key, "")
	if text == "" {
		return nil, nil
	}
	var list []int
	for _, t := range strings.Split(text, ",") {
		v, err := strconv.Atoi(t)
		if err != nil || v < 1 || v > 1000 || slices.Contains(list, v) {
			return nil, n.Errorf("%s=%s is not a list of different numbers from 1, such as 3,4", key, text)
		}
		list = append(list, v)
	}
	return list, nil
}

// Every returns the time between readings.
func (n *Name) Every(otherwise time.Duration) (time.Duration, error) {
	return n.duration("every", otherwise, bench.MinPowerInterval, time.Minute)
}

// Update returns the time between two new values of the meter.
func (n *Name) Update(otherwise time.Duration) (time.Duration, error) {
	return n.duration("update", otherwise, 0, 10*time.Minute)
}

func (n *Name) duration(key string, otherwise, least, most time.Duration) (time.Duration, error) {
	text := n.Option(key, "")
	if text == "" {
		return otherwise, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < least || d > most {
		return 0, n.Errorf("%s=%s is not a time from %v to %v", key, text, least, most)
	}
	return d, nil
}

// Secret returns the secret stored at the option's place, "env:NAME" or "file:PATH", or at the
// default place. It refuses a literal secret.
func (n *Name) Secret(key, otherwise string) (string, error) {
	where := n.Option(key, otherwise)
	if where == "" {
		return "", nil
	}
	kind, at, _ := strings.Cut(where, ":")
	switch kind {
	case "env":
		v, ok := os.LookupEnv(at)
		if !ok {
			return "", fmt.Errorf("power meter %s: %s: the environment has no %s: %w%w", n.Text, key, at, bench.ErrInvalid,
				bench.Hint("set it, or name a file: "+key+"=file:PATH"))
		}
		return v, nil
	case "file":
		b, err := os.ReadFile(at)
		if errors.Is(err, fs.ErrNotExist) {
			return "", n.Errorf("%s: there is no file %s", key, at)
		}
		if err != nil {
			return "", n.Errorf("%s: %w", key, err)
		}
		return strings.TrimRight(string(b), "\r\n"), nil
	}
	return "", n.written(key)
}

// Secrets returns an error if one of the options is a literal secret instead of a place. It does
// not read the place.
func (n *Name) Secrets(keys ...string) error {
	for _, key := range keys {
		switch kind, at, _ := strings.Cut(n.Option(key, ""), ":"); {
		case kind == "":
		case kind != "env" && kind != "file":
			return n.written(key)
		case at == "":
			return n.Errorf("%s=%s: names no place", key, n.Option(key, ""))
		}
	}
	return nil
}

// written returns the error for a literal secret in the name.
func (n *Name) written(key string) error {
	return fmt.Errorf("power meter %s://%s: %s is written out: %w%w", n.Scheme, n.Host, key, bench.ErrInvalid,
		bench.Hint("it would stand in the results: name where it lies, "+key+"=env:NAME or "+key+"=file:PATH"))
}

var hostPattern = regexp.MustCompile(`^[A-Za-z0-9_]([A-Za-z0-9_.-]*[A-Za-z0-9_])?\.?$`)

// Remote returns an error for a meter of another machine without a host, or with an invalid host
// name or address.
func (n *Name) Remote() error {
	if n.Host == "" {
		return n.Errorf("no host")
	}
	if _, err := netip.ParseAddr(n.Host); err == nil {
		return nil
	}
	// A host that ends in a number can only be an address, and it is not a valid one.
	last := n.Host[strings.LastIndexByte(n.Host, '.')+1:]
	if !hostPattern.MatchString(n.Host) || len(n.Host) > 253 || strings.Contains(n.Host, "..") || strings.Trim(last, "0123456789") == "" && last != "" {
		return n.Errorf("%q is neither an address nor a host's name", n.Host)
	}
	return nil
}

// Word returns an option that is one of the words. The default is the first.
func (n *Name) Word(key string, words ...string) (string, error) {
	v := n.Option(key, words[0])
	if !slices.Contains(words, v) {
		return "", n.Errorf("%s=%s is none of %s", key, v, strings.Join(words, ", "))
	}
	return v, nil
}

// Takes returns an error for an option that the kind does not have.
func (n *Name) Takes(options []string) error {
	for _, key := range slices.Sorted(maps.Keys(n.given)) {
		if !slices.Contains(options, key) {
			return fmt.Errorf("power meter %s: unknown option %q%s: %w%w", n.Text, key, bench.DidYouMean(key, options), bench.ErrInvalid,
				bench.Hint("it takes: "+strings.Join(slices.Sorted(slices.Values(options)), ", ")))
		}
	}
	return nil
}

// Address returns the host with its port.
func (n *Name) Address(port int) string {
	if n.Port != 0 {
		port = n.Port
	}
	return net.JoinHostPort(n.Host, strconv.Itoa(port))
}

// most is an upper bound of a machine's power on one meter, in W.
const most = 1e6

// Watts returns an error unless a running machine can draw the power. 0 W is an error: it is
// another machine's outlet, or a meter without a reading.
func Watts(w float64) error {
	switch {
	case math.IsNaN(w) || math.IsInf(w, 0):
		return fmt.Errorf("%v is not power", w)
	case w == 0:
		return errors.New("0 W: this machine runs, so it is not what is measured there")
	case w < 0 || w > most:
		return fmt.Errorf("%g W is not what a machine draws", w)
	}
	return nil
}

// Fill writes a reading to values, in watts or joules. A missing value is NaN.
func Fill(values []float64, v float64, err error) error {
	if err != nil {
		v = math.NaN()
	}
	values[0] = v
	return err
}
