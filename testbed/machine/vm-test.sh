#!/usr/bin/env bash
# vm-test.sh: the packages on an arm64 machine with a real kernel under emulation. First everything that a start of it can show (jobs plan and
# field), then a power cut in the middle of a plan, judged from the write log. Prints each step and its time; exit 0 only if all held.
# Needs root. CUTS, RESTARTS, KEEP …: powercut.sh. PARTS="boot powercut": which.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/cache.sh"
. "$here/assemble.sh"
"$here/need.sh" vm
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
begun=$SECONDS
programs arm64
programs arm
programs amd64
packages arm64
"$here/image.sh" >/dev/null
echo "programs, packages and image: $((SECONDS - begun)) s"
for part in ${PARTS:-boot powercut}; do
  echo "$part"
  begun=$SECONDS
  case $part in
  boot)
    mkdir -p "$work/more/arm"
    cp "$top"/bin/arm/{deviceagentd,deviceagentctl,testbed} "$work/more/arm/"
    cp -r "$top/testbed/scenarios" "$work/more/"
    MORE=$work/more assemble "$work/boot" arm64 vm plan field
    LIMIT=${LIMIT:-1200} "$here/vm.sh" "$work/boot"
    ;;
  powercut) "$here/powercut.sh" ;;
  *) echo "there is no part $part" >&2; exit 2 ;;
  esac
  echo "  $((SECONDS - begun)) s in all"
done
echo 'all held'
