// Package mosquitto holds the configuration and the access list for the broker that we ship, so that tests and campaigns use the very
// files that are installed.
package mosquitto

import _ "embed"

// AccessList is deviceagent.acl: who may say and hear what, by name.
//
//go:embed deviceagent.acl
var AccessList []byte
