// Package broken is one small service of org.deviceagent.Executor1 that is honest, or wrong in one way that somebody names: what the
// conformance kit is tried on. It speaks godbus directly, so that it can say what a proper host would never let it say. It promises
// that a behaviour changes what its row says and nothing else. It moves nothing, and must not be taken for an example:
// those are in executors/dbus/examples.
package broken
