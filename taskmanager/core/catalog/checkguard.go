package catalog

// GuardBattery is the one guard that there is, and these are the values that it watches.
const (
	GuardBattery               = "battery"
	BatteryLevel    ContextKey = "battery.level"    // percent
	BatteryCharging ContextKey = "battery.charging" // whether it is being charged
)

// guard: what acts by itself has to know what it acts on, and has to have something to do.
func (k *checker) guard(name string, g Guard) {
	k.oneOf("", name, GuardBattery)
	if name != GuardBattery {
		return
	}
	for _, want := range []struct {
		key ContextKey
		t   Type
	}{{BatteryLevel, Number}, {BatteryCharging, Boolean}} {
		switch key, ok := k.c.Context[want.key]; {
		case !ok:
			k.add("", "needs the context key %q, which does not exist or is disabled", want.key)
		case plain(key.Type) != want.t || key.Class != Independent:
			k.add("", "needs %s as an independent %s; it is a %s of class %s", want.key, want.t, key.Type, key.Class)
		}
	}
	if len(k.c.Standing[StandingReturn]) == 0 {
		k.add("", "needs the standing plan return, which does not exist or is disabled")
	}
	if g.ReturnAt < 0 || g.GoOnAt > 100 || g.ReturnAt >= g.GoOnAt {
		k.add("return_at", "is %s, with go_on_at %s; both are percent, and work may go on only above where it is held", number(g.ReturnAt), number(g.GoOnAt))
	}
}
