package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// entry is one thing in an archive made by hand.
type entry struct {
	name, text, owner string
	mode              int64
	kind              byte
}

func archive(t *testing.T, list []entry, cut bool) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	for _, e := range list {
		if e.kind == 0 {
			e.kind = tar.TypeReg
		}
		if e.owner == "" {
			e.owner = "root"
		}
		h := &tar.Header{Name: e.name, Mode: e.mode, Size: int64(len(e.text)), Typeflag: e.kind, Uname: e.owner, Gname: "root", Format: tar.FormatUSTAR, ModTime: time.Unix(1, 0)}
		if e.kind == tar.TypeDir {
			h.Size = 0
		}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(e.text)); err != nil {
			t.Fatal(err)
		}
	}
	end := w.Close
	if cut { // as apk does with all but the last
		end = w.Flush
	}
	if err := end(); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func ar(members map[string][]byte, order ...string) []byte {
	b := bytes.NewBufferString("!<arch>\n")
	for _, name := range order {
		fmt.Fprintf(b, "%-16s%-12d%-6d%-6d%-8o%-10d`\n", name, 1, 0, 0, 0o644, len(members[name]))
		b.Write(members[name])
		if len(members[name])%2 == 1 {
			b.WriteByte('\n')
		}
	}
	return b.Bytes()
}

// bench is a made-up product with its stage.
type bench struct {
	s    stage
	p    product
	data []entry
}

func newBench(t *testing.T) *bench {
	t.Helper()
	dir := t.TempDir()
	b := &bench{s: stage{root: dir, dir: filepath.Join(dir, "stage"), release: release{version: "1.0.0"}}}
	for name, text := range map[string]string{"a": "program", "b.toml": "setting = 1\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, format := range formats {
		for _, hook := range hooks {
			if err := b.s.write("scripts/"+format+"/"+hook, []byte("#!/bin/sh\nexit 0 # "+hook+"\n")); err != nil {
				t.Fatal(err)
			}
		}
	}
	b.p = product{name: "p", scripts: true, contents: []content{
		{from: "a", to: "/usr/bin/a", mode: 0o755}, {from: "b.toml", to: "/etc/p/b.toml", kind: settings}, {to: "/etc/p/conf.d/", kind: folder}}}
	b.data = []entry{{name: "./usr/bin/a", text: "program", mode: 0o755}, {name: "./etc/p/b.toml", text: "setting = 1\n", mode: 0o644},
		{name: "./etc/p/conf.d/", mode: 0o755, kind: tar.TypeDir}, {name: "./usr/bin/", mode: 0o755, kind: tar.TypeDir}}
	return b
}

func (b *bench) control() []entry {
	list := []entry{{name: "./conffiles", text: "/etc/p/b.toml\n", mode: 0o644}}
	for i, hook := range hooks {
		list = append(list, entry{name: "./" + hookNames["deb"][i], text: "#!/bin/sh\nexit 0 # " + hook + "\n", mode: 0o755})
	}
	return list
}

// write makes the package of a format by hand and returns its place.
func (b *bench) write(t *testing.T, format string) string {
	t.Helper()
	var text []byte
	members := map[string][]byte{"debian-binary": []byte("2.0\n"), "control.tar.gz": archive(t, b.control(), false), "data.tar.gz": archive(t, b.data, false)}
	switch format {
	case "deb":
		text = ar(members, "debian-binary", "control.tar.gz", "data.tar.gz")
	case "ipk":
		text = archive(t, []entry{{name: "./debian-binary", text: "2.0\n"}, {name: "./control.tar.gz", text: string(members["control.tar.gz"])},
			{name: "./data.tar.gz", text: string(members["data.tar.gz"])}}, false)
	case "apk":
		head := []entry{{name: ".PKGINFO", text: "pkgname = p\n"}, {name: ".post-upgrade", text: "#!/bin/sh\nexit 0 # postinstall\n"}}
		for i, hook := range hooks {
			head = append(head, entry{name: "." + hookNames["apk"][i], text: "#!/bin/sh\nexit 0 # " + hook + "\n"})
		}
		text = append(archive(t, head, true), archive(t, b.data, false)...)
	}
	at := filepath.Join(t.TempDir(), "p."+format)
	if err := os.WriteFile(at, text, 0o644); err != nil {
		t.Fatal(err)
	}
	return at
}

var archiveFormats = []string{"deb", "ipk", "apk"}

func TestAPackageAsItShouldBeHasNoFault(t *testing.T) {
	b := newBench(t)
	for _, format := range archiveFormats {
		if faults, err := b.s.check(b.write(t, format), b.p, arches[0], format); err != nil || len(faults) > 0 {
			t.Errorf("%s: %q, %v", format, faults, err)
		}
	}
}

func TestEachFaultOfAPackageIsFound(t *testing.T) {
	for name, tc := range map[string]struct {
		harm func(b *bench)
		want string
	}{
		"a file is missing":          {func(b *bench) { b.data = b.data[1:] }, "/usr/bin/a is missing"},
		"a folder is missing":        {func(b *bench) { b.data = append(b.data[:2], b.data[3]) }, "/etc/p/conf.d/ is missing"},
		"a file that nobody knows":   {func(b *bench) { b.data = append(b.data, entry{name: "./usr/bin/x", mode: 0o755}) }, "/usr/bin/x is in it and in no list"},
		"other bytes":                {func(b *bench) { b.data[0].text = "programs" }, "/usr/bin/a is {"},
		"another mode":               {func(b *bench) { b.data[0].mode = 0o4755 }, "/usr/bin/a is {"},
		"another owner":              {func(b *bench) { b.data[0].owner = "builder" }, "owner:builder:root"},
		"settings that are not kept": {func(b *bench) { b.p.contents[0].kind = settings }, "/usr/bin/a is {"},
		"a link":                     {func(b *bench) { b.data[0].kind = tar.TypeSymlink; b.data[0].text = "" }, "/usr/bin/a is neither file nor folder"},
		"scripts where none are due": {func(b *bench) { b.p.scripts = false }, "it has scripts and should have none"},
		"a script that is another": {func(b *bench) {
			_ = b.s.write("scripts/deb/postinstall", []byte("#!/bin/sh\nexit 1\n"))
			b.same("postinstall")
		}, "is not the script that was written for it"},
		"a script that sh cannot read": {func(b *bench) { _ = b.s.write("scripts/deb/preremove", []byte("#!/bin/sh\nif\n")); b.same("preremove") }, "yntax error"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			tc.harm(b)
			for _, format := range archiveFormats {
				faults, err := b.s.check(b.write(t, format), b.p, arches[0], format)
				if all := fmt.Sprint(strings.Join(faults, "\n"), err); !strings.Contains(all, tc.want) {
					t.Errorf("%s: %q, want %q", format, all, tc.want)
				}
			}
		})
	}
}

// same gives the script of deb to the other formats.
func (b *bench) same(hook string) {
	text, _ := os.ReadFile(filepath.Join(b.s.dir, "scripts/deb", hook))
	for _, format := range formats {
		_ = b.s.write("scripts/"+format+"/"+hook, text)
	}
}

// TestAnApkIsTheSameInAnyOrder: what nfpm writes in one order or another, at one time or another, becomes the same bytes, with all in it.
func TestAnApkIsTheSameInAnyOrder(t *testing.T) {
	b := newBench(t)
	data := archive(t, b.data, false)
	list := []entry{{name: ".PKGINFO", text: "pkgname = p\n"}, {name: ".post-install", text: "a"}, {name: ".pre-install", text: "b"}, {name: ".post-upgrade", text: "c"}}
	var first []byte
	for _, order := range [][]int{{0, 1, 2, 3}, {0, 3, 2, 1}, {0, 2, 3, 1}} {
		var head []entry
		for _, i := range order {
			head = append(head, list[i])
		}
		got, err := settled(append(archive(t, head, true), data...), moment)
		if err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = got
		}
		if !bytes.Equal(got, first) || !bytes.HasSuffix(got, data) {
			t.Errorf("%v gives other bytes", order)
		}
	}
	u := newUnpacked()
	if err := u.apk(first); err != nil || len(u.scripts) != 3 || len(u.names()) != 2 {
		t.Errorf("%v: %q %q", err, u.scripts, u.names())
	}
	if _, err := settled(data, moment); err == nil {
		t.Error("an apk that begins with the robot's files is taken")
	}
}

func TestADamagedArchiveIsAnError(t *testing.T) {
	b := newBench(t)
	for _, format := range archiveFormats {
		at := b.write(t, format)
		whole, err := os.ReadFile(at)
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range []int{0, 5, len(whole) / 2} {
			if err := os.WriteFile(at, whole[:n], 0o644); err != nil {
				t.Fatal(err)
			}
			if _, err := unpack(at, format); err == nil {
				t.Errorf("%s cut off after %d bytes is taken for whole", format, n)
			}
		}
	}
}

func TestWhatRpmSaysIsRead(t *testing.T) {
	u := newUnpacked()
	for _, line := range []string{"/usr/bin/a\t33261\troot:root\tabc\t0", "/etc/p/b.toml\t33188\troot:root\tdef\t17", "/etc/p/c.toml\t33188\troot:root\tdef\t1", "/etc/p/conf.d\t16877\troot:root\t\t0"} {
		if err := u.rpmLine(strings.Split(line, "\t")); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]installed{
		"/usr/bin/a":    {mode: 0o755, owner: "root:root", digest: "abc"},
		"/etc/p/b.toml": {mode: 0o644, owner: "root:root", digest: "def", kept: true},
		"/etc/p/c.toml": {mode: 0o644, owner: "root:root", digest: "def"}, // replaced on an upgrade: not what we want
		"/etc/p/conf.d": {mode: fs.ModeDir | 0o755, owner: "root:root"},
	} {
		if u.files[name] != want {
			t.Errorf("%s is %+v, want %+v", name, u.files[name], want)
		}
	}
	u.rpmScripts("preinstall scriptlet (using /bin/sh):\nset -e\nexit 0\npostinstall scriptlet (using /bin/sh):\nexit 1\n")
	if u.scripts["preinstall"] != "set -e\nexit 0\n" || u.scripts["postinstall"] != "exit 1\n" {
		t.Errorf("%q", u.scripts)
	}
	if err := u.rpmLine([]string{"x"}); err == nil {
		t.Error("a line that is cut off is taken")
	}
}
