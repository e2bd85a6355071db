package doctest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Runner runs pages.
type Runner struct {
	Bin   string        // folder of the programs; put before the PATH
	Repo  string        // this repository, for its examples: the variable REPO
	Limit time.Duration // for one block
	On    string        // the machine that this is: only blocks for it are run, and what they name is really there. Empty: a developer's
}

// runs says whether a block is done here.
func (r Runner) runs(b Block) bool { return b.NotRun == "" && b.On == r.On }

// Report is how one page went.
type Report struct {
	Page   string
	Run    int      // blocks of commands that were run
	Files  int      // files that were written
	NotRun []NotRun // blocks that were not
	Faults []string // each begins with its place; empty: the page holds
	As     string   // a translation is not run: the page with the same commands that is
	Kept   string   // the folder, where it is kept for a look
	Took   time.Duration
}

// NotRun is a block that cannot be run here.
type NotRun struct {
	Line   int
	Reason string
}

// Run does what a page says, in a new and empty folder. The first block that does not hold ends it, since what follows builds on it.
// The error is of the machine, not of the page.
func (r Runner) Run(ctx context.Context, page Page) (rep Report, err error) {
	rep = Report{Page: page.Path, Faults: page.Faults}
	began := time.Now()
	defer func() { rep.Took = time.Since(began) }()
	run := 0
	for _, b := range page.Blocks {
		switch {
		case r.runs(b):
			run++
		case b.NotRun != "" && r.On == "":
			rep.NotRun = append(rep.NotRun, NotRun{b.Line, b.NotRun})
		case b.Kind == Commands && r.On == "":
			rep.NotRun = append(rep.NotRun, NotRun{b.Line, "it is for a machine of its own: " + b.On})
		}
	}
	if len(page.Faults) > 0 || run == 0 {
		return rep, nil
	}
	base, err := os.MkdirTemp("", "docs-") // a short name: a socket in it has 107 bytes
	if err != nil {
		return rep, fmt.Errorf("cannot make a folder for %s: %w", page.Path, err)
	}
	if err := r.runIn(ctx, base, page, &rep); err != nil {
		return rep, errors.Join(err, os.RemoveAll(base))
	}
	if len(rep.Faults) > 0 {
		rep.Kept = base
		return rep, nil
	}
	return rep, os.RemoveAll(base)
}

func (r Runner) runIn(ctx context.Context, base string, page Page, rep *Report) error {
	dir, scratch := filepath.Join(base, "d"), filepath.Join(base, "s")
	if err := errors.Join(os.Mkdir(dir, 0o755), os.Mkdir(scratch, 0o755)); err != nil {
		return fmt.Errorf("cannot make a folder for %s: %w", page.Path, err)
	}
	p := &places{}
	var err error
	if r.On == "" {
		p, err = newPlaces(filepath.Join(base, "r"), page)
	}
	if err != nil {
		return err
	}
	sh, err := openShell(dir, scratch, r.Bin, r.Repo)
	if err != nil {
		return err
	}
	defer sh.close()
	for _, b := range page.Blocks {
		if !r.runs(b) {
			continue
		}
		faults, err := r.do(ctx, sh, p, dir, b)
		if err != nil {
			return fmt.Errorf("%s:%d: %w", page.Path, b.Line, err)
		}
		switch b.Kind {
		case Commands:
			rep.Run++
		case File:
			rep.Files++
		}
		for _, f := range faults {
			rep.Faults = append(rep.Faults, fmt.Sprintf("%s:%d: %s", page.Path, f.line, f.text))
		}
		if len(faults) > 0 || ctx.Err() != nil {
			break
		}
	}
	return ctx.Err()
}

// fault is what is wrong with a block, at a line of the page.
type fault struct {
	line int
	text string
}

func (r Runner) do(ctx context.Context, sh *shell, p *places, dir string, b Block) ([]fault, error) {
	if b.Kind == File {
		return nil, writeFile(filepath.Join(dir, b.File), p.forRun(b.Text))
	}
	res, err := sh.run(ctx, p.forRun(b.Text), b.CtrlC, r.Limit)
	if err != nil {
		return nil, err
	}
	for i, f := range res.failures {
		res.failures[i].command = p.forPage(f.command)
	}
	for began := time.Now(); ; time.Sleep(lookEvery) {
		res.output = p.forPage(res.output)
		faults := judge(b, res, r.Limit)
		if len(faults) == 0 || !goesOn(b, res) || time.Since(began) > min(r.Limit, speakLimit) || ctx.Err() != nil {
			return faults, nil
		}
		if res.output, err = sh.output(); err != nil {
			return nil, err
		}
	}
}

const (
	lookEvery  = 50 * time.Millisecond
	speakLimit = 20 * time.Second // for a program in the background to say what the page shows
)

var inBackground = regexp.MustCompile(`(?m)[^&]&[ \t]*(#.*)?$`)

// goesOn says whether a block may still show what the page shows: a program that it left in the background speaks when it is ready.
func goesOn(b Block, res outcome) bool {
	return b.Shown != nil && inBackground.MatchString(b.Text) && !res.late && !res.gone && len(res.failures) == 0
}

func writeFile(path, text string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("cannot make the folder of a file: %w", err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		return fmt.Errorf("cannot write a file: %w", err)
	}
	return nil
}

// judge holds what a block did against what the page says of it.
func judge(b Block, res outcome, limit time.Duration) (faults []fault) {
	want, shown := 0, b.Shown
	if shown != nil {
		want = shown.Exit
	}
	show := "\n  it shows\n" + indented(trimmed(strings.Split(res.output, "\n")))
	switch {
	case res.late:
		return []fault{{b.Line, fmt.Sprintf("not ended after %s%s", limit, show)}}
	case res.gone:
		return []fault{{b.Line, "the shell has ended" + show}}
	}
	faults = exits(b, res.failures, want)
	switch {
	case len(faults) > 0:
		faults[0].text += show
	case shown != nil:
		if d := differs(shown.Lines, res.output); d != "" {
			faults = append(faults, fault{shown.Line, d})
		}
	}
	return faults
}

// exits: each command ends with 0, but for one where the page shows another code, and after Ctrl-C.
func exits(b Block, failures []failure, want int) (faults []fault) {
	met := want == 0
	for _, f := range failures {
		code, _ := strconv.Atoi(f.code) // bash wrote it
		switch {
		case !met && code == want:
			met = true
		case b.CtrlC > 0 && code == 130:
		default:
			at, _ := strconv.Atoi(f.line)
			faults = append(faults, fault{b.Line + at, fmt.Sprintf("exit %d of %s", code, f.command)})
		}
	}
	if !met && len(faults) == 0 {
		faults = append(faults, fault{b.Shown.Line, fmt.Sprintf("the page shows exit %d, all commands ended with 0", want)})
	}
	return faults
}
