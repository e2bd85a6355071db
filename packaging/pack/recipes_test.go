package main

import (
	"crypto/md5"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const root = "../.."

const (
	yoctoRecipe   = "packaging/yocto/meta-deviceagent/recipes-robot/deviceagent/deviceagent_%s.bb"
	buildrootMake = "packaging/buildroot/deviceagent.mk"
	buildrootHash = "packaging/buildroot/deviceagent.hash"
)

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func versionFile(t *testing.T) string { return strings.TrimSpace(read(t, "packaging/VERSION")) }

// recipe is one of the two that cannot be built here.
type recipe struct {
	name, text string
	source     string   // variable before a path of the source
	target     string   // before a path on the robot
	leaves     []string // folders of the package that images of this kind do not want
}

func recipes(t *testing.T) []recipe {
	return []recipe{
		{"yocto", read(t, fmt.Sprintf(yoctoRecipe, versionFile(t))), "${S}/", "${D}", []string{"/usr/share/doc/", "/usr/share/bash-completion/", "/usr/share/zsh/", "/usr/share/fish/"}},
		{"buildroot", read(t, buildrootMake), "$(@D)/", "$(TARGET_DIR)", []string{"/usr/share/doc/", "/usr/share/man/", "/usr/share/bash-completion/", "/usr/share/zsh/", "/usr/share/fish/"}},
	}
}

var installLine = regexp.MustCompile(`(?m)^\t(?:\$\(INSTALL\)|install) (?:-D )?-m (\d+) (\S+) (\S+)$`)

// installs reads the install lines: where each file comes from, by where it goes and with which mode.
func (r recipe) installs(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, m := range installLine.FindAllStringSubmatch(r.text, -1) {
		from, to := strings.TrimPrefix(m[2], r.source), strings.TrimPrefix(m[3], r.target)
		found, err := filepath.Glob(filepath.Join(root, from))
		if err != nil || len(found) == 0 && !strings.HasPrefix(from, "${B}/") {
			t.Errorf("%s: %s is not in the source", r.name, from)
		}
		if !strings.HasSuffix(to, "/") {
			out[to] = m[1] + " " + from
			continue
		}
		for _, at := range found {
			out[to+filepath.Base(at)] = m[1] + " " + filepath.Join(filepath.Dir(from), filepath.Base(at))
		}
	}
	return out
}

// wanted is what the Debian package has of it, in the same form.
func (r recipe) wanted(t *testing.T) map[string]string {
	t.Helper()
	list, err := expand(root, agentProduct.contents, "deb")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, c := range list {
		if c.kind == folder || slices.ContainsFunc(r.leaves, func(dir string) bool { return strings.HasPrefix(c.to, dir) }) {
			continue
		}
		from := c.from
		if name, ok := strings.CutPrefix(from, "@man/"); ok { // the image builder presses them itself
			from, c.to = "packaging/man/"+strings.TrimSuffix(name, ".gz"), strings.TrimSuffix(c.to, ".gz")
		}
		from = strings.Replace(from, "@bin/$ARCH/", "${B}/", 1)
		out[c.to] = fmt.Sprintf("%04o %s", c.mode, from)
	}
	if r.name == "buildroot" { // its infrastructure installs programs by name
		for _, name := range strings.Fields(lineAfter(r.text, "DEVICEAGENT_INSTALL_BINS = ")) {
			if out["/usr/bin/"+name] == "" {
				t.Errorf("buildroot installs %s, which the package has not", name)
			}
			delete(out, "/usr/bin/"+name)
		}
	}
	return out
}

func lineAfter(text, head string) string {
	_, rest, _ := strings.Cut(text, head)
	line, _, _ := strings.Cut(rest, "\n")
	return strings.Trim(line, `"`)
}

// TestRecipesInstallWhatThePackageHas holds the recipes that nobody can build here to the package that is built and installed.
func TestRecipesInstallWhatThePackageHas(t *testing.T) {
	for _, r := range recipes(t) {
		got, want := r.installs(t), r.wanted(t)
		if len(want) < 20 {
			t.Fatalf("only %d files are wanted", len(want))
		}
		for to, from := range want {
			if got[to] != from {
				t.Errorf("%s installs %s as %q, the package as %q", r.name, to, got[to], from)
			}
		}
		for to := range got {
			if want[to] == "" {
				t.Errorf("%s installs %s, which the package has not", r.name, to)
			}
		}
		if !strings.Contains(r.text, r.target+"/etc/deviceagent/conf.d") {
			t.Errorf("%s makes no /etc/deviceagent/conf.d", r.name)
		}
	}
}

var unitsOf = regexp.MustCompile(`deviceagent(-\w+)?\.(service|socket)`)

func TestRecipesEnableTheUnits(t *testing.T) {
	var want []string
	for _, p := range paths(agentProduct.contents) {
		if name, ok := strings.CutPrefix(p, unitDir); ok {
			want = append(want, name)
		}
	}
	line := lineAfter(read(t, fmt.Sprintf(yoctoRecipe, versionFile(t))), "SYSTEMD_SERVICE:${PN} = ")
	got := unitsOf.FindAllString(line, -1)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("yocto enables %q, the package has %q", got, want)
	}
	shared := unitsOf.FindAllString(read(t, "packaging/scripts/shared.sh"), 4)
	slices.Sort(shared)
	if !slices.Equal(shared, want) {
		t.Errorf("the scripts know %q, the package has %q", shared, want)
	}
}

// TestRecipesMakeTheUsers: whom systemd-sysusers makes, each recipe and the scripts make, too.
func TestRecipesMakeTheUsers(t *testing.T) {
	lines := regexp.MustCompile(`(?m)^([ug]) (\S+)`).FindAllStringSubmatch(read(t, "packaging/sysusers.d/deviceagent.conf"), -1)
	if len(lines) < 4 {
		t.Fatalf("only %q", lines)
	}
	all := recipes(t)
	for _, m := range lines {
		for _, r := range all {
			if !regexp.MustCompile(`(?m)(--system |-1 )` + m[2] + `( -1|;|"$)`).MatchString(r.text) {
				t.Errorf("%s does not make %s", r.name, m[2])
			}
		}
		if !regexp.MustCompile(`for group in .*\b` + m[2] + `(;| )`).MatchString(read(t, "packaging/scripts/shared.sh")) {
			t.Errorf("the scripts do not make %s where there is no systemd", m[2])
		}
	}
}

func TestRecipesNameVersionAndChecksums(t *testing.T) {
	copyright := []byte(read(t, "packaging/copyright"))
	sum5, sum256 := md5.Sum(copyright), sha256.Sum256(copyright)
	for text, want := range map[string]string{
		read(t, fmt.Sprintf(yoctoRecipe, versionFile(t))): "file://packaging/copyright;md5=" + hex.EncodeToString(sum5[:]) + `"`,
		read(t, buildrootHash):                            "sha256  " + hex.EncodeToString(sum256[:]) + "  packaging/copyright\n",
		read(t, buildrootMake):                            "DEVICEAGENT_VERSION = " + versionFile(t) + "\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("there is no %q in\n%.400s", want, text)
		}
	}
	for _, p := range products {
		for _, program := range p.programs {
			if p.name == agentProduct.name && !strings.Contains(read(t, buildrootMake), "cmd/"+program) {
				t.Errorf("buildroot does not build %s", program)
			}
		}
	}
}

// TestRecipesSayThatTheyAreNotBuilt: who reads one has to know.
func TestRecipesSayThatTheyAreNotBuilt(t *testing.T) {
	for _, name := range []string{fmt.Sprintf(yoctoRecipe, versionFile(t)), buildrootMake, "packaging/buildroot/Config.in", "packaging/yocto/meta-deviceagent/conf/layer.conf"} {
		if !strings.Contains(read(t, name), "State: not built") {
			t.Errorf("%s does not say that it is not built here", name)
		}
	}
	if !strings.Contains(read(t, "docs/packages.md"), "not built") {
		t.Error("docs/packages.md does not say it")
	}
}
