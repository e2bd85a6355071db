#!/bin/bash
# service.sh: the hardened service under real systemd: its doors, its sandbox, its permissions, and that it comes back from whatever
# ends or freezes it. The robot is on the executor socket.
. /job/lib.sh

pid() { show deviceagent MainPID; }
starts() { show deviceagent NRestarts; }
# more_than N: the service was started again since, and is ready.
more_than() { [ "$(starts)" -gt "$1" ] && [ "$(show deviceagent ActiveState)" = active ]; }
# limits LINE…: a drop-in with these lines, in force from the next start.
limits() {
  mkdir -p /run/systemd/system/deviceagent.service.d
  printf '[Service]\n' >/run/systemd/system/deviceagent.service.d/job.conf
  printf '%s\n' "$@" >>/run/systemd/system/deviceagent.service.d/job.conf
  systemctl daemon-reload
}
# as USER COMMAND…: with the groups that the user has.
as() {
  local user=$1
  shift
  setpriv --reuid="$user" --regid="$user" --init-groups "$@"
}
robot_log=/var/lib/body/robot.log
# robot USER [PROPERTY…]: the simulated robot as a service of this user.
robot() {
  local user=$1 p=()
  shift
  for one in "$@"; do p+=(-p "$one"); done
  systemctl stop robot.service 2>/dev/null || true
  systemctl reset-failed robot.service 2>/dev/null || true
  systemd-run --quiet --unit=robot -p User="$user" "${p[@]}" -p StateDirectory=body -p StandardInput=null \
    /usr/bin/testbed robot --speed 20 --log $robot_log
}
ready() { deviceagentctl executors -o json | jq -e '.data | tostring | test("ready")'; }
absent() { ! ready; }
did() { jq -rs --arg kind "$1" '[.[] | select(.kind == $kind) | .room] | join(" ")' $robot_log; }
state_of() { deviceagentctl show "$1" -o json | jq -r '.data.state // .data.workflow.state'; }
ended_as() { [ "$(state_of "$1")" = "$2" ]; }
# plan ID ROOM…: a plan that drives to these rooms, one after the other.
plan() {
  local id=$1 n=0 steps= after=
  shift
  for room in "$@"; do
    n=$((n + 1))
    steps="$steps${steps:+,}{\"cloud_step_id\":\"step_$n\",\"taskMethod\":\"setMoveTo\",\"params\":{\"position\":\"$room\"}$after}"
    after=",\"depends_on\":[\"step_$n\"]"
  done
  printf '{"workflow":{"cloud_workflow_id":"%s","plan_id":"p_%s","revision":0},"device_task_requests":[%s]}' "$id" "$id" "$steps"
}
submit() { plan "$@" | deviceagentctl submit -; }

step 'the package installs, and the agent is ready'
mkdir -p /etc/deviceagent/conf.d
conf=/etc/deviceagent/conf.d
echo 'device_id = "rb-machine"' >$conf/50-job.toml
printf '[time]\nassume_synced = true\n' >$conf/51-clock.toml
install_debs
systemctl start deviceagent.service
same 'state' "$(show deviceagent ActiveState)" active
same 'what systemctl status says' "$(show deviceagent StatusText)" 'takes work as rb-machine'
for unit in deviceagent.service deviceagent-{read,control,executor}.socket; do same "$unit" "$(systemctl is-enabled $unit)" enabled; done
same 'the state' "$(stat -c '%a %U' /var/lib/deviceagent)" '700 deviceagent'
for door in diag:read control:control executor:executor; do
  same "the door ${door%:*}" "$(stat -c '%a %U %G' "/run/deviceagent/${door%:*}.sock")" "660 root deviceagent-${door#*:}"
done
same 'failed units' "$(systemctl --failed --no-legend | grep -c deviceagent || true)" 0

step 'a line of the log has its priority'
same 'lines of the agent at information' "$(journalctl -u deviceagent -p info..info -o cat | grep -c '"agent ready"')" 1

step 'the sandbox holds in the running process'
systemd-analyze security --no-pager --threshold=20 deviceagent.service | tail -1
for want in 'NoNewPrivs:1' 'Seccomp:2' 'CapEff:0000000000000000' 'CapBnd:0000000000000000'; do
  same "${want%:*}" "$(awk -v k="${want%%:*}:" '$1 == k { print $2 }' "/proc/$(pid)/status")" "${want#*:}"
done
same 'the user it runs as' "$(stat -c %U "/proc/$(pid)")" deviceagent
[ "$(readlink "/proc/$(pid)/ns/mnt")" != "$(readlink /proc/1/ns/mnt)" ] || fail 'it sees the file system as everybody does'

step 'who may look, who may operate, who may do neither'
useradd --system looker -G deviceagent-read
useradd --system driver -G deviceagent-read,deviceagent-control
useradd --system stranger
as looker deviceagentctl status >/dev/null
as driver deviceagentctl pause --all --reason job
as driver deviceagentctl resume --all --reason job
if as looker deviceagentctl pause --all --reason job; then fail 'who may look may operate'; fi
if as stranger deviceagentctl status; then fail 'a stranger may look'; fi

step 'a robot registers, and a plan runs'
useradd --system body -G deviceagent-executor
robot body
until_holds 30 ready
plan wf_first 거실 | deviceagentctl submit --wait -
same 'where it drove' "$(did motion_start)" living_room

step 'who is not in the group of the executor socket does not come in'
robot stranger
until_holds 30 absent
until_holds 30 bash -c '! systemctl is-active robot.service || journalctl -u robot.service -o cat | grep -i "permission denied"'
systemctl stop robot.service

step 'a program registers only as the user of the catalog, and is told what to do'
mkdir -p /etc/deviceagent/catalog
cp -r /usr/share/deviceagent/catalog/. /etc/deviceagent/catalog/
# A machine under emulation needs longer for a start than a robot has for its evidence.
jq '.operations[] |= (.evidence_timeout_ms = 240000 | .ack_ms = 60000)' /usr/share/deviceagent/catalog/operations.json >$tmp/operations.json
jq '(.operations[] | select(.taskMethod == "setMoveTo") | .executor.socket) = {"user": "body"}' \
  $tmp/operations.json >/etc/deviceagent/catalog/operations.json
echo 'catalog_dir = "/etc/deviceagent/catalog"' >$conf/52-catalog.toml
systemctl restart deviceagent
useradd --system other -G deviceagent-executor
robot other
refused() { journalctl -u deviceagent -p warning..warning -o cat | grep 'the catalog wants user body'; }
until_holds 30 refused
absent || fail 'another user registered as the robot'
robot body
until_holds 30 ready

step 'a robot that stands still is not gone: it is waited for, and asked, and each movement is once'
: >$robot_log
systemctl kill --kill-whom=main --signal=STOP robot.service
submit wf_still 거실
sleep 2
ready || fail 'the robot counts as gone, and only stands still'
systemctl kill --kill-whom=main --signal=CONT robot.service
until_holds 90 ended_as wf_still completed
same 'where it drove' "$(did motion_start)" living_room

step 'SIGTERM in the middle of a plan, and a start: each movement once'
: >$robot_log
submit wf_term 안방 주방
until_holds 30 grep -q motion_start $robot_log
systemctl restart deviceagent
same 'how it ended' "$(show deviceagent Result)" success
until_holds 90 ended_as wf_term completed
same 'where it drove' "$(did motion_start)" 'master_bedroom kitchen'

step 'kill -9 in the middle of a plan, as the kernel does without memory: it is back, and each movement once'
: >$robot_log
before=$(starts)
submit wf_kill 거실 안방
until_holds 30 grep -q motion_start $robot_log
systemctl kill --kill-whom=main --signal=KILL deviceagent
until_holds 30 more_than "$before"
until_holds 90 ended_as wf_kill completed
same 'where it drove' "$(did motion_start)" 'living_room master_bedroom'

step 'a crash of the program is no bad setting: it is started again'
before=$(starts)
systemctl kill --kill-whom=main --signal=ABRT deviceagent
until_holds 40 more_than "$before"

step 'the watchdog ends an agent that stands still, and it comes back'
limits WatchdogSec=10 TimeoutAbortSec=3
systemctl restart deviceagent
before=$(starts)
systemctl kill --kill-whom=main --signal=STOP deviceagent
until_holds 60 more_than "$before"
journalctl -u deviceagent -b --no-pager | grep 'Watchdog timeout' >/dev/null || fail 'it came back for another reason'

step 'a frozen journal stops nothing'
printf '[log]\nlevel = "debug"\n' >$conf/53-log.toml
systemctl restart deviceagent # still WatchdogSec=10
until_holds 30 ready
was=$(pid) before=$(starts)
systemctl kill --kill-whom=main --signal=STOP systemd-journald
for ((i = 0; i < 200; i++)); do printf 'not a frame' | timeout 5 socat -u - UNIX-CONNECT:/run/deviceagent/executor.sock 2>/dev/null || true; done
plan wf_frozen 거실 | timeout 60 deviceagentctl submit --wait -
sleep 12 # longer than the watchdog waits; that lines are dropped when the pipe is full a test of the program shows
systemctl kill --kill-whom=main --signal=CONT systemd-journald
same 'the process' "$(pid)" "$was"
same 'restarts' "$(starts)" "$before"
rm $conf/53-log.toml

step 'without a free file descriptor it lives, and takes guests again later'
limits LimitNOFILE=48 WatchdogSec=10
systemctl restart deviceagent
was=$(pid) before=$(starts)
guests=()
for ((i = 0; i < 60; i++)); do
  socat -u UNIX-CONNECT:/run/deviceagent/executor.sock,forever=0 STDOUT >/dev/null 2>&1 &
  guests+=($!)
  socat -u UNIX-CONNECT:/run/deviceagent/diag.sock STDOUT >/dev/null 2>&1 &
  guests+=($!)
done
until_holds 10 bash -c "[ \$(ls /proc/$was/fd | wc -l) -ge 40 ]"
sleep 14 # longer than the watchdog waits
kill "${guests[@]}" 2>/dev/null || true
until_holds 30 deviceagentctl status
same 'the process' "$(pid)" "$was"
same 'restarts' "$(starts)" "$before"
until_holds 60 ready

step 'a program of a process executor runs in the sandbox'
jq '(.operations[] | select(.taskMethod == "setScreen") | .executor) = {"kind": "process", "name": "toucher", "process": {"argv": ["/usr/bin/touch", "/var/lib/deviceagent/ran", "/var/tmp/ran"]}}' \
  $tmp/operations.json >/etc/deviceagent/catalog/operations.json
systemctl restart deviceagent
echo '{"workflow":{"cloud_workflow_id":"wf_touch","plan_id":"p","revision":0},"device_task_requests":[{"cloud_step_id":"s","taskMethod":"setScreen","params":{"on":true}}]}' | deviceagentctl submit -
until_holds 30 test -e /var/lib/deviceagent/ran
same 'whose file it made' "$(stat -c %U /var/lib/deviceagent/ran)" deviceagent
[ ! -e /var/tmp/ran ] || fail 'it wrote into the /var/tmp of everybody'

step 'memory is bounded, and a program that eats it ends alone'
limits MemoryMax=96M Environment=GOMEMLIMIT=64MiB
jq '(.operations[] | select(.taskMethod == "setScreen") | .executor) = {"kind": "process", "name": "eater", "process": {"argv": ["/usr/bin/tail", "/dev/zero"]}}' \
  $tmp/operations.json >/etc/deviceagent/catalog/operations.json
systemctl restart deviceagent
was=$(pid)
group=/sys/fs/cgroup$(show deviceagent ControlGroup)
if [ -e "$group/memory.max" ]; then
  same 'the bound' "$(cat "$group/memory.max")" 100663296
  echo '{"workflow":{"cloud_workflow_id":"wf_eat","plan_id":"p","revision":0},"device_task_requests":[{"cloud_step_id":"s","taskMethod":"setScreen","params":{"on":true}}]}' | deviceagentctl submit -
  until_holds 60 grep -q 'oom_kill [1-9]' "$group/memory.events"
  same 'the process' "$(pid)" "$was"
  deviceagentctl status >/dev/null
else
  [ "$MACHINE" = container ] || fail 'a machine without the memory controller: nothing was bounded'
  echo 'no memory controller in this container: the machine job of the VM tries it'
fi
jq . $tmp/operations.json >/etc/deviceagent/catalog/operations.json
rm -r /run/systemd/system/deviceagent.service.d
systemctl daemon-reload

step 'whether the clock is right is known in the sandbox, by the mark of the time service'
rm $conf/51-clock.toml
systemctl restart deviceagent
trusted() { deviceagentctl status -o json | jq -e 'any(.. | objects; .clockTrusted == true)'; }
if trusted; then fail 'the clock is trusted, and nobody has said that it is right'; fi
mkdir -p /run/systemd/timesync
touch /run/systemd/timesync/synchronized
until_holds 20 trusted
rm /run/systemd/timesync/synchronized

step 'another time service than that of systemd: a drop-in lets the agent ask the kernel'
probe() { # LINE…: asks the kernel for its clock in the sandbox of the service, with these lines behind it
  sed -e 's|^ExecStart=.*|ExecStart=/bin/busybox adjtimex|; s/^Type=.*/Type=oneshot/' \
    -e '/^\(Requires\|After\|WatchdogSec\|Restart\|RestartSec\|RestartPreventExitStatus\|NotifyAccess\)=/d' /lib/systemd/system/deviceagent.service >/run/systemd/system/probe.service
  printf '[Service]\n' >>/run/systemd/system/probe.service
  printf '%s\n' "$@" >>/run/systemd/system/probe.service
  systemctl daemon-reload
  systemctl start probe.service
}
if ! busybox adjtimex >/dev/null; then # systemd-nspawn lets nobody in a container ask
  [ "$MACHINE" = container ] || fail 'nobody may ask the kernel of this machine'
  echo 'not in a container: the machine job of the VM tries it'
else
  if probe; then fail 'the sandbox lets the agent ask the kernel as it is: docs/operations.md says something else'; fi
  journalctl -u probe.service -o cat | grep -i 'not permitted' >/dev/null || fail 'it is refused for another reason'
  probe ProtectClock=no 'SystemCallFilter=adjtimex clock_adjtime' # the agent makes the first, C programs the second
  systemctl reset-failed probe.service 2>/dev/null || true
fi

step 'a credential reaches the agent'
mkdir -p -m 700 /etc/credstore
(umask 077; printf 'secret of the job' >/etc/credstore/deviceagent.broker-password)
systemctl restart deviceagent
same 'the credential, for the agent' "$(as deviceagent cat /run/credentials/deviceagent.service/deviceagent.broker-password)" 'secret of the job'
if as stranger cat /run/credentials/deviceagent.service/deviceagent.broker-password; then fail 'a stranger reads it'; fi

step 'a stop is a stop, whoever knocks; and a socket alone starts the agent'
systemctl stop deviceagent
if deviceagentctl status; then fail 'it was stopped, and answers'; fi
sleep 2 # the robot knocks too
same 'state' "$(show deviceagent ActiveState)" inactive
systemctl start deviceagent-read.socket
same 'state' "$(show deviceagent ActiveState)" inactive
timeout 60 deviceagentctl status >/dev/null
same 'state' "$(show deviceagent ActiveState)" active
until_holds 60 ready

step 'a typo in the settings: systemctl status shows the line, and it rests'
printf '[broker]\nkeepalife = "30s"\n' >$conf/60-typo.toml
systemctl restart deviceagent && fail 'it started with a typo'
same 'exit code' "$(show deviceagent ExecMainStatus)" 2
systemctl status --no-pager deviceagent >$tmp/status || true
grep -E "Status: .*$conf/60-typo.toml:2: .*keepalife" $tmp/status || { cat $tmp/status; fail 'systemctl status does not show the line'; }
before=$(starts)
for ((i = 0; i < 20; i++)); do timeout 3 deviceagentctl status >/dev/null 2>&1 || true; sleep 0.3; done # who knocks, would start it
[ "$(journalctl -u deviceagent -o cat | grep -c 'keepalife')" -le 12 ] || fail 'it is started without end'
same 'restarts' "$(starts)" "$before"
rm $conf/60-typo.toml
systemctl restart deviceagent
for unit in deviceagent.service deviceagent-{read,control,executor}.socket; do same "$unit" "$(systemctl is-active $unit)" active; done

step 'root begins an identity; who operates renews it, by the agent in its sandbox; who looks does neither'
cd $tmp
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 30 -subj /CN=maker -keyout ca.key -out ca.pem 2>/dev/null
printf 'extendedKeyUsage=clientAuth\n' >client.ext
sign() { openssl x509 -req -in "$1" -CA ca.pem -CAkey ca.key -CAcreateserial -days 30 -extfile client.ext 2>/dev/null; }
deviceagentctl provision --device-id rb-machine --broker mqtts://127.0.0.1:8883 --ca ca.pem --out request.pem
sign request.pem | deviceagentctl provision --certificate -
same 'the pair' "$(stat -L -c '%a %U' /var/lib/deviceagent/identity/current/device.pem)" '600 deviceagent'
systemctl restart deviceagent
same 'the broker in force' "$(deviceagentctl config show -o json | jq -r '.data[] | select(.key == "broker.url") | .origin')" /var/lib/deviceagent/identity/current/agent.toml:5
serial() { as looker deviceagentctl provision --show -o json | jq -r .data.certificate.serial; }
before=$(serial)
if as looker deviceagentctl provision --renew; then fail 'who may look renews'; fi
if as driver deviceagentctl provision --device-id rb-machine --broker mqtts://elsewhere --force; then fail 'who may operate says whom the robot obeys'; fi
as driver deviceagentctl provision --renew >renewal.pem
sign renewal.pem | as driver deviceagentctl provision --certificate -
[ "$(serial)" != "$before" ] || fail 'the certificate is the old one'
same 'the new pair' "$(stat -L -c '%a %U' /var/lib/deviceagent/identity/current/device.pem)" '600 deviceagent'

step 'a factory reset by who operates: systemd starts the agent anew, and nothing is left'
epoch() { deviceagentctl status -o json | jq -r .data.store.epoch; }
before=$(epoch)
n=$(starts)
if as looker deviceagentctl factory-reset --yes; then fail 'who may look resets'; fi
as driver deviceagentctl factory-reset --yes --reason sold
until_holds 60 more_than "$n"
[ "$(epoch)" != "$before" ] || fail 'the store is the old one'
[ ! -e /var/lib/deviceagent/factory-reset ] || fail 'the wish is still there'
if grep -rl 'PRIVATE KEY' /var/lib/deviceagent; then fail 'a key is left'; fi

step 'and with the agent dead, by root'
systemctl stop deviceagent
: >/var/lib/deviceagent/agent.db.damaged-1
deviceagentctl factory-reset --yes
[ ! -e /var/lib/deviceagent/agent.db ] && [ ! -e /var/lib/deviceagent/agent.db.damaged-1 ] || fail 'something is left'
systemctl start deviceagent
same 'state' "$(show deviceagent ActiveState)" active
