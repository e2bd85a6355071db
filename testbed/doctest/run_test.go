package doctest

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// play runs a page; limit bounds a block.
func play(t *testing.T, limit time.Duration, text string) Report {
	t.Helper()
	page := Parse("p.md", text)
	rep, err := Runner{Bin: t.TempDir(), Limit: limit}.Run(t.Context(), page)
	if err != nil {
		t.Fatal(err)
	}
	if rep.Kept != "" {
		t.Cleanup(func() { os.RemoveAll(rep.Kept) })
	}
	return rep
}

const generous = time.Minute

// block writes a fenced block; what is empty is left out.
func block(info, text string) string { return "```" + info + "\n" + text + "\n```\n\n" }

func TestAPageThatHolds(t *testing.T) {
	rep := play(t, generous, block("sh", "ls -A; name=lamp; cd /; cd \"$OLDPWD\"")+
		block("text", "")+
		"`a/b.txt`:\n\n"+block("json file=a/b.txt", "one\ntwo")+
		block("sh", "cat a/b.txt\necho $name >&2\n(exit 4)")+block("text", "one\n…\nlamp\nexit 4")+
		block("sh not-run=\"moves a robot\"", "false")+
		block("sh", "cat || true"))
	if len(rep.Faults) > 0 || rep.Run != 3 || rep.Files != 1 || len(rep.NotRun) != 1 || rep.NotRun[0].Reason != "moves a robot" {
		t.Fatalf("got %+v", rep)
	}
	if rep.Kept != "" {
		t.Fatal("the folder of a page that holds was kept")
	}
}

func TestAPageThatDoesNotHoldNamesPlaceAndCommand(t *testing.T) {
	for _, tc := range []struct{ name, text, want string }{
		{"a command fails", block("sh", "true\nls nothing-here\ntrue"), "p.md:3: exit 2 of ls nothing-here"},
		{"in a pipe", block("sh", "false | cat"), "p.md:2: exit 1 of cat"},
		{"no such command", block("sh", "deviceagentctll status"), "p.md:2: exit 127 of deviceagentctll status"},
		{"another output", block("sh", "echo a") + block("text", "b"), "p.md:5: it shows\n    a\n  and the page has\n    b"},
		{"another exit code", block("sh", "(exit 4)") + block("text", "exit 5"), "p.md:2: exit 4 of"},
		{"no exit code", block("sh", "true") + block("text", "exit 5"), "p.md:5: the page shows exit 5, all commands ended with 0"},
		{"the code twice", block("sh", "(exit 5)\n(exit 5)") + block("text", "exit 5"), "p.md:3: exit 5 of"},
		{"no syntax", block("sh", "echo 'a"), "p.md:1: exit 2 of the block as a whole: bash cannot read it"},
		{"the shell ends", block("sh", "exit 0"), "p.md:1: the shell has ended"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			rep := play(t, generous, tc.text+block("sh", "echo never"))
			if len(rep.Faults) == 0 || !strings.HasPrefix(rep.Faults[0], tc.want) {
				t.Fatalf("got %q\nwant %q", rep.Faults, tc.want)
			}
			if rep.Run != 1 {
				t.Fatalf("%d blocks were run: what follows builds on the first", rep.Run)
			}
			if _, err := os.Stat(rep.Kept); err != nil {
				t.Fatalf("its folder was not kept: %v", err)
			}
		})
	}
}

func TestWhatHangsIsBounded(t *testing.T) {
	rep := play(t, 500*time.Millisecond, block("sh", "echo begins\nsleep 1000"))
	if len(rep.Faults) != 1 || !strings.HasPrefix(rep.Faults[0], "p.md:1: not ended after 500ms\n  it shows\n    begins") {
		t.Fatalf("got %q", rep.Faults)
	}
}

func TestCtrlCReachesTheForegroundOnly(t *testing.T) {
	rep := play(t, generous, block("sh", "sleep 1000 &\nback=$!")+
		block("sh ctrl-c=300ms", "echo begins; sleep 1000")+block("text", "begins")+
		block("sh", "kill -0 $back"))
	if len(rep.Faults) > 0 {
		t.Fatalf("got %q", rep.Faults)
	}
}

// TestNothingIsLeftBehind: what goes into the background, leaves its group or its parent is ended with the page.
func TestNothingIsLeftBehind(t *testing.T) {
	note := filepath.Join(t.TempDir(), "pids")
	rep := play(t, generous, block("sh", fmt.Sprintf("sleep 1000 & echo $! >>%[1]s\nsetsid sleep 1000 & echo $! >>%[1]s\n(setsid bash -c 'trap \"\" TERM; echo $$ >>%[1]s; sleep 1000; sleep 1000' &)\nenv -i sleep 1000 & echo $! >>%[1]s\nuntil [ $(wc -l <%[1]s) = 4 ]; do sleep 0.1; done", note)))
	if len(rep.Faults) > 0 {
		t.Fatalf("got %q", rep.Faults)
	}
	text, err := os.ReadFile(note)
	if err != nil {
		t.Fatal(err)
	}
	pids := strings.Fields(string(text))
	if len(pids) != 4 {
		t.Fatalf("noted %q", pids)
	}
	for _, pid := range pids {
		for began := time.Now(); ; time.Sleep(20 * time.Millisecond) { // one that was killed may take a moment to go
			line, err := os.ReadFile("/proc/" + pid + "/cmdline")
			if err != nil || len(line) == 0 {
				break
			}
			if time.Since(began) > generous {
				t.Errorf("%s is still there: %q", pid, line)
				break
			}
		}
	}
}

func TestAProgramInTheBackgroundIsWaitedFor(t *testing.T) {
	rep := play(t, generous, block("sh", "(sleep 0.5; echo ready; sleep 1000) &")+block("text", "ready"))
	if len(rep.Faults) > 0 {
		t.Fatalf("got %q", rep.Faults)
	}
	rep = play(t, time.Second, block("sh", "(echo steady; sleep 1000) &")+block("text", "ready"))
	if len(rep.Faults) != 1 || !strings.Contains(rep.Faults[0], "steady") {
		t.Fatalf("got %q", rep.Faults)
	}
}

// TestPortsAndFoldersAreThePagesOwn: a page is written for one machine, and several are run on one.
func TestPortsAndFoldersAreThePagesOwn(t *testing.T) {
	note := filepath.Join(t.TempDir(), "seen")
	rep := play(t, generous, block("sh", "echo x >/run/deviceagent/a.sock; ls /run/deviceagent /etc/deviceagent; echo http://127.0.0.1:8088 | tee "+note+"; echo 127.0.0.1:8088 localhost:1883 /var/lib/deviceagent/agent.db x/etc/deviceagent")+
		block("text", "/etc/deviceagent:\n\n/run/deviceagent:\na.sock\nhttp://127.0.0.1:8088\n127.0.0.1:8088 localhost:1883 /var/lib/deviceagent/agent.db x/etc/deviceagent"))
	if len(rep.Faults) > 0 {
		t.Fatalf("got %q", rep.Faults)
	}
	seen, err := os.ReadFile(note)
	if err != nil || strings.Contains(string(seen), ":8088") || !strings.HasPrefix(string(seen), "http://127.0.0.1:") {
		t.Fatalf("the command saw %q (%v): the port of the page", seen, err)
	}
	if _, err := os.Stat("/run/deviceagent/a.sock"); err == nil {
		t.Fatal("the page wrote into the machine's own folder")
	}
}

func TestAnAnswerThatTellsOfAFaultIsOne(t *testing.T) {
	srv := httptest.NewServer(http.NotFoundHandler())
	defer srv.Close()
	rep := play(t, generous, block("sh", "url="+strings.Replace(srv.URL, "127.0.0.1:", "127.0.0.1:'", 1)+"'\ncurl -s $url"))
	if len(rep.Faults) != 1 || !strings.Contains(rep.Faults[0], "exit 22 of curl -s $url") {
		t.Fatalf("got %q", rep.Faults)
	}
}

// TestWhatIsForARobotIsRunThere, with the robot's own folders, and only there.
func TestWhatIsForARobotIsRunThere(t *testing.T) {
	text := block("sh", "echo here") + "<!-- docs-test on=robot\nname=rb-1\n-->\n\n" + block("sh on=robot", "echo $name /etc/deviceagent") + block("text", "rb-1 /etc/deviceagent") + block("sh not-run=\"never\"", "false")
	rep := play(t, generous, text)
	if len(rep.Faults) > 0 || rep.Run != 1 || len(rep.NotRun) != 2 || rep.NotRun[0].Reason != "it is for a machine of its own: robot" {
		t.Fatalf("here: %+v", rep)
	}
	note := filepath.Join(t.TempDir(), "seen")
	text = strings.Replace(text, "echo $name /etc/deviceagent", "echo $name /etc/deviceagent | tee "+note, 1)
	rep, err := Runner{Bin: t.TempDir(), Limit: generous, On: "robot"}.Run(t.Context(), Parse("p.md", text))
	if err != nil || len(rep.Faults) > 0 || rep.Run != 1 || len(rep.NotRun) != 0 {
		t.Fatalf("there: %+v (%v)", rep, err)
	}
	if seen, err := os.ReadFile(note); err != nil || string(seen) != "rb-1 /etc/deviceagent\n" {
		t.Fatalf("the command saw %q (%v): not the robot's folder", seen, err)
	}
}

func TestAnEndFromOutsideIsNoFaultOfThePage(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(300*time.Millisecond, cancel)
	_, err := Runner{Bin: t.TempDir(), Limit: generous}.Run(ctx, Parse("p.md", block("sh", "sleep 1000")))
	if err == nil {
		t.Fatal("no error")
	}
}

// TestThePagesCanBeRead holds each page of this repository to its form, and the translations to their originals. That the pages do
// what they say is shown by "make docs-test", which has the programs.
func TestThePagesCanBeRead(t *testing.T) {
	paths, err := filepath.Glob("../../docs/*.md")
	if err != nil || len(paths) < 10 {
		t.Fatalf("found %q (%v)", paths, err)
	}
	pages := map[string]Page{}
	for _, path := range append(paths, "../../README.md") {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		pages[path] = Parse(path, string(text))
	}
	commands := 0
	for path, page := range pages {
		for _, f := range page.Faults {
			t.Error(f)
		}
		commands += len(page.Blocks)
		if original, ok := OriginalOf(path); ok {
			for _, f := range DifferencesOf(pages[original], page) {
				t.Error(f)
			}
		}
	}
	if commands < 20 {
		t.Fatalf("only %d blocks in all pages: they were not read", commands)
	}
}
