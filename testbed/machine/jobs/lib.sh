# shellcheck shell=bash
# lib.sh: what every job begins with: . /job/lib.sh
# A job is a list of steps. `step WORDS` ends the step before and begins one; any command that fails ends the job, and the step under way is
# the one that did not hold. The host prints the lines that begin with "held" and "FAILED", with their seconds; all other output is
# printed only where a job fails.
#
# The job runs as root in /job, which has:
#   lib.sh  jobs/  files/   this file, all jobs, what they need beside them
#   debs/                   the packages for this machine's architecture: deviceagent and deviceagent-testbed
#   bin/                    programs for it: deviceagentd deviceagentctl plannerd testbed
#   more/                   what the caller gave in MORE=folder, such as older packages; empty else
#   out/                    what is put here the host may read
# MACHINE is "container" (systemd-nspawn) or "vm".
set -euo pipefail
export DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8
tmp=/run/job # goes with the machine
mkdir -p $tmp

_step='' _begun=0
_now() { date +%s%N; }
_took() { awk -v a="$_begun" -v b="$(_now)" 'BEGIN { printf "%7.1f s", (b - a) / 1e9 }'; }

step() {
  [ -z "$_step" ] || echo "held   $(_took)  $_step"
  _step=$* _begun=$(_now)
  [ -z "$_step" ] || echo "---- $_step"
}

# fail WORDS: the step does not hold, for this reason.
fail() {
  echo "$*"
  _why=$*
  exit 1
}
_why=''

_end() {
  local rc=$?
  trap - EXIT ERR
  if [ $rc = 0 ]; then
    step ''
    return
  fi
  echo "FAILED $(_took)  ${_step:-before the first step}${_why:+: $_why}${_where:+ ($_where)}"
  set +e
  echo "---- state of the machine"
  systemctl --no-pager --no-legend --failed
  systemctl --no-pager --full status 'deviceagent*' 'testbed*' 2>&1 | head -80
  journalctl --no-pager -o short-monotonic -n 80
  exit $rc
}
_where=''
trap '_where="line $LINENO: $BASH_COMMAND"' ERR
trap _end EXIT

# until_holds SECONDS COMMAND…: polls until the command succeeds. Nothing here may hang on how fast the machine is: give it ten times what
# it should take, and twice that where it boots under emulation.
until_holds() {
  local limit=$1 end
  shift
  [ "$MACHINE" = container ] || limit=$((limit * 2))
  end=$((SECONDS + limit))
  until "$@" >$tmp/until.out 2>&1; do
    if [ $SECONDS -ge $end ]; then
      cat $tmp/until.out
      fail "not within $limit s: $*"
    fi
    sleep 0.2
  done
  cat $tmp/until.out
}

# same WHAT GOT WANT
same() { [ "$2" = "$3" ] || fail "$1 is \"$2\", want \"$3\""; }

# show UNIT PROPERTY
show() { systemctl show --value -p "$2" "$1"; }

# install_debs: the packages that were built. dpkg itself, so that nothing is fetched.
install_debs() { dpkg -i /job/debs/*.deb; }
