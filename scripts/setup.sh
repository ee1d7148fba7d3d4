# Sourced by weigh and test: finds what is missing on this host and installs it,
# then builds ./tare and ./tare-agent. POSIX sh.

GO_WANTED=1.26.8   # the toolchain fetched where there is none that can build go.mod
GO_LEAST=1.26      # what go.mod asks for

say() { printf '%s\n' "$*" >&2; }
die() { say "$0: $1"; [ -z "${2:-}" ] || say "hint: $2"; exit 4; }

# program or file, a colon, the Debian package that has it
NEEDS="mmdebstrap:mmdebstrap
/usr/share/keyrings/debian-archive-keyring.gpg:debian-archive-keyring
dockerd:docker.io
lxc-start:lxc
qemu-system-x86_64:qemu-system-x86
qemu-img:qemu-utils
mkfs.ext4:e2fsprogs
losetup:mount
ip:iproute2
iptables:iptables
xz:xz-utils
zstd:zstd"

have() {
	case $1 in
	/*) [ -e "$1" ] ;;
	*) command -v "$1" >/dev/null 2>&1 || [ -x "/usr/sbin/$1" ] || [ -x "/sbin/$1" ] ;;
	esac
}

# missing_packages prints the packages whose program or file is not there.
missing_packages() {
	for need in $NEEDS ${EXTRA_NEEDS:-}; do
		have "${need%%:*}" || printf '%s\n' "${need#*:}"
	done | sort -u | tr '\n' ' '
}

# agreed asks on a terminal; in CI and with YES=1 the answer is yes.
agreed() {
	if [ -n "${CI:-}" ] || [ "${YES:-}" = 1 ]; then return 0; fi
	[ -t 0 ] || die "$1, and nobody can be asked" "run it again with YES=1"
	printf '%s. Go on? [y/N] ' "$1" >&2
	read -r answer
	case $answer in y | Y | yes) ;; *) die "nothing was installed" ;; esac
}

apt() { DEBIAN_FRONTEND=noninteractive apt-get -o Dpkg::Use-Pty=0 -qq "$@" >>"$LOG" 2>&1; }

install_packages() {
	packages=$(missing_packages)
	[ -n "$packages" ] || return 0
	have apt-get || die "missing: $packages" "install these with your distribution's package manager, then run this again"
	agreed "Missing: ${packages% }. They will be installed with apt-get"
	say "installing ${packages% }"
	# shellcheck disable=SC2086
	{ apt update && apt install --no-install-recommends -y $packages; } ||
		{ say "that failed; trying once more" && sleep 5 && apt update && apt install --no-install-recommends -y $packages; } ||
		{ tail -n 20 "$LOG" >&2 && die "apt-get failed" "the whole log is in $LOG"; }
	still=$(missing_packages)
	[ -z "$still" ] || die "still missing after the installation: $still" "see $LOG"
}

# go_can_build says whether $1 is a go command new enough for go.mod.
go_can_build() {
	v=$("$1" env GOVERSION 2>/dev/null) || return 1
	v=${v#go}
	v=${v%%[!0-9.]*}
	[ "$(printf '%s\n%s\n' "$GO_LEAST" "$v" | sort -V | head -n 1)" = "$GO_LEAST" ]
}

# find_go sets GO to a go command that can build go.mod. Where there is none,
# the distribution's, however old, fetches the wanted toolchain as a module,
# whose checksum the go command verifies.
find_go() {
	GO=$(command -v go || true)
	if [ -n "$GO" ] && GOTOOLCHAIN=local go_can_build "$GO"; then return; fi
	arch=$(uname -m)
	case $arch in x86_64) arch=amd64 ;; aarch64) arch=arm64 ;; esac
	GOMODCACHE_OWN=$PWD/.toolchain
	GO=$GOMODCACHE_OWN/golang.org/toolchain@v0.0.1-go$GO_WANTED.linux-$arch/bin/go
	if [ ! -x "$GO" ] || ! GOTOOLCHAIN=local go_can_build "$GO"; then
		if ! command -v go >/dev/null 2>&1; then
			EXTRA_NEEDS="${EXTRA_NEEDS:-} go:golang-go"
			install_packages
		fi
		say "fetching the Go $GO_WANTED toolchain"
		mkdir -p "$GOMODCACHE_OWN"
		fetch_go || { say "that failed; trying once more" && sleep 5 && fetch_go; } ||
			{ tail -n 5 "$LOG" >&2 && die "no Go toolchain" "install Go $GO_LEAST or later and put it on PATH"; }
		chmod -R u+w "$GOMODCACHE_OWN"
		chmod +x "${GO%/*}"/* "${GO%/bin/go}"/pkg/tool/*/* 2>/dev/null || true
	fi
	GOTOOLCHAIN=local go_can_build "$GO" || die "the fetched Go toolchain does not run" "remove .toolchain and run this again"
}

fetch_go() {
	# A module of its own: an old go command cannot read the go.mod above.
	printf 'module toolchain\n' >"$GOMODCACHE_OWN/go.mod"
	(cd "$GOMODCACHE_OWN" && GOMODCACHE=$GOMODCACHE_OWN GOFLAGS=-modcacherw GO111MODULE=on GOTOOLCHAIN=local \
		go mod download "golang.org/toolchain@v0.0.1-go$GO_WANTED.linux-$arch") >>"$LOG" 2>&1
}

build() {
	PATH=${GO%/*}:$PATH # tests call go themselves
	export PATH GOTOOLCHAIN=local CGO_ENABLED=0
	"$GO" mod download >>"$LOG" 2>&1 || { sleep 5 && "$GO" mod download >>"$LOG" 2>&1; } ||
		{ tail -n 5 "$LOG" >&2 && die "the Go modules could not be downloaded" "see $LOG"; }
	"$GO" build -trimpath -buildvcs=false -ldflags '-s -w' -o tare-agent ./cmd/tare-agent
	"$GO" build -trimpath -buildvcs=false -o tare ./cmd/tare
}

# fetch_runsc builds gVisor's runtime from its Go module, whose checksum the go
# command verifies, unless there is one of 2025 or later: Debian's is older.
RUNSC=v0.0.0-20260224225140-573d5e7127a8
fetch_runsc() {
	PATH=$PATH:$PWD/.toolchain/bin
	export PATH
	date=$(runsc --version 2>/dev/null | sed -n 's/.*\(20[0-9]\{6\}\).*/\1/p' | head -n 1)
	[ "${date:-0}" -lt 20250101 ] || return 0
	say "building gVisor's runsc"
	build_runsc || { say "that failed; trying once more" && sleep 5 && build_runsc; } ||
		say "that failed: platform gvisor is not tested"
}

build_runsc() {
	GOBIN=$PWD/.toolchain/bin CGO_ENABLED=0 GOTOOLCHAIN=local "$GO" install -trimpath \
		-ldflags '-s -w -X gvisor.dev/gvisor/runsc/version.version=release-20260224.0' "gvisor.dev/gvisor/runsc@$RUNSC"
}

# fetch_incus unpacks Incus from the backports of Debian 12, which has none itself, beside the
# Go programs. It is not installed: its package would grant ids to root, make groups and
# hook lxcfs into every container of LXC's.
fetch_incus() {
	have incusd || have /usr/libexec/incus/incusd && return
	say "fetching Incus"
	unpack_incus >/dev/null 2>&1 || { sleep 5 && unpack_incus >/dev/null 2>&1; } ||
		say "that failed: platform incus is not tested (Debian 13: apt-get install incus-base)"
}

# mirror prints the Debian mirror that the host uses.
mirror() {
	cat /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null |
		sed -n 's,^\(URIs: *\|deb .*\)\(http[^ ]*/debian\)/*\( .*\|\)$,\2,p' | head -n 1
}

unpack_incus() {
	suite=$(. /etc/os-release && echo "$VERSION_CODENAME")
	mirror=$(mirror)
	[ "$suite" = bookworm ] && [ -n "$mirror" ] || return 1
	dir=$PWD/.toolchain/incus
	rm -rf "$dir" && mkdir -p "$dir/lists/partial" "$dir/parts" "$dir/debs" "$PWD/.toolchain/bin"
	for s in $suite $suite-backports; do
		echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror $s main"
	done >"$dir/list"
	set -- -qq -o Dir::Etc::sourcelist="$dir/list" -o Dir::Etc::sourceparts="$dir/parts" -o Dir::State::lists="$dir/lists" \
		-o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache= -o APT::Sandbox::User=root
	apt-get "$@" update
	(cd "$dir/debs" && apt-get "$@" download incus-base/"$suite-backports" incus-client/"$suite-backports" \
		libcowsql0 libraft0 libuv1) || return 1
	for deb in "$dir"/debs/*.deb; do dpkg-deb -x "$deb" "$dir" || return 1; done
	libs=$(dirname "$(find "$dir/usr/lib" -name 'libraft.so.0')")
	printf '#!/bin/sh\nLD_LIBRARY_PATH=%s exec %s "$@"\n' "$libs" "$dir/usr/libexec/incus/incusd" >"$PWD/.toolchain/bin/incusd"
	chmod +x "$PWD/.toolchain/bin/incusd"
	cp "$dir/usr/bin/incus" "$PWD/.toolchain/bin/incus"
	rm -rf "$dir/debs" "$dir/lists"
	incusd --version
}

# fetch_criu unpacks CRIU from Debian 13, with all the libraries it needs beside it, unless there is
# one of version 4 or later. Debian 12's does not work on newer kernels, and its backports have none.
# apt checks the signatures of the lists and the checksums of the packages.
fetch_criu() {
	PATH=$PWD/.toolchain/bin:$PATH # an older one may be installed
	export PATH
	version=$(criu --version 2>/dev/null | sed -n 's/^Version: \([0-9]*\).*/\1/p')
	[ "${version:-0}" -lt 4 ] || return 0
	say "fetching CRIU"
	unpack_criu >/dev/null 2>&1 || { sleep 5 && unpack_criu >/dev/null 2>&1; } ||
		say "that failed: no container is checkpointed (Debian 13: apt-get install criu)"
}

unpack_criu() {
	mirror=$(mirror)
	[ -n "$mirror" ] || return 1
	dir=$PWD/.toolchain/criu
	rm -rf "$dir" && mkdir -p "$dir/lists/partial" "$dir/parts" "$dir/debs" "$PWD/.toolchain/bin"
	echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror trixie main" >"$dir/list"
	: >"$dir/status" # nothing is installed, so all that is needed is named
	set -- -qq -o Dir::Etc::sourcelist="$dir/list" -o Dir::Etc::sourceparts="$dir/parts" -o Dir::State::lists="$dir/lists" \
		-o Dir::State::status="$dir/status" -o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache= -o APT::Sandbox::User=root
	apt-get "$@" update
	packages=$(apt-get "$@" -s --no-install-recommends install criu | sed -n 's/^Inst \([^ ]*\).*/\1/p')
	# shellcheck disable=SC2086
	[ -n "$packages" ] && (cd "$dir/debs" && apt-get "$@" download $packages) || return 1
	for deb in "$dir"/debs/*.deb; do dpkg-deb -x "$deb" "$dir" || return 1; done
	libs=$(dirname "$(find "$dir/usr/lib" -name 'libcompel.so.1')")
	loader=$(find "$dir/usr/lib" -name 'ld-linux-*.so.*' | head -n 1)
	printf '#!/bin/sh\nexec %s --library-path %s %s "$@"\n' "$loader" "$libs" "$dir/usr/sbin/criu" >"$PWD/.toolchain/bin/criu"
	chmod +x "$PWD/.toolchain/bin/criu"
	rm -rf "$dir/debs" "$dir/lists"
	criu --version
}

setup() {
	[ "$(id -u)" = 0 ] || die "this must run as root: it makes containers, virtual machines and network namespaces" "sudo $0"
	PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin
	LOG=${TMPDIR:-/tmp}/tare-setup.$$.log
	: >"$LOG"
	install_packages
	find_go
	say "building with $("$GO" version)"
	build
	rm -f "$LOG"
}
