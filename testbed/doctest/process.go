package doctest

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// children are the processes that a process has started and that have not been waited for.
func children(pid int) map[int]bool {
	out := map[int]bool{}
	lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid)) // the pattern is well formed
	for _, list := range lists {
		text, err := os.ReadFile(list)
		if err != nil {
			continue // the thread has ended
		}
		for _, word := range strings.Fields(string(text)) {
			if child, err := strconv.Atoi(word); err == nil {
				out[child] = true
			}
		}
	}
	return out
}

// marked are the processes with an entry in the environment that they were started with. A service that puts itself into the
// background leaves its group and its parent, but not its environment.
func marked(entry string) (pids []int) {
	lists, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, list := range lists {
		text, err := os.ReadFile(list)
		if err != nil || !bytes.Contains(append([]byte{0}, text...), append([]byte{0}, entry+"\x00"...)) {
			continue // ended, or another user's
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(list))); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

func signalAll(entry string, sig syscall.Signal) {
	for _, pid := range marked(entry) {
		_ = syscall.Kill(pid, sig) // it may have ended
	}
}
