#!/bin/sh
# Run by mmdebstrap once the tree is installed, while its package lists are
# still there: downloads, but does not install, the kernel package that
# TARE_KERNEL depends on, into TARE_KERNEL_DIR.
set -eu
cd "$TARE_KERNEL_DIR"
export APT_CONFIG="$MMDEBSTRAP_APT_CONFIG"
package=$(apt-cache depends --important "$TARE_KERNEL" | sed -n 's/^ *Depends: \(linux-image-[0-9][^ ]*\)$/\1/p')
if [ -z "$package" ]; then
	echo "E: $TARE_KERNEL depends on no kernel" >&2
	exit 1
fi
apt-get -q -o APT::Sandbox::User=root download "$package"
