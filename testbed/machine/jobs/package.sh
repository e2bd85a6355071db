#!/bin/bash
# package.sh: the life of the package deviceagent on a robot: installed, upgraded from the version before with a plan under way, taken
# back, removed, purged. Then what the scripts of the other formats do, with systemd and without.
# It needs in MORE=folder what `make package` leaves in dist/previous: deviceagent_0.0.9_amd64.deb, the same program with a lower number;
# deviceagent_99.0.0_amd64.deb, one whose store has the schema of a later version; scripts/FORMAT/HOOK.
. /job/lib.sh
. /job/jobs/robot.sh
new=$(ls /job/debs/deviceagent_*_amd64.deb)
old=$(ls /job/more/deviceagent_0.0.9_*.deb)
later=$(ls /job/more/deviceagent_99.0.0_*.deb)
version_of() { dpkg-deb -f "$1" Version; }
units='deviceagent.service deviceagent-read.socket deviceagent-control.socket deviceagent-executor.socket'
state() { systemctl is-active deviceagent.service || true; }
enabled() { systemctl is-enabled "$1" 2>&1 || true; }
told() { cat $tmp/dpkg; }
install() { dpkg --force-confdef --force-confold -i "$@" 2>&1 | tee $tmp/dpkg; } # as image builders and unattended upgrades do
plan_state() { deviceagentctl show wf_upgrade -o json | jq -r '.data.state'; }
plan_is() { [ "$(plan_state)" = "$1" ]; }
start_no() { deviceagentctl status -o json | jq -r '.data.start_no'; }

step 'installed without a device_id it waits, says what is missing, and is not started over and over'
# The older package has another text in the file of settings, so that dpkg has to choose later.
dpkg-deb -R "$old" $tmp/old
sed -i '1i # As the version before had it.' $tmp/old/etc/deviceagent/agent.toml
dpkg-deb -Znone --root-owner-group -b $tmp/old $tmp/old.deb >/dev/null
install $tmp/old.deb
grep -q 'device_id' $tmp/dpkg || fail "the installation does not say what is missing: $(told)"
grep -q 'set device_id in /etc/deviceagent/agent.toml, then: systemctl start deviceagent' $tmp/dpkg || fail "it does not say what to do: $(told)"
for u in $units; do same "$u" "$(enabled $u)" enabled; done
same 'the service' "$(state)" inactive
id deviceagent
for g in deviceagent-read deviceagent-control deviceagent-executor; do getent group $g; done
systemctl start deviceagent.service && fail 'it started without an id'
until_holds 30 systemctl is-failed deviceagent.service
same 'restarts' "$(show deviceagent NRestarts)" 0
line_shown() { systemctl --no-pager status deviceagent.service >$tmp/status; grep device_id $tmp/status; }
until_holds 20 line_shown

step 'with its device_id it starts, and takes a plan that has to wait for the robot'
mkdir -p /etc/deviceagent/conf.d
/job/bin/testbed robot --write-catalog /etc/deviceagent/catalog # its operations are on the bus
sed -i 's/^#device_id = ""/device_id = "rb-package"/; s|^#catalog_dir = ""|catalog_dir = "/etc/deviceagent/catalog"|' /etc/deviceagent/agent.toml
printf '[time]\nassume_synced = true\n' >/etc/deviceagent/conf.d/50-mine.toml
chmod 0644 /etc/deviceagent/conf.d/50-mine.toml
systemctl reset-failed
systemctl start deviceagent.service
same 'the service' "$(state)" active
# The robot was there once: to a new store the agent has its body stopped at first sight, which is not what is tried here.
dpkg -i /job/debs/deviceagent-testbed_*_amd64.deb
start_robot
until_holds 60 executors_ready
stopped_once() { journalctl -o cat -u testbed-robot.service >$tmp/journal; grep 'is told to stop' $tmp/journal; }
until_holds 60 stopped_once
systemctl stop testbed-robot.service
gone() { ! executors_ready; }
until_holds 60 gone
cat >$tmp/plan.json <<'P'
{"workflow":{"cloud_workflow_id":"wf_upgrade","plan_id":"pl_1","revision":0,"origin":{"turn_id":"tn_1","utterance":"거실로 가"}},
 "device_task_requests":[{"cloud_step_id":"step_1","taskMethod":"setMoveTo","params":{"position":"거실"}}]}
P
deviceagentctl submit $tmp/plan.json
deviceagentctl ps
was=$(plan_state)
before=$(start_no)

step 'the upgrade keeps the settings and the open plan, and restarts the agent'
pid=$(show deviceagent MainPID)
cp /etc/deviceagent/agent.toml $tmp/mine
install "$new"
until_holds 60 systemctl is-active deviceagent.service
[ "$(show deviceagent MainPID)" != "$pid" ] || fail 'the old program still runs'
cmp $tmp/mine /etc/deviceagent/agent.toml || fail 'the settings are not those of the user'
[ -e /etc/deviceagent/agent.toml.dpkg-dist ] || fail "the package's own settings are not beside the user's"
[ -e /etc/deviceagent/conf.d/50-mine.toml ] || fail "the user's own file is gone"
same 'the version that runs' "$(deviceagentctl version -o json | jq -r '.data.agent.version')" "$(version_of "$new")"
same 'the version of the tool' "$(deviceagentctl version -o json | jq -r '.data.deviceagentctl')" "$(version_of "$new")"
same 'the open plan' "$(plan_state)" "$was"
same 'the number of the start' "$(start_no)" $((before + 1))
same 'restarts by systemd' "$(show deviceagent NRestarts)" 0

step 'the robot comes, and the plan of before the upgrade is carried out'
systemctl start testbed-robot.service
until_holds 120 plan_is completed
same 'where it drove' "$(robot_did motion_start)" living_room

step 'an upgrade leaves stopped what was stopped, and disabled what was disabled'
systemctl stop deviceagent.service
systemctl disable deviceagent.service
install "$new"
same 'the service' "$(state)" inactive
same 'the service' "$(enabled deviceagent.service)" disabled
systemctl enable --now deviceagent.service
same 'the service' "$(state)" active

step 'back from a version with a newer store: refused in words, and nothing is lost'
install "$later"
until_holds 60 systemctl is-active deviceagent.service
sed 's/wf_upgrade/wf_later/; s/거실/안방/g; s/pl_1/pl_2/; s/tn_1/tn_2/' $tmp/plan.json >$tmp/plan2.json
deviceagentctl submit $tmp/plan2.json --wait --timeout 120s
systemctl stop deviceagent.service # which puts all of the log into the file
cp /var/lib/deviceagent/agent.db $tmp/later.db
install "$new"
systemctl start --no-block deviceagent.service
refused() { journalctl -o cat -u deviceagent.service -n 50 >$tmp/journal; grep 'store was written by a newer version' $tmp/journal; }
until_holds 60 refused
[ "$(state)" != active ] || fail 'the older program runs on the newer store'
systemctl stop deviceagent.service
cmp $tmp/later.db /var/lib/deviceagent/agent.db || fail 'the older program has touched the store'
install "$later"
systemctl start deviceagent.service
same 'the plan' "$(plan_state)" completed
same 'the later plan' "$(deviceagentctl show wf_later -o json | jq -r .data.state)" completed

step 'removed, it has stopped and keeps settings and state; installed again it goes on'
dpkg -r deviceagent
same 'the service' "$(state)" inactive
[ ! -e /usr/bin/deviceagentd ] || fail 'the program is still there'
[ ! -S /run/deviceagent/diag.sock ] || fail 'a door is still open'
cmp $tmp/mine /etc/deviceagent/agent.toml
[ -e /var/lib/deviceagent/agent.db ] || fail 'the state is gone'
install "$later"
same 'the service' "$(state)" active
same 'the plan' "$(plan_state)" completed

step 'purged, it leaves its user and groups, and nothing else'
systemctl disable --now testbed-robot.service
rm /usr/share/dbus-1/system.d/org.deviceagent.testbed.conf # the robot's, not ours
dpkg -P deviceagent deviceagent-testbed
left() { find / -xdev \( -path /proc -o -path /sys -o -path /job -o -path /var/log -o -path "$tmp" \) -prune -o -iname '*deviceagent*' -print || true; }
same 'what is left' "$(left | sort | paste -sd' ')" ''
getent passwd deviceagent
same 'units' "$(systemctl list-unit-files --no-legend 'deviceagent*')" ''
same 'failed units' "$(systemctl list-units --failed --no-legend --plain 'deviceagent*')" ''

step 'the scripts of rpm, with systemd'
dpkg -x "$new" /
sh /job/more/scripts/rpm/preinstall 1
sh /job/more/scripts/rpm/postinstall 1 | tee $tmp/first
grep -q 'set device_id' $tmp/first || fail 'it does not say what to do'
for u in $units; do same "$u" "$(enabled $u)" enabled; done
printf 'device_id = "rb-rpm"\n' >/etc/deviceagent/conf.d/50-mine.toml
chmod 0644 /etc/deviceagent/conf.d/50-mine.toml
systemctl start deviceagent.service
pid=$(show deviceagent MainPID)
sh /job/more/scripts/rpm/postinstall 2
sh /job/more/scripts/rpm/preremove 1
sh /job/more/scripts/rpm/postremove 1
same 'the service after the upgrade' "$(state)" active
[ "$(show deviceagent MainPID)" != "$pid" ] || fail 'the old program still runs'
sh /job/more/scripts/rpm/preremove 0
same 'the service' "$(state)" inactive
same 'the service' "$(enabled deviceagent.service)" disabled
dpkg-deb --fsys-tarfile "$new" | tar -t | grep -v '/$' | sed 's|^\.||' | xargs rm -f
sh /job/more/scripts/rpm/postremove 0
[ -e /var/lib/deviceagent/agent.db ] || fail 'a removal of the rpm takes the state'

# bare FORMAT [PROGRAM…]: a system of busybox alone, and these programs with their libraries, in which the files of the package are.
bare() {
  root=$tmp/$1
  mkdir -p "$root"/{bin,etc,run,tmp,var,proc,dev}
  cp "$(command -v busybox)" "$root/bin/"
  for a in sh grep mkdir chmod chown rm head cat; do ln -s busybox "$root/bin/$a"; done
  printf 'root:x:0:0:root:/:/bin/sh\n' >"$root/etc/passwd"
  printf 'root:x:0:\n' >"$root/etc/group"
  : >"$root/etc/shadow"
  : >"$root/etc/gshadow"
  : >"$root/dev/null"
  for p in "${@:2}"; do
    for f in "$(command -v "$p")" $(ldd "$(command -v "$p")" | grep -o '/[^ ]*'); do
      mkdir -p "$root$(dirname "$f")"
      cp -n "$f" "$root$f"
    done
  done
  dpkg -x "$new" "$root"
  cp -r "/job/more/scripts/$1" "$root/scripts"
}
hook() { chroot "$root" /bin/sh "/scripts/$1" "${@:2}" 2>&1 | tee $tmp/hook; }
user_made() {
  grep -q '^deviceagent:' "$root/etc/passwd" || fail 'no user'
  for g in deviceagent deviceagent-read deviceagent-control deviceagent-executor; do grep -q "^$g:" "$root/etc/group" || fail "no group $g"; done
  same 'owner of the state' "$(stat -c '%u %a' "$root/var/lib/deviceagent")" "$(sed -n 's/^deviceagent:[^:]*:\([0-9]*\):.*/\1/p' "$root/etc/passwd") 700"
}

step 'the scripts of apk and rpm without systemd'
bare apk groupadd useradd
hook preinstall 0.1.0
hook postinstall 0.1.0
grep -q 'set device_id' $tmp/hook || fail 'it does not say what to do'
user_made
hook postinstall 0.2.0 0.1.0
hook preremove 0.2.0
hook postremove 0.2.0
bare rpm groupadd useradd
hook postinstall 1
user_made
hook postinstall 2
hook preremove 0
hook postremove 0
[ -d "$root/var/lib/deviceagent" ] || fail 'a removal takes the state'

step 'the scripts of ipk where nothing can make a user: they say so, and do not fail'
bare ipk
hook preinstall install
hook postinstall configure
grep -q 'cannot make the user deviceagent: make it by hand' $tmp/hook || fail 'it does not say what is to be done by hand'
[ ! -e "$root/run/deviceagent.installing" ] || fail 'a mark is left'
hook preremove upgrade 0.2.0
hook postinstall configure
hook preremove remove
hook postremove remove

step 'nothing has failed on the machine'
same 'failed units' "$(systemctl list-units --failed --no-legend --plain)" ''
