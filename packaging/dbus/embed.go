// Package busfiles holds what the package installs for the agent on D-Bus: the interface that it serves, as the XML of introspection,
// and the policy that says who may speak with it. It promises that program, tests and package have the very same bytes, and must not
// parse them.
package busfiles

import _ "embed"

// Agent1 is the interface org.deviceagent.Agent1, as it is installed and as the agent answers an introspection.
//
//go:embed org.deviceagent.Agent1.xml
var Agent1 string

// Agent1Policy is the bus policy of the name org.deviceagent.Agent1.
//
//go:embed org.deviceagent.Agent1.conf
var Agent1Policy string
