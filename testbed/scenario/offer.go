package scenario

import (
	"encoding/json"
	"fmt"
	"strings"
)

// offer is somebody who watches the home and would have something offered to its people.
func (h *house) offer(arg string) error {
	body, err := json.Marshal(map[string]any{"request": strings.Trim(arg, `"`)})
	if err != nil {
		return err
	}
	var a struct {
		Made   bool   `json:"made"`
		Reason string `json:"reason_code"`
		Reply  string `json:"tts_response"`
	}
	refused, err := h.cloud.call("POST", fmt.Sprintf("/v1/devices/%s/offers", deviceID), body, &a)
	switch {
	case err != nil:
		return err
	case refused != nil:
		h.note("refused", "offer %s", refused)
	case a.Made:
		h.note("turn", "offer made")
		h.note("reply", "%q", a.Reply)
	default:
		h.note("turn", "offer not made, %s", a.Reason)
	}
	return nil
}
