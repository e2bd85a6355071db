package mosquitto

import (
	"net"
	"strconv"
	"testing"
)

// A port that the kernel may give to a client could be taken by one who waits for the broker.
func TestTheBrokersPortIsNoneThatClientsAreGiven(t *testing.T) {
	for range 50 {
		addr, err := Free()
		if err != nil {
			t.Fatal(err)
		}
		_, text, _ := net.SplitHostPort(addr)
		if port, _ := strconv.Atoi(text); port < lowPort || port >= 32_768 {
			t.Fatalf("port %s", text)
		}
	}
}
