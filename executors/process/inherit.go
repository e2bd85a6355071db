package process

import (
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// keepToOurselves marks every file that is open now as not to be inherited. What the agent opens itself is so from the start; what it
// was started with, such as the sockets that systemd hands over, is not.
func keepToOurselves() error {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return err
	}
	for _, e := range entries {
		if fd, err := strconv.Atoi(e.Name()); err == nil && fd > 2 {
			unix.CloseOnExec(fd)
		}
	}
	return nil
}
