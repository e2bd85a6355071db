// Package config is the agent's settings: one struct, one [Default], one [Config.Validate], and [Load], which lays files,
// environment and flags over the defaults and remembers where each value came from.
//
// It promises that a fault never passes silently: an unknown key, a wrong type, a value out of range and an unreadable file are
// all reported, all at once, each with key, value and place (file and line, variable or flag). The caller prints the error and
// exits with status 2. It must not read secrets (settings name the files that hold them), open sockets, or be asked again after
// the start: settings are read once and then read-only. The reference is docs/settings.md, made from the struct by a test.
package config
