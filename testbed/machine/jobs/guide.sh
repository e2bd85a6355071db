#!/bin/bash
# guide.sh: does what docs/integrating-a-robot.md says of a robot, command by command, on a fresh system. MORE has the page and the built
# example in C: make docs-robot.
. /job/lib.sh

step 'each command of the guide for a robot does what the page says'
/job/bin/testbed docs --on robot --bin /usr/bin /job/more/integrating-a-robot.md

step 'the agent has come back, and has the lamp'
until_holds 60 deviceagentctl executors --wait lamp --timeout 50s
same 'state of the service' "$(show deviceagent ActiveState)" active
