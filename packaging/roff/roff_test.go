package roff

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// format lets groff read a page, with every warning on, and returns it as people see it.
func format(t *testing.T, page string) string {
	t.Helper()
	if _, err := exec.LookPath("groff"); err != nil {
		t.Fatal("groff reads the manual pages as man does. On Debian: sudo apt-get install groff-base")
	}
	cmd := exec.Command("groff", "-man", "-ww", "-Tutf8", "-P-c", "-P-b", "-P-u")
	cmd.Stdin = strings.NewReader(page)
	var warnings strings.Builder
	cmd.Stderr = &warnings
	out, err := cmd.Output()
	if err != nil || warnings.Len() > 0 {
		t.Errorf("groff: %v\n%s", err, warnings.String())
	}
	return string(out)
}

func TestNoTextBecomesARequest(t *testing.T) {
	p := New("x", 1, "about")
	p.Section("Part")
	p.Text(".so /etc/passwd")
	p.Text("'br is text, \\fB is text, and `.bold` is --bold")
	p.Item(".TP", "")
	p.Example(".nf\n'fi\n\n  a\\b 'c' `d` ~^")
	got := format(t, p.String())
	for _, want := range []string{".so /etc/passwd", "'br is text, \\fB is text, and .bold is --bold", ".TP", "'fi\n", "  a\\b 'c' `d` ~^"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in what is read:\n%s", want, got)
		}
	}
}

func TestWhatIsNotASCIIIsNamed(t *testing.T) {
	p := New("x", 1, "about")
	p.Text("거실 … \x1b[2J")
	if got := p.String(); !strings.Contains(got, `\[uAC70]\[uC2E4] \[u2026] ?[2J`) {
		t.Errorf("%q", got)
	}
}

// TestEachInstalledPageReads holds every page of the packages to what man does with it, without a warning.
func TestEachInstalledPageReads(t *testing.T) {
	pages, err := filepath.Glob("../man/*.[1-8]")
	if err != nil || len(pages) < 3 {
		t.Fatalf("%d pages, %v", len(pages), err)
	}
	for _, path := range pages {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if got := format(t, string(text)); !strings.Contains(got, "NAME\n") {
			t.Errorf("%s has no name section:\n%.300s", path, got)
		}
	}
}
