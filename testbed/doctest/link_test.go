package doctest

import (
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

func TestDeadLinksAreFound(t *testing.T) {
	const other = "# Other page\n\n## `Mode` and more, 2\n\n## Twice\n\n## Twice\n\n## 한국어 제목\n"
	for link, want := range map[string]string{
		"[a](other.md)":                    "",
		"[a](other.md#mode-and-more-2)":    "",
		"[a](other.md#twice-1)":            "",
		"[a](other.md#한국어-제목)":             "",
		"[a](#here)":                       "",
		"[a](../main.go)":                  "",
		"[a](https://example.com/x)":       "",
		"`[a](nowhere.md)`":                "",
		"```\n[a](nowhere.md)\n```":        "",
		"[a](nowhere.md)":                  "docs/page.md:3: the link nowhere.md leads to nothing: there is no docs/nowhere.md",
		"[a](other.md), [b](other.md#no)":  "docs/page.md:3: the link other.md#no leads to nothing: docs/other.md has no heading no",
		"[a](other.md#twice-2)":            "docs/page.md:3: the link other.md#twice-2 leads to nothing: docs/other.md has no heading twice-2",
		"```\nx\n```\n\n[a](../README.md)": "docs/page.md:7: the link ../README.md leads to nothing: there is no README.md",
	} {
		fsys := fstest.MapFS{"docs/page.md": {Data: []byte("# Here\n\n" + link + "\n")}, "docs/other.md": {Data: []byte(other)}, "main.go": {}}
		got, err := DeadLinks(fsys, "docs/page.md")
		if err != nil || strings.Join(got, "; ") != want {
			t.Errorf("%s\n gives %q (%v), want %q", link, got, err, want)
		}
	}
}

// TestTheLinksOfThePagesLeadSomewhere follows each link in each page of the repository.
func TestTheLinksOfThePagesLeadSomewhere(t *testing.T) {
	repo := os.DirFS("../..")
	pages := 0
	err := fs.WalkDir(repo, ".", func(p string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && (slices.Contains([]string{"bin", "dist"}, p) || strings.HasPrefix(path.Base(p), ".") && p != "."):
			return fs.SkipDir
		case path.Ext(p) != ".md":
			return nil
		}
		pages++
		faults, err := DeadLinks(repo, p)
		for _, f := range faults {
			t.Error(f)
		}
		return err
	})
	if err != nil || pages < 15 {
		t.Fatalf("%d pages followed (%v)", pages, err)
	}
}
