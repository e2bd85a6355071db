#!/usr/bin/env bash
# nspawn.sh JOBDIR: starts a test machine in systemd-nspawn, with real systemd as process 1 and a system that is thrown away, and runs
# JOBDIR/run in it with JOBDIR at /job. Prints the job's steps as they end; JOBDIR/log has everything. Exit 0: the job ended with 0.
# Needs root; no systemd on the host, no system bus, no network. LIMIT: seconds (300).
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/cache.sh"
. "$here/follow.sh"
job=$(cd "${1:?nspawn.sh: a job folder}" && pwd)
limit=${LIMIT:-300}
root=$("$here/container-root.sh")

# systemd inside sits in a cgroup of its own, so that nothing else of this machine is touched. A machine with cgroup v1 has named hierarchies.
name=deviceagent-testbed-$$
groups=()
if [ -e /sys/fs/cgroup/cgroup.controllers ]; then
  groups=(/sys/fs/cgroup/$name)
else
  for h in /sys/fs/cgroup/unified /sys/fs/cgroup/systemd; do [ -d $h ] && groups+=("$h/$name"); done
fi
pid=''
clean() {
  trap - EXIT
  if [ -n "$pid" ] && kill -0 "$pid" 2>/dev/null; then
    kill "$pid" 2>/dev/null || true # SIGTERM: nspawn ends the container
    for ((i = 0; i < 50; i++)); do kill -0 "$pid" 2>/dev/null || break; sleep 0.1; done
    kill -9 "$pid" 2>/dev/null || true
  fi
  for g in "${groups[@]}"; do
    for ((i = 0; i < 50; i++)); do
      find "$g" -depth -type d -exec rmdir {} + 2>/dev/null || true
      [ -d "$g" ] || break
      [ -e "$g/cgroup.kill" ] && echo 1 >"$g/cgroup.kill"
      sleep 0.1
    done
  done
}
trap clean EXIT
trap 'exit 130' INT TERM
mkdir "${groups[@]}" || { echo "nspawn.sh: cannot make a cgroup; are you root?" >&2; exit 1; }

rm -f "$job/log"
: >"$job/log"
(
  for g in "${groups[@]}"; do echo $BASHPID >"$g/cgroup.procs"; done
  SYSTEMD_NSPAWN_UNIFIED_HIERARCHY=1 exec systemd-nspawn --quiet --register=no --keep-unit --private-network --machine=machine \
    --volatile=overlay --directory="$root" --bind="$job:/job" --console=pipe --boot
) </dev/null >"$job/console" 2>&1 &
pid=$!
follow $pid "$limit" "$job/log" || true
ended "$job/log" "$job/console"
