package broker

import (
	"reflect"
	"time"

	mochi "github.com/mochi-mqtt/server/v2"
)

// silence stops the broker library's house-keeping tickers. They fire each second for ever: in a bubble that is 2 s of real time
// for a virtual day, 2 minutes for the sixty days of a long outage. What they do (expire sessions and retained messages by the
// clock, delay MQTT 5 wills) is not wanted here. The library has no setting for it, so its private fields are looked up by name;
// a field that is gone stops the test with its name.
func silence(s *mochi.Server) {
	loop := reflect.ValueOf(s).Elem().FieldByName("loop").Elem()
	for _, name := range []string{"sysTopics", "clientExpiry", "inflightExpiry", "retainedExpiry", "willDelaySend"} {
		field := loop.FieldByName(name)
		if !field.IsValid() || field.Type() != reflect.TypeFor[*time.Ticker]() {
			panic("internal error: the broker library has no ticker " + name + " any more")
		}
		(*time.Ticker)(field.UnsafePointer()).Stop()
	}
}
