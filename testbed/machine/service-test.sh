#!/usr/bin/env bash
# service-test.sh [JOB…]: runs jobs (jobs/JOB.sh; without names plan, service and bus) under real systemd, each in a
# container of its own with the packages for amd64. Prints each step and its time; exit 0 only if all held. Needs root.
# `package` is not of the default: it needs packages of other versions, which `make package` makes.
#   DEBS=folder   test the packages in there
#   MORE=folder   give its files to the jobs, as /job/more
#   LIMIT=300     seconds that one job may take
#   KEEP=folder   leave the jobs' folders there
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/cache.sh"
. "$here/assemble.sh"
"$here/need.sh" container
jobs=("$@")
[ $# -gt 0 ] || jobs=(plan service bus) # package.sh wants older packages too: make package
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
programs amd64
packages amd64
bad=()
for job in "${jobs[@]}"; do
  echo "$job"
  begun=$SECONDS
  assemble "$work/$job" amd64 container "$job"
  "$here/nspawn.sh" "$work/$job" || bad+=("$job")
  echo "  $((SECONDS - begun)) s with the start of the machine"
  [ -z "${KEEP:-}" ] || { mkdir -p "$KEEP" && rm -rf "${KEEP:?}/$job" && cp -r "$work/$job" "$KEEP/"; }
done
[ ${#bad[@]} = 0 ] || { echo "did not hold: ${bad[*]}"; exit 1; }
echo "all held: ${jobs[*]}"
