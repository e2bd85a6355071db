#!/usr/bin/env bash
# debs.sh ARCH TO: puts the Debian packages for ARCH into TO, of each the newest: those in $DEBS, or in dist where it is not set.
set -euo pipefail
top=$(cd "$(dirname "$0")/../.." && pwd)
arch=$1 to=$2
DEBS=${DEBS:-$top/dist}
for name in deviceagent deviceagent-testbed; do
  newest=$(ls -t "$DEBS/${name}"_*_"$arch".deb 2>/dev/null | head -1)
  [ -n "$newest" ] || { echo "debs.sh: no package $name for $arch in $DEBS" >&2; exit 1; }
  cp "$newest" "$to/"
done
