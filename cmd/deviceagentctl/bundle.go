package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"deviceagent/agent/config"
	"deviceagent/agent/diag"
)

// entryMost bounds one file of a bundle. Bytes.
const entryMost = 4 << 20

// bundleFile is one file of a bundle, or why it is not in it.
type bundleFile struct {
	Name string `json:"name"`
	Size int    `json:"size"`
	Note string `json:"note,omitempty"` // why it is missing or cut
	data []byte
}

// bundleNote is the first file of a bundle.
type bundleNote struct {
	Tool       string       `json:"tool"`
	Made       string       `json:"made"`
	DeviceID   string       `json:"device_id,omitempty"`
	Agent      string       `json:"agent"` // running, or why it does not answer
	PersonData string       `json:"person_data"`
	Secrets    int          `json:"secrets_taken_out"`            // that stood in what was collected
	Unsearched []string     `json:"secrets_unsearched,omitempty"` // that could not be read, so that their values could not be searched for
	Files      []bundleFile `json:"files"`
}

func (a *app) bundleCmd() *cobra.Command {
	var since time.Duration
	var list, person bool
	var dir string
	cmd := &cobra.Command{Use: "bundle", Short: "Support archive: what the agent knows, its settings and logs; works without an agent, too", Args: cobra.NoArgs,
		Long: "Write a support archive and print its path. Words that people said, their reasons and what was measured of them are withheld\n" +
			"unless --with-person-data is given. Keys, passwords and certificates are never in it.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.bundle(cmd.Context(), bundleWish{since, list, person, dir})
		}}
	f := cmd.Flags()
	f.DurationVar(&since, "since", 24*time.Hour, "log lines of so long")
	f.BoolVar(&list, "list", false, "show what would be in it, write nothing")
	f.BoolVar(&person, "with-person-data", false, "with what people said and what was measured of them")
	f.StringVar(&dir, "dir", os.TempDir(), "folder to write it into")
	return cmd
}

type bundleWish struct {
	since        time.Duration
	list, person bool
	dir          string
}

func (a *app) bundle(ctx context.Context, w bundleWish) error {
	note := bundleNote{Tool: version, Made: time.Now().Format(time.RFC3339), Agent: "running", PersonData: "withheld"}
	if w.person {
		note.PersonData = "INCLUDED: what people said and what was measured of them is in these files"
	}
	for _, doc := range []struct{ name, path string }{{"status", "/status"}, {"version", "/version"}, {"plans", "/workflows?all=true"}, {"schedules", "/schedules"},
		{"context", "/context"}, {"executors", "/executors"}, {"config", "/config"}, {"identity", "/identity"}} {
		note.Files = append(note.Files, a.document(ctx, &note, doc.name, doc.path, w.person))
	}
	note.Files = append(note.Files, a.planDetails(ctx, w))
	note.Files = append(note.Files, a.settingsFiles(ctx)...)
	note.Files = append(note.Files, a.stateFiles(ctx), logLines(ctx, w.since))
	note.scrub(a.secretsOf(ctx))
	if w.person {
		a.note("%s", tongue(a.lang).say("bundle.person"))
	}
	if w.list {
		return a.tellBundle("", note)
	}
	path, err := pack(w.dir, note)
	if err != nil {
		return diag.NewProblem(diag.CodeFiles, err.Error(), "deviceagentctl bundle --dir DIR")
	}
	return a.tellBundle(path, note)
}

// secretsOf are those of this robot, as far as this user may read them.
func (a *app) secretsOf(ctx context.Context) (*secrets, []string) {
	r := &secrets{values: map[string]bool{}}
	rep, err := a.client.Get(ctx, "/config", nil)
	return r, r.learn(rowsOf(rep, err, a.stateDir(ctx, "")))
}

// scrub goes over all that was collected.
func (n *bundleNote) scrub(r *secrets, unsearched []string) {
	for i := range n.Files {
		f := &n.Files[i]
		f.Note = string(r.clean([]byte(f.Note)))
		if f.data != nil {
			f.data = r.clean(f.data)
			f.Size = len(f.data)
		}
	}
	n.Secrets, n.Unsearched = r.found, unsearched
}

func (a *app) tellBundle(path string, note bundleNote) error {
	raw, err := json.Marshal(struct {
		Path string `json:"path,omitempty"`
		bundleNote
	}{path, note})
	if err != nil {
		return err
	}
	return emit(a, diag.Reply{Data: raw}, func(struct{}, diag.AsOf) error {
		if path != "" {
			a.page.line("%s", path)
			return nil
		}
		for _, f := range note.Files {
			a.page.line("%-28s %8d  %s", f.Name, f.Size, clean(f.Note))
		}
		return nil
	})
}

// document is what the agent says under a path, without what it says of people.
func (a *app) document(ctx context.Context, note *bundleNote, name, path string, person bool) bundleFile {
	f := bundleFile{Name: name + ".json"}
	path, all, _ := strings.Cut(path, "?")
	query, _ := url.ParseQuery(all)
	rep, err := a.client.Get(ctx, path, query)
	if err != nil {
		f.Note = tongue("en").title(problemIn(err))
		if note.Agent == "running" && name == "status" {
			note.Agent = f.Note
		}
		return f
	}
	var v any
	if err := json.Unmarshal(rep.Data, &v); err != nil {
		f.Note = "cannot be read: " + err.Error()
		return f
	}
	if m, ok := v.(map[string]any); ok && name == "status" {
		note.DeviceID, _ = m["device_id"].(string)
	}
	if !person {
		v = withheld(v)
	}
	f.data, _ = json.MarshalIndent(v, "", " ")
	return f.cut()
}

// detailsMost bounds the plans that are told in full.
const detailsMost = 200

// planDetails tells each plan that is open, or ended within the time, with its evidence, and why it is where it is. One document a line.
func (a *app) planDetails(ctx context.Context, w bundleWish) bundleFile {
	f := bundleFile{Name: "plan-details.jsonl"}
	rep, err := a.client.Get(ctx, "/workflows", url.Values{"all": {"true"}})
	var rows []diag.Workflow
	if err == nil {
		err = json.Unmarshal(rep.Data, &rows)
	}
	if err != nil {
		f.Note = tongue("en").title(problemIn(err))
		return f
	}
	told := 0
	for _, row := range rows {
		if row.Ended != nil && row.Ended.AgeMS > w.since.Milliseconds() {
			continue
		}
		if told == detailsMost || len(f.data) > entryMost/2 {
			f.Note = fmt.Sprintf("cut: %d plans of %d", told, len(rows))
			break
		}
		told++
		for _, path := range []string{workflowPath(row.ID), workflowPath(row.ID) + "/why"} {
			rep, err := a.client.Get(ctx, path, nil)
			var v any
			if err != nil || json.Unmarshal(rep.Data, &v) != nil {
				continue // it was pruned meanwhile
			}
			if !w.person {
				v = withheld(v)
			}
			line, _ := json.Marshal(v)
			f.data = append(append(f.data, line...), '\n')
		}
	}
	return f.cut()
}

func problemIn(err error) *diag.Problem {
	if p, ok := errors.AsType[*diag.Problem](err); ok {
		return p
	}
	return diag.NewProblem(diag.CodeInternal, err.Error(), "")
}

// personal are the members of documents that hold a person's words.
var personal = map[string]bool{"goal": true, "utterance": true, "text": true, "why": true, "by": true, "said": true, "summary": true}

// measured are the members that hold a value of a person where their neighbour says so.
var measured = map[string]bool{"value": true, "data": true, "output": true}

// withheld takes out of a document what it says of people.
func withheld(v any) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = withheld(v[i])
		}
	case map[string]any:
		vital := false
		for _, name := range []string{"key", "event", "effect_id", "name"} {
			text, _ := v[name].(string)
			vital = vital || strings.HasPrefix(text, "vital")
		}
		for k, x := range v {
			_, text := x.(string)
			switch {
			case personal[k] && text, vital && measured[k], k == "output" && x != nil: // what a step gave back may be measured
				v[k] = "withheld"
			default:
				v[k] = withheld(x)
			}
		}
	}
	return v
}

// settingsFiles are the files of settings as they stand. They name the files of secrets and hold none; what is no plain file is left out.
func (a *app) settingsFiles(ctx context.Context) (out []bundleFile) {
	files, _ := config.DefaultFiles(installedRoot)
	state := a.stateDir(ctx, "")
	files = append(files, config.File{Path: config.Provisioned(state)})
	for i, file := range files {
		path := file.Path
		f := bundleFile{Name: fmt.Sprintf("settings/%02d-%s", i, safeName(filepath.Base(path)))}
		info, err := os.Lstat(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			f.Note = err.Error()
		case !info.Mode().IsRegular():
			f.Note = path + " is no plain file"
		default:
			read := func() (err error) { f.data, err = plainFile(path); return err }
			if i == len(files)-1 { // below a folder of the agent's user, who could lead root elsewhere
				err = asOwner(state, false, read)
			} else {
				err = read()
			}
			if err != nil {
				f.Note = err.Error()
			}
		}
		out = append(out, f.cut())
	}
	return out
}

// plainFile reads a file that is one: a link that was put in its place meanwhile is not followed.
func plainFile(path string) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, entryMost+1))
}

// stateFiles tells what lies in state_dir, without opening any of it.
func (a *app) stateFiles(ctx context.Context) bundleFile {
	f := bundleFile{Name: "state-dir.txt"}
	dir := a.stateDir(ctx, "")
	var b bytes.Buffer
	fmt.Fprintln(&b, dir)
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			fmt.Fprintln(&b, err)
			return nil
		}
		if info, err := d.Info(); err == nil {
			rel, _ := filepath.Rel(dir, path)
			fmt.Fprintf(&b, "%s %10d %s %s\n", info.Mode(), info.Size(), info.ModTime().Format(time.RFC3339), rel)
		}
		return nil
	})
	if err != nil {
		f.Note = err.Error()
	}
	f.data = b.Bytes()
	return f.cut()
}

// logLines are those of the agent that the journal has.
func logLines(ctx context.Context, since time.Duration) bundleFile {
	f := bundleFile{Name: "log.txt"}
	ctx, stop := context.WithTimeout(ctx, 20*time.Second)
	defer stop()
	out, err := exec.CommandContext(ctx, "journalctl", "--no-pager", "--lines=20000", "-o", "short-iso", "-u", "deviceagent.service", "--since", fmt.Sprintf("-%ds", int(since.Seconds()))).Output()
	if err != nil {
		f.Note = "no log: " + err.Error()
		return f
	}
	if over := len(out) - entryMost; over > 0 {
		out, f.Note = out[over:], "cut: the newest lines only"
	}
	f.data = out
	f.Size = len(out)
	return f
}

func (f bundleFile) cut() bundleFile {
	if len(f.data) > entryMost {
		f.data, f.Note = f.data[:entryMost], "cut"
	}
	f.Size = len(f.data)
	return f
}

// safeName keeps of a name what cannot lead anywhere.
func safeName(name string) string {
	return strings.TrimLeft(strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.ContainsRune("._-", c) {
			return c
		}
		return '_'
	}, name), ".")
}

// pack writes the archive, new and for its owner only. All names in it are relative, below one folder.
func pack(dir string, note bundleNote) (path string, err error) {
	name := "deviceagent-" + safeName(orText(note.DeviceID, "unnamed")) + "-" + time.Now().Format("20060102T150405Z0700")
	name = safeName(strings.ReplaceAll(name, "+", "p"))
	path = filepath.Join(dir, name+".tar.gz")
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return "", fmt.Errorf("cannot write the bundle: %w", err)
	}
	defer func() {
		if cerr := f.Close(); err == nil {
			err = cerr
		}
		if err != nil {
			_ = os.Remove(path)
		}
	}()
	z := gzip.NewWriter(f)
	t := tar.NewWriter(z)
	about, err := json.MarshalIndent(note, "", " ")
	if err != nil {
		return "", err
	}
	for _, e := range append([]bundleFile{{Name: "bundle.json", data: about}}, note.Files...) {
		if e.data == nil {
			continue
		}
		h := &tar.Header{Name: name + "/" + e.Name, Mode: 0o600, Size: int64(len(e.data)), ModTime: time.Now(), Typeflag: tar.TypeReg}
		if err := t.WriteHeader(h); err != nil {
			return "", err
		}
		if _, err := t.Write(e.data); err != nil {
			return "", err
		}
	}
	return path, errors.Join(t.Close(), z.Close())
}
