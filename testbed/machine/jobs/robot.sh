# shellcheck shell=bash
# robot.sh: the simulated robot as a firmware team would add its own to the machine: a user, a service, a policy of the bus, and a catalog
# that binds every operation to it. Sourced after lib.sh.

robot_log=/var/lib/testbed-robot/robot.log

# settings_first: what a factory puts there before the package, so that the agent's first start has it.
settings_first() {
  mkdir -p /etc/deviceagent/conf.d
  cp /job/files/agent.toml /etc/deviceagent/conf.d/50-machine.toml
  chmod 0644 /etc/deviceagent/conf.d/50-machine.toml
  /job/bin/testbed robot --write-catalog /etc/deviceagent/catalog
}

# start_robot: after the packages, as its policy names the agent's user.
start_robot() {
  cp /job/files/testbed-robot.sysusers /usr/lib/sysusers.d/testbed-robot.conf
  systemd-sysusers testbed-robot.conf
  cp /job/files/org.deviceagent.testbed.conf /usr/share/dbus-1/system.d/
  cp /job/files/testbed-robot.service /etc/systemd/system/
  systemctl daemon-reload
  busctl call org.freedesktop.DBus / org.freedesktop.DBus ReloadConfig
  systemctl enable --now testbed-robot.service
}

# robot_did KIND: the rooms of these entries of the robot's own log, in order.
robot_did() { jq -rs --arg kind "$1" '[.[] | select(.kind == $kind) | .room] | join(" ")' "$robot_log"; }

# executors_ready: the agent has found all of the robot's services.
executors_ready() { deviceagentctl executors -o json | jq -e '.data | length > 0 and all(.state == "ready" and .missing_methods == [])'; }
