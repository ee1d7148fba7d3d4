package bench

import (
	"fmt"
	"regexp"
)

// ImageNeeds is what the image of a run holds beyond the base image.
type ImageNeeds struct {
	// Families are the families of programs that the workloads need, sorted.
	Families []string `json:"families,omitempty"`
	// Add are Debian packages that the specification asks for, sorted.
	Add []string `json:"add,omitempty"`
	// Own is an image of the user's own that the instances run instead. The machines that load
	// them have the rest.
	Own *OwnImage `json:"own,omitempty"`
	// Kernel is a kernel of the user's own, which machines without an agent boot instead.
	Kernel *OwnKernel `json:"kernel,omitempty"`
}

// OwnImage names an image of the user's own.
type OwnImage struct {
	From string `json:"from"` // where it was taken from
	ID   string `json:"id"`   // "sha256:...", of its configuration or, of a directory, of its files
}

// ImageConfig is how an image says its programs are run. It may hold secrets, and is not among
// results.
type ImageConfig struct {
	Entrypoint []string          `json:"entrypoint,omitempty"`
	Cmd        []string          `json:"cmd,omitempty"`
	Env        map[string]string `json:"env,omitempty"`
	User       string            `json:"user,omitempty"` // USER, UID, USER:GROUP, ...; "" is root
	Dir        string            `json:"dir,omitempty"`  // "" is /
}

// Familied is a workload whose programs the base image does not hold.
type Familied interface {
	// Family returns the family of images that holds them, one of the image package's.
	Family() string
}

// maxAdded bounds the packages that a specification adds.
const maxAdded = 64

// Check is an error for packages that cannot be added.
func (n ImageNeeds) Check() error {
	for _, p := range n.Add {
		if err := CheckPackage(p); err != nil {
			return err
		}
	}
	if n.Own != nil && !imageID.MatchString(n.Own.ID) {
		return fmt.Errorf("image %q: %q is no identity of an image: %w", n.Own.From, n.Own.ID, ErrInvalid)
	}
	if len(n.Add) > maxAdded {
		return fmt.Errorf("%d packages to add: at most %d: %w", len(n.Add), maxAdded, ErrInvalid)
	}
	return nil
}

var imageID = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)

// packageName is what Debian calls a package (deb-control(5)).
var packageName = regexp.MustCompile(`^[a-z0-9][a-z0-9+.-]{1,79}$`)

// CheckPackage is an error for what is not the name of a Debian package.
func CheckPackage(name string) error {
	if packageName.MatchString(name) {
		return nil
	}
	return fmt.Errorf("%q is not the name of a Debian package: %w%w", name, ErrInvalid,
		Hint("lower-case letters, digits, + - and ., such as nodejs"))
}
