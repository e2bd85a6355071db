#!/usr/bin/env bash
# container-root.sh: the amd64 root file system as a folder that a container can start from, in the cache. Prints it.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/cache.sh"
base=$("$here/rootfs.sh" amd64)
key=$(cat "$base/manifest" "$here"/guest/* "$here/container-root.sh" <(basename "$base") | sha256sum | cut -c1-12)
out=$cache/container-$key
exec 9>"$cache/container.lock"
flock 9
if [ ! -d "$out" ]; then
  work=$cache/.container-$$
  trap 'rm -rf "$work"' EXIT
  trap 'exit 130' INT TERM
  mkdir "$work"
  tar -xpf "$base/root.tar" -C "$work"
  : >"$work/etc/machine-id" # made anew at each start
  "$here/guest/prepare.sh" "$work"
  mv "$work" "$out"
fi
echo "$out"
