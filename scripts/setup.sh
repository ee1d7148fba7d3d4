# Sourced by weigh, test and the scripts beside this: builds ./tare and ./tare-agent,
# finds what is missing on this host and installs it. POSIX sh.

GO_WANTED=1.26.8   # the toolchain fetched where there is none that can build go.mod
GO_LEAST=1.26      # what go.mod asks for

PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin

say() { printf '%s\n' "$*" >&2; }
die() { say "$0: $1"; [ -z "${2:-}" ] || say "hint: $2"; exit 4; }

# agreed asks on a terminal; in CI and with YES=1 the answer is yes.
agreed() {
	if [ -n "${CI:-}" ] || [ "${YES:-}" = 1 ]; then return 0; fi
	[ -t 0 ] || die "$1 Nobody can be asked." "run it again with YES=1 (CI=1 does the same)"
	printf '%s\nGo on? [y/N] ' "$1" >&2
	read -r answer
	case $answer in y | Y | yes) ;; *) die "nothing was installed" ;; esac
}

# apt runs apt-get with separate package lists. The host's lists stay unchanged.
apt() {
	DEBIAN_FRONTEND=noninteractive LC_ALL=C apt-get -qq -o Dpkg::Use-Pty=0 -o Dir::State::lists="$WORK/lists" \
		-o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache= -o DPkg::Lock::Timeout=120 "$@"
}

fetch_lists() {
	[ ! -e "$WORK/listed" ] || return 0
	mkdir -p "$WORK/lists/partial"
	chown _apt "$WORK/lists/partial" 2>/dev/null || true
	apt update >>"$LOG" 2>&1 && : >"$WORK/listed"
}

# there_are prints the packages, each the first of its names that this release knows.
there_are() {
	for names; do
		first=${names%%|*}
		case $names in *\|*) # asking takes apt a second
			for name in $(echo "$names" | tr '|' ' '); do
				if apt --dry-run --no-install-recommends install "$name" >/dev/null 2>&1; then
					first=$name
					break
				fi
			done ;;
		esac
		echo "$first"
	done | sort -u | tr '\n' ' '
}

# install_packages installs what is named, after asking. Nothing it brings is
# started now or at the next boot: some packages start daemons that open sockets,
# make bridges and set the policy of the firewall.
install_packages() {
	[ $# -gt 0 ] || return 0
	command -v apt-get >/dev/null 2>&1 ||
		die "missing: $*" "install these with your distribution's package manager, then run this again"
	twice fetch_lists || failed "the lists of packages could not be fetched"
	packages=$(there_are "$@")
	packages=${packages% }
	# shellcheck disable=SC2086
	apt --dry-run --no-install-recommends install $packages >"$WORK/dry" 2>&1 ||
		{ cat "$WORK/dry" >>"$LOG" && failed "apt-get cannot install $packages" "are all of the distribution's sources enabled? Ubuntu has some in universe"; }
	# shellcheck disable=SC2086
	need=$(apt --assume-no --no-install-recommends -q=1 install $packages 2>/dev/null | sed -n 's/^After this operation, \(.*\) of additional disk space.*/\1/p')
	agreed "Missing: $packages.
apt-get would install these and what they depend on, $(grep -c '^Inst ' "$WORK/dry") package(s), which take ${need:-some hundred MB} of disk.
They stay until you remove them, with the users and groups that they make. None of their services is started, now or at boot."
	say "installing $packages"
	services_off
	# shellcheck disable=SC2086
	twice install_now $packages || failed "apt-get failed"
	services_back
}

install_now() { apt --no-install-recommends -y install "$@" >>"$LOG" 2>&1; }

# twice repeats a command once if it fails: mirrors fail now and then.
twice() { "$@" || { say "that failed; trying once more" && sleep 5 && "$@"; }; }

# failed shows the end of the log, and keeps the log.
failed() {
	tail -n 20 "$LOG" >&2
	kept=$(mktemp "${TMPDIR:-/tmp}/tare-setup.XXXXXX")
	cp "$LOG" "$kept"
	die "$1" "${2:+$2; }the whole log is in $kept"
}

# While packages are installed, a policy-rc.d of ours refuses every start of a
# service. A process in a session of its own takes it away when a pipe ends that
# only this shell and apt hold open, so also when either was killed. Should that
# process be gone, too, the policy finds the pipe not held and refuses nothing.
POLICY=/usr/sbin/policy-rc.d
MARK='# tare: no service is started while the set-up installs packages'

services_off() {
	links >"$WORK/links"
	if [ -e "$POLICY" ] && ! grep -qxF "$MARK" "$POLICY"; then return; fi # a container's own, or an administrator's
	rm -f "$WORK/held"
	mkfifo "$WORK/held"
	exec 9<>"$WORK/held"
	# shellcheck disable=SC2016
	(
		trap '' INT TERM HUP
		exec setsid sh -c 'read -r _ <"$1"; ! grep -qsxF "$2" "$3" || rm -f "$3"; kill -0 "$5" 2>/dev/null || rm -rf "$4"' \
			sh "$WORK/held" "$MARK" "$POLICY" "$WORK" $$ </dev/null >/dev/null 2>&1 9>&-
	) &
	cat >"$WORK/policy" <<-END
		#!/bin/sh
		$MARK
		for held in /proc/[0-9]*/fd/9; do
			[ ! "\$held" -ef "$WORK/held" ] || exit 101
		done
		exit 0
	END
	chmod 755 "$WORK/policy"
	mv "$WORK/policy" "$POLICY"
}

# links lists the services started at boot.
links() { find /etc/systemd/system /etc/systemd/user /etc/rc?.d -type l 2>/dev/null | sort || true; }

# services_back takes the policy away, and with it what the packages would have
# had started at boot, as "systemctl disable" and "update-rc.d disable" do.
services_back() {
	links | comm -13 "$WORK/links" - >"$WORK/new"
	: >"$WORK/off"
	while read -r link; do
		unit=$(basename "$(readlink "$link")")
		if dpkg -S "*/systemd/system/$unit" 2>/dev/null | grep -q '^systemd: '; then continue; fi # systemd's own, if it is new
		case $link in
		*/rc?.d/S*) mv "$link" "${link%/*}/K01${link##*/S[0-9][0-9]}" ;;
		*/rc?.d/*) ;;
		*) rm -f "$link" && rmdir "${link%/*}" 2>/dev/null ;;
		esac || true
		case $link in *.wants/*) echo "${link##*/}" >>"$WORK/off" ;; esac
	done <"$WORK/new"
	units=$(sort -u "$WORK/off" | tr '\n' ' ')
	[ -z "$units" ] || say "not started at boot: ${units% }; systemctl enable changes that"
	! grep -qsxF "$MARK" "$POLICY" || rm -f "$POLICY"
	exec 9>&-
}

# go_can_build says whether $1 is a go command new enough for go.mod.
go_can_build() {
	v=$("$1" env GOVERSION 2>/dev/null) || return 1
	v=${v#go}
	v=${v%%[!0-9.]*}
	[ "$(printf '%s\n%s\n' "$GO_LEAST" "$v" | sort -V | head -n 1)" = "$GO_LEAST" ]
}

# have_go sets GO to a go command that can build go.mod, or to where the fetched one would be.
have_go() {
	GO=$(command -v go || true)
	if [ -n "$GO" ] && GOTOOLCHAIN=local go_can_build "$GO"; then return; fi
	arch=$(uname -m)
	case $arch in x86_64) arch=amd64 ;; aarch64) arch=arm64 ;; esac
	GOMODCACHE_OWN=$PWD/.toolchain
	GO=$GOMODCACHE_OWN/golang.org/toolchain@v0.0.1-go$GO_WANTED.linux-$arch/bin/go
	[ -x "$GO" ] && GOTOOLCHAIN=local go_can_build "$GO"
}

# find_go sets GO to a go command that can build go.mod. Where there is none,
# the distribution's, however old, fetches the wanted toolchain as a module,
# whose checksum the go command verifies.
find_go() {
	if ! have_go; then
		needs=
		command -v go >/dev/null 2>&1 || needs=golang-go
		[ -e /etc/ssl/certs/ca-certificates.crt ] || needs="$needs ca-certificates"
		# shellcheck disable=SC2086
		install_packages $needs
		say "fetching the Go $GO_WANTED toolchain"
		mkdir -p "$GOMODCACHE_OWN"
		twice fetch_go || failed "no Go toolchain" "install Go $GO_LEAST or later and put it on PATH"
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

# use_go sets what go and the tests that call it are to find.
use_go() {
	PATH=${GO%/*}:$PATH
	export PATH GOTOOLCHAIN=local CGO_ENABLED=0
}

# build makes ./tare and ./tare-agent; what they need of modules is downloaded.
build() {
	use_go
	twice compile || failed "tare could not be built"
}

compile() {
	"$GO" build -trimpath -buildvcs=false -ldflags '-s -w' -o tare-agent ./cmd/tare-agent >>"$LOG" 2>&1 &&
		"$GO" build -trimpath -buildvcs=false -o tare ./cmd/tare >>"$LOG" 2>&1
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
	twice build_runsc || say "that failed: platform gvisor is not tested"
}

build_runsc() {
	GOBIN=$PWD/.toolchain/bin CGO_ENABLED=0 GOTOOLCHAIN=local "$GO" install -trimpath \
		-ldflags '-s -w -X gvisor.dev/gvisor/runsc/version.version=release-20260224.0' "gvisor.dev/gvisor/runsc@$RUNSC"
}

# fetch_incus unpacks Incus from the backports of Debian 12, which has none itself, beside the
# Go programs. It is not installed: its package would grant ids to root, make groups and
# hook lxcfs into every container of LXC's.
fetch_incus() {
	if command -v incusd >/dev/null || [ -x /usr/libexec/incus/incusd ]; then return; fi
	say "fetching Incus"
	twice unpack_incus >/dev/null 2>&1 || say "that failed: platform incus is not tested (Debian 13: apt-get install incus-base)"
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
	twice unpack_criu >/dev/null 2>&1 || say "that failed: no container is checkpointed (Debian 13: apt-get install criu)"
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

# setup NAME installs what it takes to build tare, builds it, and installs what
# tare says that the experiment of that name lacks here, or "tests".
setup() {
	[ "$(id -u)" = 0 ] || die "this must run as root: it makes containers, virtual machines and network namespaces" "sudo $0"
	WORK=$(mktemp -d) # the log, and package lists
	chmod 755 "$WORK" # apt fetches the lists as another user
	LOG=$WORK/log
	: >"$LOG"
	trap 'rm -rf "$WORK"' EXIT
	trap 'exit 130' INT TERM HUP
	find_go
	say "building with $("$GO" version)"
	build
	missing=$(./tare doctor --packages "$1")
	# shellcheck disable=SC2086
	install_packages $missing
	missing=$(./tare doctor --packages "$1" | tr '\n' ' ')
	[ -z "$missing" ] || failed "still missing after the installation: $missing"
	rm -rf "$WORK"
	trap - EXIT INT TERM HUP
}
