#!/usr/bin/env bash
# need.sh user|container|vm…: makes sure that the host has what a target needs. Root on Debian gets it; anybody else is told.
set -euo pipefail
PATH=$PATH:/usr/sbin:/sbin
missing=()
need() { command -v "$1" >/dev/null || [[ " ${missing[*]} " == *" $2 "* ]] || missing+=("$2"); } # need PROGRAM PACKAGE
root() { [ "$(id -u)" = 0 ] || { echo "test machines need root: containers, cgroups and file systems with their owners" >&2; exit 1; }; }
for what; do
  case $what in
  user) for a in aarch64 arm riscv64; do need qemu-$a-static qemu-user-static; done ;;
  container)
    root
    need mmdebstrap mmdebstrap
    need systemd-nspawn systemd-container
    ;;
  vm)
    root
    need mmdebstrap mmdebstrap
    need qemu-aarch64-static qemu-user-static
    need qemu-system-aarch64 qemu-system-arm
    need qemu-img qemu-utils
    need mke2fs e2fsprogs
    need debugfs e2fsprogs
    need cpio cpio
    need depmod kmod
    ;;
  esac
done
[ ${#missing[@]} -gt 0 ] || exit 0
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
  echo "installing ${missing[*]} with apt-get"
  apt-get install -y --no-install-recommends "${missing[@]}" >/dev/null 2>&1 ||
    { apt-get update && apt-get install -y --no-install-recommends "${missing[@]}"; } >/dev/null 2>&1 || true
fi
still=()
for p in "${missing[@]}"; do dpkg-query -W -f '${Status}' "$p" 2>/dev/null | grep -q '^install ok installed' || still+=("$p"); done
[ ${#still[@]} = 0 ] || { echo "missing here: ${still[*]}. On Debian: sudo apt-get install ${still[*]}" >&2; exit 1; }
