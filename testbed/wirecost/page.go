package wirecost

import (
	"fmt"
	"os"
	"strings"
)

const (
	begin = "<!-- Made by \"bin/testbed wirecost -update\". Do not edit. -->\n\n"
	end   = "\n<!-- End of what is made. -->\n"
)

// Update puts a table into a page, between its two marks.
func Update(path, table string) error {
	page, at, upTo, err := read(path)
	if err != nil {
		return err
	}
	if err := os.WriteFile(path, []byte(page[:at]+table+page[upTo:]), 0o644); err != nil {
		return fmt.Errorf("cannot write the table: %w", err)
	}
	return nil
}

// Shown is the table that a page shows.
func Shown(path string) (string, error) {
	page, at, upTo, err := read(path)
	return page[at:upTo], err
}

func read(path string) (page string, at, upTo int, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return "", 0, 0, fmt.Errorf("cannot read the table: %w", err)
	}
	page = string(text)
	i := strings.Index(page, begin)
	j := strings.Index(page, end)
	if i < 0 || j < i+len(begin) {
		return "", 0, 0, fmt.Errorf("cannot find the table of %s: its two marks are not there", path)
	}
	return page, i + len(begin), j, nil
}
