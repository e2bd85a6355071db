package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// licenceFile is what a module's licences, and what has to go with them, are called.
var licenceFile = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice|patents)([.-].*)?$`)

// beside are licences of parts inside a module that its main licence does not cover, from the files beside it.
var beside = map[string]string{
	"modernc.org/sqlite":                  "BSD-3-Clause AND blessing",
	"modernc.org/libc":                    "BSD-3-Clause AND MIT",
	"github.com/eclipse/paho.mqtt.golang": "EPL-2.0 OR BSD-3-Clause",
}

// marks tell a licence by words that only it has, the longer first.
var marks = []struct{ id, words string }{
	{"Apache-2.0", "Apache License Version 2.0"},
	{"MPL-2.0", "Mozilla Public License Version 2.0"},
	{"BSD-3-Clause", "Neither the name"},
	{"BSD-3-Clause", "may be used to endorse or promote products derived from this software"},
	{"BSD-2-Clause", "Redistribution and use in source and binary forms"},
	{"MIT", "Permission is hereby granted, free of charge"},
	{"ISC", "Permission to use, copy, modify, and/or distribute this software"},
}

// licence is what a module is under.
type licence struct {
	id   string // SPDX expression
	text string // of all its files, with their names
}

// licenceOf reads a module's folder. One that it cannot name is an error: nothing goes out under a licence that nobody has looked at.
func licenceOf(module, dir string) (licence, error) {
	entries, err := os.ReadDir(dir) // sorted
	if err != nil {
		return licence{}, fmt.Errorf("cannot read the licence of %s: %w", module, err)
	}
	var l licence
	for _, e := range entries {
		if !e.Type().IsRegular() || !licenceFile.MatchString(e.Name()) || strings.HasSuffix(strings.ToLower(e.Name()), "logo") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return licence{}, fmt.Errorf("cannot read the licence of %s: %w", module, err)
		}
		if l.id == "" {
			l.id = name(string(text))
		}
		l.text += "--- " + e.Name() + "\n\n" + strings.TrimSpace(strings.ReplaceAll(string(text), "\r\n", "\n")) + "\n\n"
	}
	if id, known := beside[module]; known {
		l.id = id
	}
	if l.id == "" || l.text == "" {
		return licence{}, fmt.Errorf("cannot name the licence of %s: read %s and say it in packaging/pack/licence.go", module, dir)
	}
	return l, nil
}

// name tells a licence by its text, or says nothing.
func name(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	for _, m := range marks {
		if strings.Contains(text, m.words) {
			return m.id
		}
	}
	return ""
}
