package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"slices"
	"strconv"
	"strings"
)

// installed is one path of a finished package.
type installed struct {
	mode   fs.FileMode // permissions, and whether it is a folder
	owner  string      // user:group
	digest string      // SHA-256 of a file, hex
	kept   bool        // a configuration file
}

// unpacked is what a finished package would put on a robot, and what it would run there.
type unpacked struct {
	files   map[string]installed // by absolute path; files, and folders that are named
	scripts map[string]string
}

func newUnpacked() unpacked {
	return unpacked{files: map[string]installed{}, scripts: map[string]string{}}
}

// unpack reads a finished package of a format.
func unpack(at, format string) (unpacked, error) {
	u := newUnpacked()
	text, err := os.ReadFile(at)
	if err == nil {
		switch format {
		case "deb":
			err = u.deb(text)
		case "ipk":
			err = u.ipk(text)
		case "apk":
			err = u.apk(text)
		case "rpm":
			err = u.rpm(at)
		}
	}
	if err != nil {
		return u, fmt.Errorf("cannot unpack %s: %w", at, err)
	}
	return u, nil
}

// deb is an ar archive of two tar archives.
func (u unpacked) deb(text []byte) error {
	body, ok := bytes.CutPrefix(text, []byte("!<arch>\n"))
	if !ok {
		return errors.New("it is no ar archive")
	}
	for len(body) > 0 {
		if len(body) < 60 {
			return errors.New("the ar archive is cut off")
		}
		name := strings.TrimRight(string(body[:16]), " /")
		size, err := strconv.Atoi(strings.TrimSpace(string(body[48:58])))
		if err != nil || size < 0 || 60+size > len(body) {
			return fmt.Errorf("the ar archive is damaged at %s", name)
		}
		if err := u.member(name, body[60:60+size]); err != nil {
			return err
		}
		body = body[min(60+size+size%2, len(body)):]
	}
	return nil
}

// ipk is a tar archive of two tar archives.
func (u unpacked) ipk(text []byte) error {
	return eachInTar(text, true, func(h *tar.Header, body []byte) error { return u.member(path.Clean(h.Name), body) })
}

// member is one archive within a deb or ipk.
func (u unpacked) member(name string, text []byte) error {
	switch name {
	case "control.tar.gz":
		return u.control(text)
	case "data.tar.gz":
		return eachInTar(text, true, u.put)
	case "debian-binary":
		return nil
	}
	return fmt.Errorf("there is %s in it, which nobody expects", name)
}

func (u unpacked) control(text []byte) error {
	return eachInTar(text, true, func(h *tar.Header, body []byte) error {
		switch name := path.Base(h.Name); name {
		case "preinst", "postinst", "prerm", "postrm":
			u.scripts[name] = string(body)
		case "conffiles":
			u.keep(strings.Fields(string(body)))
		}
		return nil
	})
}

// keep marks configuration files; the control archive comes before the files themselves.
func (u unpacked) keep(names []string) {
	for _, name := range names {
		u.files[name] = installed{kept: true}
	}
}

// apk is tar archives one behind the other, the first without its end; names that begin with a dot are the package's own.
func (u unpacked) apk(text []byte) error {
	return eachInTar(text, true, func(h *tar.Header, body []byte) error {
		if strings.HasPrefix(h.Name, ".") && !strings.HasPrefix(h.Name, "./") {
			if h.Name != ".PKGINFO" {
				u.scripts[strings.TrimPrefix(h.Name, ".")] = string(body)
			}
			return nil
		}
		if err := u.put(h, body); err != nil {
			return err
		}
		// apk has no list of configuration files: what is below /etc and was changed is kept, the new one comes beside it as .apk-new.
		if name := path.Join("/", h.Name); strings.HasPrefix(name, "/etc/") && !u.files[name].mode.IsDir() {
			one := u.files[name]
			one.kept = true
			u.files[name] = one
		}
		return nil
	})
}

func eachInTar(text []byte, zipped bool, each func(h *tar.Header, body []byte) error) error {
	var in io.Reader = bytes.NewReader(text)
	if zipped {
		z, err := gzip.NewReader(in)
		if err != nil {
			return err
		}
		in = z
	}
	for t := tar.NewReader(in); ; {
		h, err := t.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		body, err := io.ReadAll(t)
		if err != nil {
			return err
		}
		if err := each(h, body); err != nil {
			return err
		}
	}
}

func (u unpacked) put(h *tar.Header, body []byte) error {
	name := path.Join("/", h.Name)
	one := installed{mode: h.FileInfo().Mode(), owner: h.Uname + ":" + h.Gname, kept: u.files[name].kept}
	switch h.Typeflag {
	case tar.TypeDir:
	case tar.TypeReg:
		one.digest = digest(body)
	default:
		return fmt.Errorf("%s is neither file nor folder", name)
	}
	u.files[name] = one
	return nil
}

func digest(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

const (
	rpmFlagConfig    = 1
	rpmFlagNoReplace = 16
	rpmTypeFolder    = 0o040000
)

// rpm is asked of the real tool: its headers are not ours to read.
func (u unpacked) rpm(at string) error {
	out, err := exec.Command("rpm", "-qp", "--nosignature", "--qf",
		`[%{FILENAMES}\t%{FILEMODES}\t%{FILEUSERNAME}:%{FILEGROUPNAME}\t%{FILEDIGESTS}\t%{FILEFLAGS}\n]`, at).Output()
	if errors.Is(err, exec.ErrNotFound) {
		return errors.New("rpm reads what nfpm made; on Debian: sudo apt-get install rpm")
	}
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(out)) {
		if err := u.rpmLine(strings.Split(strings.TrimSuffix(line, "\n"), "\t")); err != nil {
			return err
		}
	}
	text, err := exec.Command("rpm", "-qp", "--nosignature", "--scripts", at).Output()
	if err != nil {
		return err
	}
	u.rpmScripts(string(text))
	return nil
}

func (u unpacked) rpmLine(f []string) error {
	if len(f) != 5 {
		return fmt.Errorf("rpm says %q", f)
	}
	mode, err := strconv.ParseUint(f[1], 10, 32)
	if err != nil {
		return err
	}
	flags, err := strconv.ParseUint(f[4], 10, 32)
	if err != nil {
		return err
	}
	one := installed{mode: fs.FileMode(mode & 0o777), owner: f[2], digest: f[3], kept: flags&(rpmFlagConfig|rpmFlagNoReplace) == rpmFlagConfig|rpmFlagNoReplace}
	if mode&0o170000 == rpmTypeFolder {
		one.mode, one.digest = one.mode|fs.ModeDir, ""
	}
	u.files[f[0]] = one
	return nil
}

// rpmScripts cuts what rpm prints: "postinstall scriptlet (using /bin/sh):" and the script below.
func (u unpacked) rpmScripts(text string) {
	name := ""
	for line := range strings.Lines(text) {
		if head, _, ok := strings.Cut(line, " scriptlet (using "); ok {
			name = head
			continue
		}
		if name != "" {
			u.scripts[name] += line
		}
	}
}

// names are the paths of files, sorted.
func (u unpacked) names() (out []string) {
	for name, f := range u.files {
		if !f.mode.IsDir() {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}
