package agent

import (
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"strings"
)

// serials are where a machine keeps a number of its own, below /. A machine-id will not do: where the root file system cannot be written it
// is another one at each boot, and a copied disk carries that of its original.
var serials = []string{"sys/firmware/devicetree/base/serial-number", "sys/class/dmi/id/product_uuid", "sys/class/dmi/id/board_serial"}

// minSerial is the shortest text that counts as a number of one machine. Source: serial numbers of boards have eight characters at least;
// what is shorter, or of one character only, is a maker's placeholder.
const minSerial = 8

// Machine marks this hardware, so that a store on a copied disk is found out; "": it has no number that can be read, and a copy is not seen.
// root is the root of the file system.
func Machine(root fs.FS) string {
	for _, name := range serials {
		b, err := fs.ReadFile(root, name)
		text := strings.ToLower(strings.Trim(string(b), " \t\r\n\x00"))
		if err != nil || len(text) < minSerial || placeholder(text) {
			continue
		}
		sum := sha256.Sum256([]byte(text))
		return hex.EncodeToString(sum[:8])
	}
	return ""
}

func placeholder(text string) bool {
	bare := strings.NewReplacer("-", "", "0", "", "f", "", "x", "", ".", "").Replace(text)
	return bare == "" || strings.Contains(text, "o.e.m") || strings.Contains(text, "default") || strings.Contains(text, "serial") || strings.Contains(text, "not specified")
}
