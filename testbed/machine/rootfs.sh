#!/usr/bin/env bash
# rootfs.sh ARCH: a minimal Debian 12 with the packages of ./packages, for amd64 or arm64 (through qemu-user), in the cache. Prints its
# folder, which holds root.tar, manifest (package and version, one a line) and for arm64 kernel.deb. Needs root, and mmdebstrap.
# It is made once: the folder's name is a hash of what makes it. Downloaded packages are kept beside it for the next time.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/cache.sh"
arch=${1:?rootfs.sh: amd64 or arm64}
case $arch in amd64 | arm64) ;; *) echo "rootfs.sh: no architecture $arch" >&2; exit 2 ;; esac

suite=bookworm
key=$(cat "$here/rootfs.sh" "$here/packages" "$here/kernel-hook.sh" | sha256sum | cut -c1-12)
out=$cache/rootfs-$arch-$key
debs=$cache/debs-$arch
mkdir -p "$cache" "$debs"

exec 9>"$cache/rootfs-$arch.lock"
flock 9 # two targets may want the same one
if [ -e "$out/root.tar" ]; then echo "$out"; exit; fi

# Programs of the other architecture run through qemu-user by binfmt_misc. With flag F the kernel keeps qemu open, so that it is found
# inside the new root too. Only this one is registered.
if [ "$arch" = arm64 ]; then
  misc=/proc/sys/fs/binfmt_misc
  [ -e $misc/register ] || mount -t binfmt_misc binfmt_misc $misc
  [ -e $misc/qemu-aarch64 ] || grep -v '^#' /usr/lib/binfmt.d/qemu-aarch64.conf >$misc/register
fi

work=$cache/.rootfs-$arch-$$
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
mkdir "$work"
echo "making the $arch root file system in $out (once; minutes)" >&2
export KERNEL_TO=
[ "$arch" = amd64 ] || KERNEL_TO=$work
include=$(grep -v '^#' "$here/packages" | paste -sd,)
# check/qemu would want another package to say what is registered above. Documentation and translations are left out while the system is made; a package that a job installs later is unpacked in full.
mmdebstrap --mode=root --architectures="$arch" --variant=minbase --include="$include" \
  --aptopt='APT::Install-Recommends "false"' --dpkgopt=force-unsafe-io \
  --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/locale/*' \
  --skip=check/qemu,download/empty,essential/unlink \
  --setup-hook='mkdir -p "$1/var/cache/apt/archives"' --setup-hook="sync-in $debs /var/cache/apt/archives" \
  --customize-hook="sync-out /var/cache/apt/archives $debs" \
  --customize-hook="$here/kernel-hook.sh" \
  --customize-hook='rm -f "$1/etc/dpkg/dpkg.cfg.d/99mmdebstrap"' \
  --customize-hook="chroot \"\$1\" dpkg-query -W >$work/manifest" \
  "$suite" "$work/root.tar" >"$work/log" 2>&1 || { tail -30 "$work/log" >&2; echo "rootfs.sh: cannot make the $arch root file system" >&2; exit 1; }
mv "$work" "$out"
echo "$out"
