// Package process runs programs as tasks: one process for each dispatch, without a shell, in a process group of its own. What a
// program says on its standard output, a JSON object a line, becomes events of its task; how it exits ends the task. It promises that
// a task is reported as ended only when its whole process group is gone, that no program speaks for the task of another, and that a
// stop of the agent leaves no program behind. It must not decide whether a task is done: an exit code is a claim. The form of the
// catalog entry and of the lines: docs/process-executor.md.
package process
