package planner

import (
	"strings"

	"deviceagent/bridge/wire"
)

// Topics. Source: docs/contract.md, section 1.
const (
	topicPrefix = "deviceagent/v1/"
	upFilter    = topicPrefix + "+/up/#"
)

func downTopic(device string, t wire.Type) string { return topicPrefix + device + "/down/" + string(t) }

// parseUp splits "deviceagent/v1/{device_id}/up/{type}". The broker's access list is what makes the device id believable.
func parseUp(topic string) (device, kind string, ok bool) {
	rest, ok := strings.CutPrefix(topic, topicPrefix)
	if !ok {
		return "", "", false
	}
	device, kind, ok = strings.Cut(rest, "/up/")
	return device, kind, ok && validID(device) && kind != "" && !strings.Contains(kind, "/")
}

// validID says whether text is an id of the contract: 1 to 128 characters of A-Z a-z 0-9 . _ : - (and @, in ids that a device made).
func validID(text string) bool {
	if text == "" || len(text) > 128 {
		return false
	}
	return strings.IndexFunc(text, func(r rune) bool {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', strings.ContainsRune("._:-@", r):
			return false
		}
		return true
	}) < 0
}
