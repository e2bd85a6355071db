#!/usr/bin/env bash
# image.sh: a bootable arm64 machine in the cache: root.img, vmlinuz and initrd, made of the root file system and Debian's cloud kernel. Prints the
# folder. No loop device, nothing mounted: mke2fs fills the image itself.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/cache.sh"
base=$("$here/rootfs.sh" arm64)
key=$(cat "$base/manifest" "$here"/guest/* "$here/image.sh" <(basename "$base") | sha256sum | cut -c1-12)
out=$cache/image-arm64-$key
exec 9>"$cache/image.lock"
flock 9
if [ -e "$out/root.img" ]; then echo "$out"; exit; fi
work=$cache/.image-$$
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
mkdir -p "$work"/{root,kernel,early}
cd "$work"

tar -xpf "$base/root.tar" -C root
dpkg-deb -x "$base/kernel.deb" kernel
version=$(ls kernel/lib/modules)
modules=lib/modules/$version
mv "kernel/boot/vmlinuz-$version" vmlinuz
mkdir -p root/lib/modules
cp -a "kernel/$modules" root/lib/modules/
depmod -b root "$version"
"$here/guest/prepare.sh" root
: >root/etc/fstab # the early file system mounts the root: nothing waits for a device, nothing is checked
echo 0123456789abcdef0123456789abcdef >root/etc/machine-id
printf '%s\n' virtio_console virtio_net virtio_rng >root/etc/modules-load.d/machine.conf
mke2fs -q -t ext4 -L ROOT -d root root.img 800M

# ext4 is built into this kernel, virtio is not: an early file system of a megabyte loads it and mounts the root.
mkdir -p early/{bin,dev,new,proc,sys} "early/$modules"
cp root/bin/busybox early/bin/
ln -s busybox early/bin/sh
find "kernel/$modules" -name 'virtio*.ko' -exec cp {} "early/$modules/" \;
touch "early/$modules/modules.order" "early/$modules/modules.builtin"
depmod -b early "$version"
install -m 0755 "$here/guest/init" early/init
(cd early && find . | cpio --quiet -o -H newc | gzip -1) >initrd

rm -rf root kernel early
mv "$work" "$out"
echo "$out"
