#!/bin/bash
# plan.sh: the packages are installed on a fresh system; a sentence becomes a plan that crosses a real broker, runs on a robot on the real system
# bus, and ends as it should, by the robot's own log.
. /job/lib.sh
. /job/jobs/robot.sh

step 'the packages install, and the agent is ready'
settings_first
install_debs
systemctl start deviceagent.service # Type=notify: it is there when the agent says READY=1
same 'state of the service' "$(show deviceagent ActiveState)" active
same 'restarts of the service' "$(show deviceagent NRestarts)" 0

step 'a robot on the system bus, whose policy lets the agent alone call it'
start_robot
until_holds 30 executors_ready
if setpriv --reuid=nobody --regid=nogroup --clear-groups busctl --timeout=5 introspect org.deviceagent.testbed.Mover /org/deviceagent/testbed/Mover >$tmp/stranger 2>&1; then
  fail 'a stranger may call the robot'
fi
grep -qiE 'denied|rejected' $tmp/stranger || fail "a stranger is turned away for another reason: $(cat $tmp/stranger)"

step 'a planner reaches it through the broker'
mosquitto_sub -h 127.0.0.1 -t 'deviceagent/v1/#' -F '%t' >/job/out/publishes &
systemd-run --quiet --unit=planner --working-directory=/run /job/bin/plannerd --broker mqtt://127.0.0.1:1883 --listen 127.0.0.1:8088 --db /run/planner.db
post() { busybox wget -q -O - --header 'Content-Type: application/json' --post-data "$2" "http://127.0.0.1:8088$1"; }
get() { busybox wget -q -O - "http://127.0.0.1:8088$1"; }
online() { get /v1/devices/rb-machine | jq -e '.link == "online"'; }
until_holds 60 online

step 'the plan runs to its end: 거실로 가서 청정하고 안방으로 가'
post /v1/turns '{"device_id":"rb-machine","recognized_text":"거실로 가서 1분 청정하고 안방으로 가"}' | tee $tmp/turn
workflow=$(jq -r '.. | .workflow_id? // empty' $tmp/turn | head -1)
ended() { get "/v1/workflows/$workflow" | tee $tmp/workflow | jq -e '.status | . != null and . != ""'; }
until_holds 120 ended
same 'its end, as the planner has it' "$(jq -r .status $tmp/workflow)" completed
same 'its end, as the agent has it' "$(deviceagentctl show "$workflow" -o json | jq -r '.data.state // .data.workflow.state')" completed

step 'the robot did it, each thing once'
cp "$robot_log" /job/out/robot.log
same 'where it drove' "$(robot_did motion_start)" 'living_room master_bedroom'
same 'where it cleaned' "$(robot_did cleaning_start)" 'living_room'
same 'publishes up of the plan, by an outside subscriber' "$(grep -cE '/up/(ack|result)$' /job/out/publishes)" 2
