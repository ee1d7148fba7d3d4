#!/bin/sh
# Run by mmdebstrap once the tree is installed, with its path: lays in /usr/src/linux what a tiny
# configuration needs of Debian's kernel source, and prepares a build of it in
# /usr/src/linux-build, which an instance copies. The archive goes; unpacked it would be 1.7 GB.
set -eu
root=$1
cd "$root/usr/src"
archive=$(echo linux-source-*.tar.xz)
top=${archive%.tar.xz}
arch=$(uname -m | sed 's/x86_64/x86/; s/aarch64/arm64/')
set -- '*/Kconfig*' '*/Makefile*' '*/Kbuild*' '*.mk'
for part in "arch/$arch" block certs crypto fs include init io_uring ipc kernel lib mm scripts security usr virt \
	drivers/base drivers/char drivers/clocksource drivers/rtc \
	tools/arch tools/build tools/include tools/lib tools/objtool tools/scripts; do
	set -- "$@" "$top/$part"
done
mkdir linux linux-build
tar -xf "$archive" -C linux --strip-components=1 --wildcards "$@"
rm "$archive"
chroot "$root" make -s -C /usr/src/linux O=/usr/src/linux-build tinyconfig prepare
