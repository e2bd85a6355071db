package config

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// credentialPrefix marks a file that systemd hands over (LoadCredential= and its kin), in place of a path.
const credentialPrefix = "credential:"

var credentialForm = regexp.MustCompile(`^[A-Za-z0-9_-][A-Za-z0-9._-]{0,127}$`)

// SecretPath is where a file named by a setting is: the path itself, or that of a credential. It is looked up when it is needed, not when
// the settings are read: who checks them by hand has been given no credential.
func SecretPath(value string) (string, error) {
	name, ok := strings.CutPrefix(value, credentialPrefix)
	if !ok {
		return value, nil
	}
	dir := os.Getenv("CREDENTIALS_DIRECTORY")
	if dir == "" {
		return "", errors.New("cannot find the credential " + name + ": this process was given none; LoadCredential= of the unit does, or name a file")
	}
	return filepath.Join(dir, name), nil
}
