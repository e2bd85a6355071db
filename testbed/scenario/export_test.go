package scenario

import "deviceagent/testbed/home"

// Repeated is how cuts are judged by the robot's log.
func (r *Runner) Repeated(base, log []home.Entry) (again, faults []string) {
	return r.repeated(base, log)
}
