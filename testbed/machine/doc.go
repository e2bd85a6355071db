// Package machine judges power cuts of the test machine. QEMU writes down every write and flush of the disk that the agent's store lies on
// ([WriteLog]); a [Watch] outside writes down what was acknowledged, and how long the write log was then. For any place in the log a [Cut]
// makes the disk that a power cut there may leave: what was flushed is there, of what came later any set of sectors. The judge opens the
// store of that disk and holds it against what had been acknowledged, and lets the agent go on from it ([Aftermath]).
//
// It promises that a loss is found where there is one: told to take no flush for done ([Replay].IgnoreFlush) it must find some. It does not
// know firmware that lies about a flush, nor worn flash: those only hardware shows. The scripts beside it build and run the machines:
// docs/machines.md.
package machine
