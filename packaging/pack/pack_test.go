package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var moment = time.Date(2026, 11, 30, 21, 59, 42, 0, time.UTC)

func TestVersionsAreMadeFromGit(t *testing.T) {
	for _, tc := range []struct {
		tags, commit string
		dirty        bool
		want, apk    string
	}{
		{"v0.1.0", "9e6982a", false, "0.1.0", "0.1.0"},
		{"other\nv0.1.0", "9e6982a", false, "0.1.0", "0.1.0"},
		{"v0.2.0", "9e6982a", false, "0.1.0~git20261130215942.9e6982a", "0.1.0_pre20261130215942"},
		{"", "9e6982a", false, "0.1.0~git20261130215942.9e6982a", "0.1.0_pre20261130215942"},
		{"v0.1.0", "9e6982a", true, "0.1.0~git20261130215942.9e6982a.dirty", "0.1.0_pre20261130215942"},
		{"", "", false, "0.1.0~git20261130215942", "0.1.0_pre20261130215942"},
	} {
		got := describe("0.1.0", tc.tags, tc.commit, tc.dirty, moment)
		if got != tc.want || !versionForm.MatchString(got) {
			t.Errorf("%+v: %s", tc, got)
		}
		if apk := (release{version: got}).in("apk"); apk != tc.apk {
			t.Errorf("%s for apk: %s, want %s", got, apk, tc.apk)
		}
	}
}

func TestAVersionThatAFormatCannotWriteIsRefused(t *testing.T) {
	for version, ok := range map[string]bool{"1.2.3": true, "v1.2.3": false, "1.2": false, "1.2.3-rc1": false, "1.2.3~git20260101000000": true, "": true, "1.2.3; rm": false} {
		_, err := releaseOf(root, func(name string) string { return map[string]string{"VERSION": version, "SOURCE_DATE_EPOCH": "1"}[name] })
		if (err == nil) != ok {
			t.Errorf("%q: %v", version, err)
		}
	}
	if _, err := releaseOf(t.TempDir(), func(string) string { return "" }); err == nil {
		t.Error("a source without version is taken")
	}
}

func TestDifferencesAreNamed(t *testing.T) {
	for name, tc := range map[string]struct {
		first, second map[string]string
		want          int
	}{
		"equal":      {map[string]string{"a": "1", "b": "2"}, map[string]string{"a": "1", "b": "2"}, 0},
		"another":    {map[string]string{"a": "1", "b": "2"}, map[string]string{"a": "1", "b": "3"}, 1},
		"one lacks":  {map[string]string{"a": "1", "b": "2"}, map[string]string{"a": "1"}, 1},
		"one more":   {map[string]string{"a": "1"}, map[string]string{"a": "1", "b": "2"}, 1},
		"none there": {map[string]string{}, map[string]string{}, 1},
	} {
		if got := differences(tc.first, tc.second); len(got) != tc.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestLicencesAreNamedOrRefused(t *testing.T) {
	for text, want := range map[string]string{
		"Apache License\n    Version 2.0, January 2004":                                                     "Apache-2.0",
		"Permission is hereby granted, free of charge, to any":                                              "MIT",
		"Redistribution and use in source and\nbinary forms\n3. Neither the name of":                        "BSD-3-Clause",
		"Redistribution and use in source and binary forms\n2. in binary form must":                         "BSD-2-Clause",
		"You may use this as long as you like cats. It looks like a licence and is none that anyone knows.": "",
	} {
		if got := name(text); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
	dir := t.TempDir()
	if _, err := licenceOf("example.com/none", dir); err == nil {
		t.Error("a module without a licence is taken")
	}
	for file, text := range map[string]string{"LICENSE": "Permission is hereby granted, free of charge", "NOTICE.md": "Made by us.", "licensed.go": "package x"} {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := licenceOf("example.com/some", dir)
	if err != nil || got.id != "MIT" || !strings.Contains(got.text, "Made by us.") || strings.Contains(got.text, "package x") {
		t.Errorf("%+v %v", got, err)
	}
}

// TestTheBillNamesWhatIsLinked builds a small program of ours and reads its bill: the parts are those of the program, with sums and licences.
func TestTheBillNamesWhatIsLinked(t *testing.T) {
	where, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	s := stage{root: where, dir: t.TempDir(), release: release{version: "1.0.0", at: moment}}
	a := arch{name: "here", env: nil}
	p := product{name: "p", programs: []string{"deviceagentctl"}}
	if err := s.goTool(nil, "build", "-trimpath", "-buildvcs=false", "-o", filepath.Join(s.dir, "bin/here/deviceagentctl"), "./cmd/deviceagentctl"); err != nil {
		t.Fatal(err)
	}
	if err := s.account(p, a); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(s.dir, "here/p/sbom.cdx.json"))
	if err != nil {
		t.Fatal(err)
	}
	var b bill
	if err := json.Unmarshal(text, &b); err != nil {
		t.Fatal(err)
	}
	found := map[string]component{}
	for _, c := range b.Components {
		found[c.Name] = c
		if c.Type == "library" && (len(c.Licences) != 1 || c.Version == "" || c.PURL == "") {
			t.Errorf("%s has no licence, version or address: %+v", c.Name, c)
		}
	}
	if cobra := found["github.com/spf13/cobra"]; cobra.Licences == nil || cobra.Licences[0]["expression"] != "Apache-2.0" || len(cobra.Properties) != 1 {
		t.Errorf("cobra: %+v", cobra)
	}
	if found["deviceagentctl"].Hashes[0]["content"] == "" || found[standardLibrary].Licences[0]["expression"] != "BSD-3-Clause" {
		t.Errorf("the program or the standard library: %+v %+v", found["deviceagentctl"], found[standardLibrary])
	}
	if _, no := found["pgregory.net/rapid"]; no {
		t.Error("a library of the tests is in the bill of a program")
	}
	refs := map[string]bool{b.Metadata.Component.Ref: true}
	for _, c := range b.Components {
		refs[c.Ref] = true
	}
	for _, d := range b.Dependencies {
		for _, on := range append(d.On, d.Ref) {
			if !refs[on] {
				t.Errorf("%s hangs on %s, which is not in the bill", d.Ref, on)
			}
		}
	}
	licences, err := os.ReadFile(filepath.Join(s.dir, "here/p/copyright"))
	if err != nil || !strings.Contains(string(licences), "github.com/spf13/cobra "+found["github.com/spf13/cobra"].Version) {
		t.Errorf("the licences do not name cobra (%v)", err)
	}
}

// TestTheCopyHasWhatBelongsToTheSource: the second build is of the source, not of what the first has left in it.
func TestTheCopyHasWhatBelongsToTheSource(t *testing.T) {
	to := t.TempDir()
	if err := copySource(root, to); err != nil {
		t.Fatal(err)
	}
	for name, there := range map[string]bool{"go.mod": true, "packaging/pack/main.go": true, "dist": false, "bin": false} {
		if _, err := os.Stat(filepath.Join(to, name)); (err == nil) != there {
			t.Errorf("%s: %v", name, err)
		}
	}
}
