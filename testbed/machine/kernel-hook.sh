#!/bin/sh
# kernel-hook.sh ROOT: mmdebstrap calls it when ROOT is ready. Fetches the kernel that Debian's cloud package stands for, as KERNEL_TO/kernel.deb;
# it is never installed, since that would make an initramfs and a boot loader under emulation. KERNEL_TO empty: no kernel wanted.
set -eu
[ -n "$KERNEL_TO" ] || exit 0
export APT_CONFIG="$MMDEBSTRAP_APT_CONFIG"
name=$(apt-cache depends linux-image-cloud-arm64 | awk '$1 == "Depends:" && $2 ~ /^linux-image-[0-9]/ { print $2; exit }')
[ -n "$name" ] || { echo "no kernel behind linux-image-cloud-arm64" >&2; exit 1; }
cd "$KERNEL_TO"
apt-get download "$name"
mv "$name"_*.deb kernel.deb
