#!/bin/bash
# bus.sh: the agent on the real system bus, with the policy, the users and the groups that the packages install.
. /job/lib.sh
. /job/jobs/robot.sh

agent='org.deviceagent.Agent1 /org/deviceagent/Agent1 org.deviceagent.Agent1'
# as USER METHOD [ARGUMENT…]: calls the agent with the groups that the user has.
as() {
  local user=$1
  shift
  setpriv --reuid="$user" --regid="$user" --init-groups busctl --timeout=10 call $agent "$@" 2>&1
}
# refused USER METHOD…: the call is refused. busctl says of every refusal "Access denied": who refused is in the journal.
refused() {
  if as "$@" >$tmp/refused; then fail "$1 may call $2"; fi
  grep -q 'Access denied' $tmp/refused || fail "$1 is turned away from $2 for another reason: $(cat $tmp/refused)"
}
by_agent() { journalctl --no-pager -o cat -u deviceagent | grep -c 'call on the bus refused' || true; }
there() { busctl status org.deviceagent.Agent1; }
# may ANSWER: what MayRestart says, as "true" or "false".
may() { as hand MayRestart | grep -q "^ba(ss)t $1"; }

step 'the package installs, and the agent has its name on the system bus'
settings_first
install_debs
systemctl start deviceagent.service
until_holds 30 there
same 'the owner of the name' "$(busctl status org.deviceagent.Agent1 | sed -n 's/^UID=//p')" "$(id -u deviceagent)"
for user in stranger reader hand; do useradd --system --user-group "$user"; done
usermod -aG deviceagent-read reader
usermod -aG deviceagent-control hand
busctl call org.freedesktop.DBus / org.freedesktop.DBus ReloadConfig # the bus remembers who is in which group

step 'a stranger is refused by the bus, a reader looks, a third operates'
refused stranger Status
refused reader Hold ss pui test
same 'calls that the agent had to refuse' "$(by_agent)" 0
as reader Status | grep -q rb-machine
as hand Hold ss pui test | grep -q 'true .*pui:all'
as hand Release s pui | grep -q true

step 'nobody else takes the name'
if setpriv --reuid=hand --regid=hand --init-groups busctl call org.freedesktop.DBus / org.freedesktop.DBus RequestName su org.deviceagent.Agent1 0 >$tmp/name 2>&1; then
  fail 'a member of deviceagent-control may own the name'
fi

step 'where the policy of the bus is lax, the agent refuses by itself'
cat >/etc/dbus-1/system.d/lax.conf <<'XML'
<busconfig><policy context="mandatory"><allow send_destination="org.deviceagent.Agent1"/><allow receive_sender="org.deviceagent.Agent1"/></policy></busconfig>
XML
busctl call org.freedesktop.DBus / org.freedesktop.DBus ReloadConfig
refused stranger Status
refused reader Hold ss pui test
same 'calls that the agent had to refuse' "$(by_agent)" 2
rm /etc/dbus-1/system.d/lax.conf
busctl call org.freedesktop.DBus / org.freedesktop.DBus ReloadConfig

step 'a lease dies with its owner, and a restart is announced'
until_holds 60 may true # the time to settle
as hand Busy su 'a program that ends at once' 3600 | grep -q lease-
until_holds 30 may true
as hand PrepareRestart su update 300 | grep -q '^ba(ss)t true'
as reader Status | grep -q 'policy:all:restart'

step 'the restart comes, and its hold is gone'
systemctl restart deviceagent.service
until_holds 30 there
if as reader Status | grep -q 'policy:all:restart'; then fail 'the hold of the restart holds after it'; fi

step 'the bus restarts, and the agent is back on it without a restart of its own'
before=$(show deviceagent MainPID)
systemctl restart dbus.service
until_holds 90 there
same 'the process of the agent' "$(show deviceagent MainPID)" "$before"
as reader Status | grep -q rb-machine
refused stranger Status

step 'a program hands in a plan, and hears of its end'
start_robot
mover_ready() { deviceagentctl executors -o json | jq -e ".data | any(.service == \"mover\" and .state == \"ready\")"; }
until_holds 30 mover_ready
setpriv --reuid=reader --regid=reader --init-groups dbus-monitor --system "type='signal',interface='org.deviceagent.Agent1'" >$tmp/signals 2>&1 &
until_holds 30 grep -q NameAcquired $tmp/signals
plan='{"workflow":{"cloud_workflow_id":"wf_bus","plan_id":"pl_bus","revision":0},"device_task_requests":[{"cloud_step_id":"go","taskMethod":"setMoveTo","params":{"position":"거실"}}]}'
as hand Submit s "$plan" | grep -q 'true "wf_bus"'
completed() { tr -d '\n' <$tmp/signals | grep -q 'member=GoalChanged *string "wf_bus" *string "completed"'; }
until_holds 120 completed

step 'without polkit logind lets nobody but root keep the machine awake: one line says so'
journalctl --no-pager -o cat -u deviceagent | grep 'cannot keep the machine awake' >$tmp/asleep
same 'lines' "$(wc -l <$tmp/asleep)" 1
grep -q 'Permission denied' $tmp/asleep || fail "logind refuses for another reason: $(cat $tmp/asleep)"

# This machine has no polkit, so the agent is root here, as on devices without users.
step 'who may, holds the lock on sleep while the body moves, and no longer'
systemctl stop deviceagent.service
cat >/etc/dbus-1/system.d/root.conf <<'XML'
<busconfig><policy user="root"><allow own="org.deviceagent.Agent1"/><allow send_destination_prefix="org.deviceagent.testbed"/></policy></busconfig>
XML
busctl call org.freedesktop.DBus / org.freedesktop.DBus ReloadConfig
mkdir -p /run/systemd/system/deviceagent.service.d
printf '[Service]\nUser=root\nGroup=root\n' >/run/systemd/system/deviceagent.service.d/root.conf
systemctl daemon-reload
systemctl start deviceagent.service
until_holds 30 mover_ready
locks() { systemd-inhibit --list --no-pager --no-legend | grep DeviceAgent; }
if locks; then fail 'there is a lock before anything moves'; fi
plan='{"workflow":{"cloud_workflow_id":"wf_root","plan_id":"pl_root","revision":0},"device_task_requests":[
  {"cloud_step_id":"clean","taskMethod":"startBasicAirClear","params":{"mode":"all","duration_min":2},"required_effects":["air_cleaning_completed"]}]}'
as hand Submit s "$plan" | grep -q 'true "wf_root"'
until_holds 60 locks
locks | grep -q 'sleep .*block' || fail "the lock is $(locks)"
rests() { ! locks; }
until_holds 120 rests
same 'its end' "$(deviceagentctl show wf_root -o json | jq -r '.data.state // .data.workflow.state')" completed
step ''
