// Package defaults holds the bytes of the default catalog and its JSON Schemas, as the package installs them, so that tests, the
// testbed and the planner use the very files that the robot has. It promises nothing about their content and must not parse them:
// package bridge/catalogfile does.
package defaults

import "embed"

// Files are the catalog files by name ("operations.json") and the schemas below "schema/".
//
//go:embed *.json schema/*.json
var Files embed.FS
