package bench

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// GuestOption says what a machine boots: kvm[guest=own]. Platforms whose machines can be without an
// agent declare it.
const GuestOption = "guest"

// Values of [GuestOption].
const (
	ImageGuest = "image"
	OwnGuest   = "own"
)

// GuestChoice is the option as every platform that has it declares it.
func GuestChoice() Option {
	return Option{Name: GuestOption, Values: []string{ImageGuest, OwnGuest}, Default: ImageGuest,
		Doc: "what the machine boots: the image, with the agent in it; or the specification's own kernel (image.kernel) with nothing of Tare's inside, one network card and no disk but its own (image.disk)"}
}

// Agentless is the caveat of a machine that boots a kernel of the user's own.
var Agentless = Caveat{With: map[string]string{GuestOption: OwnGuest},
	Text: "a kernel of your own without an agent: what its guest did is not known, and its figures are the load's and the host's"}

// Agentless says that the platform's instances are machines without an agent.
func (r PlatformRef) Agentless() bool { return r.On == nil && r.Options[GuestOption] == OwnGuest }

// OwnKernel is a kernel of the user's own with one server in it, which machines boot by themselves.
type OwnKernel struct {
	Kernel BootFile  `json:"kernel"`
	Initrd *BootFile `json:"initrd,omitempty"`
	// Disk is the content of its first disk, byte for byte. What a machine writes to it ends with the machine.
	Disk *BootFile `json:"disk,omitempty"`
	// Append is the kernel's command line, with the [Placeholders] in it.
	Append string `json:"append,omitempty"`
	Port   int    `json:"port"` // on which its server accepts once it is ready
}

// BootFile is a file that a machine boots.
type BootFile struct {
	Path   string `json:"path"`
	Digest string `json:"digest"` // of its content, "sha256:..."
	Size   Bytes  `json:"size"`
}

// String names the files by their digests.
func (k *OwnKernel) String() string {
	text := "kernel " + short(k.Kernel.Digest)
	if k.Initrd != nil {
		text += ", initrd " + short(k.Initrd.Digest)
	}
	if k.Disk != nil {
		text += ", disk " + short(k.Disk.Digest)
	}
	return text
}

// Paths are where its files are.
func (k *OwnKernel) Paths() []string {
	paths := []string{k.Kernel.Path}
	for _, f := range []*BootFile{k.Initrd, k.Disk} {
		if f != nil {
			paths = append(paths, f.Path)
		}
	}
	return paths
}

// Placeholders are what stands in a command line for what only a launch knows.
var Placeholders = []string{"{address}", "{gateway}", "{netmask}", "{prefix}", "{mac}", "{port}"}

// maxAppend bounds a command line, in bytes; Linux takes 2047 on x86 (COMMAND_LINE_SIZE).
const maxAppend = 2000

// CheckAppend is an error for what cannot be the command line of a kernel.
func CheckAppend(line string) error {
	if len(line) > maxAppend {
		return fmt.Errorf("%d bytes: at most %d: %w", len(line), maxAppend, ErrInvalid)
	}
	for i, c := range line {
		if c < ' ' || c > '~' {
			return fmt.Errorf("%q: character %d is %q, no printable one of ASCII: %w", line, i+1, c, ErrInvalid)
		}
	}
	for rest := line; ; {
		_, after, found := strings.Cut(rest, "{")
		if !found {
			return nil
		}
		word, behind, closed := strings.Cut(after, "}")
		if !closed {
			return fmt.Errorf("%q: the brace is not closed: %w", "{"+after, ErrInvalid)
		}
		if !placeholder(word) {
			return fmt.Errorf("%w: %w", UnknownWord("placeholder", "{"+word+"}", Placeholders), ErrInvalid)
		}
		rest = behind
	}
}

func placeholder(word string) bool {
	for _, p := range Placeholders {
		if p == "{"+word+"}" {
			return true
		}
	}
	return false
}

// Cmdline is the command line for a machine with the address.
func (k *OwnKernel) Cmdline(l Lease) string {
	return strings.NewReplacer(
		"{address}", l.Addr.Addr().String(),
		"{gateway}", l.Gateway.String(),
		"{netmask}", netmask(l.Addr),
		"{prefix}", strconv.Itoa(l.Addr.Bits()),
		"{mac}", l.MAC,
		"{port}", strconv.Itoa(k.Port),
	).Replace(k.Append)
}

// netmask is that of an IPv4 network: "255.255.255.0".
func netmask(p netip.Prefix) string {
	ones := ^uint32(0) << (32 - min(32, max(0, p.Bits())))
	return netip.AddrFrom4([4]byte{byte(ones >> 24), byte(ones >> 16), byte(ones >> 8), byte(ones)}).String()
}
