package image

import (
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"runtime"
	"slices"
	"strings"
)

// Recipe says how the golden image is made, as plain data. Two images of one
// recipe hold the same programs; their packages' versions may differ by the
// day they were built, which is what the manifest and the digest tell.
type Recipe struct {
	// Format is raised when the build itself changes what comes out.
	Format int `json:"format"`
	// Role is "" for the golden image, [RoleHosts] and [RoleXenHosts] for the outer guests' own.
	Role string `json:"role,omitempty"`
	// Families and Added are what the golden image has beyond the base, whose packages and programs
	// are among those below. Added are packages that a specification asks for.
	Families []string `json:"families,omitempty"`
	Added    []string `json:"added,omitempty"`
	// Own is the identity of an image of the user's own, which the rest but Dirs and Kernel does not
	// apply to.
	Own   string `json:"own,omitempty"`
	Suite string `json:"suite"`
	Arch  string `json:"arch"` // dpkg's word, such as "amd64"
	// Epoch is SOURCE_DATE_EPOCH, seconds: no file in the image is younger.
	Epoch    int64    `json:"epoch"`
	Packages []string `json:"packages"`
	// Exclude and Keep are dpkg's path-exclude and path-include patterns.
	Exclude []string `json:"exclude"`
	Keep    []string `json:"keep"`
	// Drop are globs removed from the tree once it is installed.
	Drop []string `json:"drop"`
	// Dirs are made, and Files written, mode 0755 and 0644.
	Dirs  []string          `json:"dirs"`
	Files map[string]string `json:"files"`
	// Links are made, with what each leads to.
	Links map[string]string `json:"links,omitempty"`
	// Fetched are files that no package of Debian has.
	Fetched []Fetched `json:"fetched,omitempty"`
	// Kernel is the package that depends on the guest kernel to take, "" for none.
	Kernel string `json:"kernel"`
	// Script fetches Kernel inside the build.
	Script string `json:"script"`
	// Hooks are scripts that the build runs on the installed tree, with its path.
	Hooks []string `json:"hooks,omitempty"`
	// Sdists are programs that Debian lacks.
	Sdists []Sdist `json:"sdists,omitempty"`
	// Programs are what workloads run; each must be in the tree.
	Programs []Program `json:"programs"`
}

// Program is one of the image's programs and how it tells its version.
type Program struct {
	Name string `json:"name"`
	Path string `json:"path"`
	// Args make it print its version and end with status 0; nil takes the version of Package.
	Args    []string `json:"args,omitempty"`
	Package string   `json:"package"`
}

//go:embed kernel.sh
var kernelScript string

// Golden is the recipe of the one image that every platform runs.
func Golden() Recipe {
	r := bare()
	boots(&r)
	return r
}

// bare is the recipe of an image in which nothing boots.
func bare() Recipe {
	arch := runtime.GOARCH // Go and dpkg share the words amd64 and arm64
	triplet := map[string]string{"amd64": "x86_64-linux-gnu", "arm64": "aarch64-linux-gnu"}[arch]
	return Recipe{
		Format: 1,
		Suite:  "trixie",
		Arch:   arch,
		Epoch:  1754697600, // 2025-08-09, the day of Debian 13
		Packages: []string{
			"sysbench", "fio", "netperf", "stress-ng",
			// hpcc asks for any BLAS, and the choice changes HPL ninefold: pinned.
			"hpcc", "openmpi-bin", "libopenblas0-pthread",
			"iproute2", "iputils-ping", "procps", "time",
			// What neighbours without manners run.
			"bonnie++", "hping3",
		},
		Exclude: []string{
			"/usr/share/doc/*", "/usr/share/man/*", "/usr/share/info/*",
			"/usr/share/locale/*", "/usr/share/lintian/*", "/usr/share/bug/*",
			// Compilers for GPUs, 400 MB, drawn in by libraries that load them
			// when such a device is there.
			"/usr/lib/*/libLLVM*", "/usr/lib/*/libamd_comgr*", "/usr/lib/*/libamdhip64*",
			"/usr/lib/*/libgallium*", "/usr/lib/*/libz3*", "/usr/lib/*/ucx/*_rocm*",
		},
		Keep: []string{"/usr/share/doc/*/copyright"},
		Drop: []string{
			"etc/machine-id", "var/lib/dbus/machine-id", "etc/.pwd.lock", "etc/*-",
			"var/log/*.log", "var/log/apt/*", "var/log/*tmp", "var/log/lastlog",
			"var/cache/apt/*.bin", "var/cache/apt/archives/*.deb", "var/cache/apt/archives/lock",
			"var/cache/debconf/*-old", "var/cache/ldconfig/aux-cache",
			"var/lib/apt/lists/*", "var/lib/apt/mirrors/*", "var/lib/dpkg/*-old",
			"var/lib/dpkg/lock*", "var/lib/dpkg/triggers/Lock", "var/tmp/*", "tmp/*", "run/*",
		},
		Dirs: []string{"scratch"},
		Files: map[string]string{
			"etc/hostname":    "tare\n",
			"etc/hosts":       "127.0.0.1 localhost tare\n::1 localhost\n",
			"etc/resolv.conf": "",
		},
		Kernel: "linux-image-cloud-" + arch,
		Script: kernelScript,
		Programs: []Program{
			{"sysbench", "/usr/bin/sysbench", []string{"--version"}, "sysbench"},
			{"fio", "/usr/bin/fio", []string{"--version"}, "fio"},
			{"netperf", "/usr/bin/netperf", []string{"-V"}, "netperf"},
			{"netserver", "/usr/bin/netserver", []string{"-V"}, "netperf"},
			{"stress-ng", "/usr/bin/stress-ng", []string{"--version"}, "stress-ng"},
			{"hpcc", "/usr/bin/hpcc", nil, "hpcc"},
			{"mpirun", "/usr/bin/mpirun", []string{"--version"}, "openmpi-bin"},
			{"blas", "/usr/lib/" + triplet + "/libblas.so.3", nil, "libopenblas0-pthread"},
			{"ip", "/usr/bin/ip", []string{"-V"}, "iproute2"},
			{"ping", "/usr/bin/ping", nil, "iputils-ping"},
			{"ps", "/usr/bin/ps", nil, "procps"},
			{"time", "/usr/bin/time", nil, "time"},
			{"bonnie++", "/usr/sbin/bonnie++", nil, "bonnie++"},
			{"hping3", "/usr/sbin/hping3", nil, "hping3"},
			{"perl", "/usr/bin/perl", nil, "perl-base"},
		},
	}
}

// what names the image in errors.
func (r Recipe) what() string {
	switch r.Role {
	case RoleHosts:
		return "image of outer guests"
	case RoleXenHosts:
		return "image of outer guests under Xen"
	}
	if r.Own != "" {
		return "image of your own " + r.Own
	}
	if beyond := slices.Concat(r.Families, r.Added); len(beyond) > 0 {
		return "image with " + strings.Join(beyond, ", ")
	}
	return "image"
}

// Hash identifies the recipe: SHA-256 of its JSON, in hexadecimal.
func (r Recipe) Hash() string {
	b, err := json.Marshal(r)
	if err != nil {
		panic("image: recipe is plain data: " + err.Error())
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// short is how a recipe's hash is written in a path.
func short(hash string) string { return hash[:12] }
