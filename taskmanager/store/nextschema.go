//go:build nextschema

package store

// A program built with this tag writes a schema that is one newer than ours, as the next version will: the test of the packages goes back
// from it to this one (testbed/machine/jobs/package.sh). It is in no package that is delivered.
func init() {
	migrations = append(migrations, migration{`CREATE TABLE of_the_next_version (key TEXT PRIMARY KEY) STRICT, WITHOUT ROWID`})
}
