#!/bin/bash
# field.sh: what only a machine with a kernel of its own can show of the installed agent, after plan.sh in the same machine: the watchdog,
# the doors, a bound on memory that the kernel enforces, and 32-bit programs.
. /job/lib.sh
. /job/jobs/robot.sh

doing() { show deviceagent "$1"; }
# again N: the agent was started again since it had N restarts, and is ready.
again() { [ "$(doing NRestarts)" -gt "$1" ] && [ "$(doing ActiveState)" = active ]; }
as() {
  local user=$1
  shift
  setpriv --reuid="$user" --regid="$user" --init-groups "$@"
}
limits() {
  mkdir -p /run/systemd/system/deviceagent.service.d
  { echo '[Service]' && printf '%s\n' "$@"; } >/run/systemd/system/deviceagent.service.d/field.conf
  systemctl daemon-reload
}

step 'the doors: who is in the group comes in, nobody else'
useradd --system looker -G deviceagent-read
useradd --system driver -G deviceagent-read,deviceagent-control
useradd --system stranger
as looker deviceagentctl status
if as looker deviceagentctl pause --all --reason field; then fail 'who may look may operate'; fi
if as stranger deviceagentctl status; then fail 'a stranger may look'; fi
as driver deviceagentctl pause --all --reason field
as driver deviceagentctl resume --all --reason field

step 'the watchdog ends an agent that stands still, and it comes back'
limits WatchdogSec=20 TimeoutAbortSec=5
systemctl restart deviceagent
before=$(doing NRestarts)
systemctl kill --kill-whom=main --signal=STOP deviceagent
until_holds 90 again "$before"
journalctl -u deviceagent -o cat --no-pager | grep 'Watchdog timeout' || fail 'it came back for another reason'
until_holds 60 executors_ready

step 'the kernel keeps the agent in its bound, and the agent keeps itself below (F75)'
limits WatchdogSec=60
systemctl restart deviceagent
until_holds 60 executors_ready
bound=$(doing MemoryMax)
same 'the bound that the kernel has' "$(cat "/sys/fs/cgroup$(doing ControlGroup)/memory.max")" "$bound"
# Ten plans of 128 steps, none of which can begin: the memory that a full agent takes.
many() {
  local n i steps=
  for ((i = 1; i <= 128; i++)); do steps+="{\"cloud_step_id\":\"s_$i\",\"taskMethod\":\"setMoveTo\",\"params\":{\"position\":\"거실\"}},"; done
  for ((n = 1; n <= 10; n++)); do
    printf '{"workflow":{"cloud_workflow_id":"wf_many_%d","plan_id":"pl_many_%d","revision":0},"device_task_requests":[%s]}' $n $n "${steps%,}" | deviceagentctl submit -
  done
}
deviceagentctl pause --all --reason field
many
deviceagentctl cancel --all --yes --reason field
deviceagentctl resume --all --reason field
peak=$(cat "/sys/fs/cgroup$(doing ControlGroup)/memory.peak")
echo "at most $((peak >> 20)) MiB of $((bound >> 20)) MiB"
[ "$peak" -lt "$bound" ] || fail "it needed $peak bytes, the bound is $bound"
same 'kills for want of memory' "$(awk '$1 == "oom_kill" { print $2 }' "/sys/fs/cgroup$(doing ControlGroup)/memory.events")" 0

step 'a bound that is too small ends it, and when that is lifted it goes on as after a power cut (F66, F75)'
before=$(doing NRestarts)
deviceagentctl submit - <<<'{"workflow":{"cloud_workflow_id":"wf_small","plan_id":"pl_small","revision":0},"device_task_requests":[{"cloud_step_id":"go","taskMethod":"setMoveTo","params":{"position":"주방"}},{"cloud_step_id":"on","taskMethod":"setMoveTo","params":{"position":"거실"},"depends_on":["go"]}]}'
systemctl set-property --runtime deviceagent.service MemoryMax=4M MemorySwapMax=0
killed() { journalctl -u deviceagent -o cat --no-pager | grep -E 'oom-kill|OOM killer'; }
until_holds 60 killed
systemctl set-property --runtime deviceagent.service MemoryMax="$bound"
until_holds 90 again "$before"
until_holds 90 executors_ready
wf_ended() { [ "$(deviceagentctl show wf_small -o json | jq -r .data.state)" = completed ]; }
until_holds 120 wf_ended
same 'tasks that the robot did twice' "$(jq -rs '[.[] | select(.kind == "motion_start") | .task_id] | group_by(.)[] | select(length > 1) | .[0]' "$robot_log")" ''

if [ -d /job/more/arm ]; then
  step '32-bit programs on this machine: a scenario in virtual time, and the agent of another robot'
  /job/more/arm/testbed run --only S01 /job/more/scenarios
  /job/more/arm/deviceagentd --version
  mkdir -p $tmp/arm
  systemd-run --quiet --unit=arm-agent -p Type=notify /job/more/arm/deviceagentd --config /dev/null --set device_id=rb-arm --set state_dir=$tmp/arm \
    --set run_dir=$tmp/arm --set executor.socket=$tmp/arm/executor.sock --set diag.read_socket=$tmp/arm/diag.sock --set diag.control_socket=$tmp/arm/control.sock \
    --set time.assume_synced=true
  systemd-run --quiet --unit=arm-robot -p StandardInput=null /job/more/arm/testbed robot --socket $tmp/arm/executor.sock --speed 20 --log $tmp/arm/robot.log
  arm_ready() { /job/more/arm/deviceagentctl --socket $tmp/arm/diag.sock executors -o json | jq -e '.data | length > 0 and all(.state == "ready")'; }
  until_holds 30 arm_ready
  printf '{"workflow":{"cloud_workflow_id":"wf_arm","plan_id":"pl_arm","revision":0},"device_task_requests":[{"cloud_step_id":"go","taskMethod":"setMoveTo","params":{"position":"주방"}}]}' |
    /job/more/arm/deviceagentctl --socket $tmp/arm/diag.sock submit --wait -
  same 'where it drove' "$(jq -rs '[.[] | select(.kind == "motion_start") | .room] | join(" ")' $tmp/arm/robot.log)" kitchen
fi
