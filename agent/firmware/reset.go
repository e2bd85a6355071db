package firmware

import godbus "github.com/godbus/dbus/v5"

// FactoryReset asks for the removal of work, utterances, preferences and keys. It takes the name of the device along: who means another
// robot gets nothing wiped. When it returns, the wish is on the disk.
func (e exported) FactoryReset(device, why string, from godbus.Sender) *godbus.Error {
	c, done, fail := e.s.admit(from, "FactoryReset", control)
	if fail != nil {
		return fail
	}
	defer done()
	if own := e.s.o.Agent.Facts().DeviceID; device != own || len(why) > maxText {
		return failure("InvalidArgs", "a factory reset names this robot, "+own+", and has a reason of at most 200 bytes")
	}
	err := e.s.o.Agent.FactoryReset(c.String(), why)
	e.s.o.Log.Warn().Err(err).Str("reason", why).Uint32("uid", c.uid).Uint32("pid", c.pid).Str("sender", c.name).Msg("factory reset asked for")
	if err != nil {
		return godbus.NewError(errorNotStored, []any{clean(err.Error())})
	}
	return nil
}
