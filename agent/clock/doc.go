// Package clock tells the agent the time: boot time, which counts suspend and never jumps; wall time, with whether it is trusted;
// and timers on boot time. It decides nothing and stores nothing. It promises that a timer is never early and that after a
// suspend it fires at once if its moment has passed, and it tells of each jump of the wall clock. Its types satisfy the Clock that taskmanager declares.
//
// Timers use the kernel's timerfd on CLOCK_BOOTTIME. Go's own timers run on CLOCK_MONOTONIC, which stands still in suspend: a
// delay of ten minutes would last eight hours and ten minutes if the robot slept for eight. Checking a Go timer against boot time
// again and again would repair that, but wakes an idle processor for ever; the timerfd costs nothing until it fires. Where the
// kernel gives no timerfd (no file descriptors left), that repeated check is what a timer falls back to.
package clock
