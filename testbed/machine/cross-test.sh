#!/usr/bin/env bash
# cross-test.sh [ARCH…]: programs for another processor, run on this one by qemu-user. Scenario S01 with the whole agent, planner and robot in virtual
# time (arm64 arm riscv64); then, for arm64 and arm, the tests of what depends on the size of a number, the order of bytes or the kernel: the
# store, the codecs and the core. It takes six to eight times what it takes natively. Exit 0 only if all held.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/cache.sh"
. "$here/assemble.sh"
"$here/need.sh" user
declare -A qemu=([arm64]=aarch64 [arm]=arm [riscv64]=riscv64)
[ $# -gt 0 ] || set -- arm64 arm riscv64
# What only repeats itself many times, by chance or to count allocations, says the same on every processor.
skip='^(TestSchemaAndDecodeAgreeOnEveryChange|TestAllocationBaseline|TestPowerCutReplay|TestLogCap)$'
cd "$top"
for arch; do
  run=qemu-${qemu[$arch]}-static
  begun=$SECONDS
  programs "$arch"
  "$run" "bin/$arch/testbed" run --only S01 testbed/scenarios
  printf '%-8s S01 by %s: %d s with the build\n' "$arch" "$run" $((SECONDS - begun))
  [ "$arch" != riscv64 ] || continue
  begun=$SECONDS
  # -trimpath as in the programs: one set of flags, or everything is compiled twice.
  CGO_ENABLED=0 GOARCH=$arch GOARM=7 go test -trimpath -short -skip "$skip" -timeout 20m -exec "$run" ./bridge/wire ./bridge ./taskmanager/core ./taskmanager/store
  printf '%-8s tests by %s: %d s with the build\n' "$arch" "$run" $((SECONDS - begun))
done
