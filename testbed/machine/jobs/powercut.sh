#!/bin/bash
# powercut.sh: the agent at work on a disk whose every write is written down outside, until somebody pulls the plug: this job never ends by
# itself. What is acknowledged leaves by two ports at once: "accepted ID" and "ended ID" by ack, the robot's own log by robot.
. /job/lib.sh
. /job/jobs/robot.sh
ack=/dev/virtio-ports/ack

step 'the agent is ready, its state on a disk of its own'
until_holds 30 test -b /dev/disk/by-label/STATE
mkdir -p /var/lib/deviceagent
mount /dev/disk/by-label/STATE /var/lib/deviceagent
settings_first
install_debs
systemctl start deviceagent.service
mountpoint /var/lib/deviceagent
sed -i 's/--speed 20/--speed 60/' /job/files/testbed-robot.service
start_robot
until_holds 60 executors_ready
tail -n +1 -F $robot_log >/dev/virtio-ports/robot 2>/dev/null &

step 'plans are handed in and run, until the power goes'
rooms=(거실 주방 안방)
for ((n = 1; n <= 200; n++)); do
  here=${rooms[n % 3]}
  printf '{"workflow":{"cloud_workflow_id":"wf_%d","plan_id":"pl_%d","revision":0},"device_task_requests":[
    {"cloud_step_id":"go","taskMethod":"setMoveTo","params":{"position":"%s"}},
    {"cloud_step_id":"clean","taskMethod":"startBasicAirClear","params":{"duration_min":1},"required_effects":["air_cleaning_completed"],"depends_on":["go"]}]}' \
    $n $n "$here" >$tmp/plan.json
  deviceagentctl submit $tmp/plan.json
  echo "accepted wf_$n" >$ack
  # One plan waits while the other runs, so that a cut finds both.
  if [ $n -gt 1 ]; then
    deviceagentctl wait "wf_$((n - 1))" --timeout 5m
    echo "ended wf_$((n - 1))" >$ack
  fi
done
