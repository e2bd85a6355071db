package mutant

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"
)

// Verdict is what became of a mutant.
type Verdict string

// The verdicts. Only Caught is well.
const (
	Caught   Verdict = "caught"
	Survived Verdict = "SURVIVED" // every test passes without the guard
	Broken   Verdict = "ERROR"    // it does not apply, does not compile, or its tests fail with the guard as well
)

// Result is what became of one mutant.
type Result struct {
	Mutant
	At      string // file:line of the first change, the file alone if it does not apply
	Verdict Verdict
	By      string // the test that noticed, or what went wrong
	Took    time.Duration
}

func (r Result) String() string {
	return fmt.Sprintf("%-8s %5.1f s  %s (%s): %s", r.Verdict, r.Took.Seconds(), r.Name, r.At, r.By)
}

// Runner tries mutants of the tree at Root.
type Runner struct {
	Root    string
	Workers int           // that many at a time, each in a copy of its own; 0: 1
	Limit   time.Duration // for the tests of one mutant; 0: one minute
}

// Run tries every mutant and tells each result as it comes. Errors: no copy can be made, ctx ended.
func (r Runner) Run(ctx context.Context, all []Mutant, tell func(Result)) error {
	if r.Limit == 0 {
		r.Limit = time.Minute
	}
	dir, err := os.MkdirTemp("", "mutants-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	work, results := make(chan Mutant), make(chan Result)
	fine := baseline{known: map[string]*outcome{}}
	var wg sync.WaitGroup
	var errs [1]error
	var once sync.Once
	for n := range max(1, r.Workers) {
		wg.Go(func() {
			tree := filepath.Join(dir, fmt.Sprint(n))
			if err := copyTree(tree, r.Root); err != nil {
				once.Do(func() { errs[0] = err })
				for range work { // nobody else must wait
				}
				return
			}
			for m := range work {
				results <- r.try(ctx, tree, m, &fine)
			}
		})
	}
	go func() {
		for _, m := range all {
			if ctx.Err() == nil {
				work <- m
			}
		}
		close(work)
		wg.Wait()
		close(results)
	}()
	for res := range results {
		tell(res)
	}
	return errors.Join(errs[0], ctx.Err())
}

// baseline remembers how tests end in the tree as it is, so that one that fails anyway catches nothing.
type baseline struct {
	mu    sync.Mutex
	known map[string]*outcome
}

type outcome struct {
	once sync.Once
	err  error
}

func (b *baseline) of(key string) *outcome {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.known[key] == nil {
		b.known[key] = &outcome{}
	}
	return b.known[key]
}

func (r Runner) try(ctx context.Context, tree string, m Mutant, fine *baseline) (res Result) {
	start := time.Now()
	res = Result{Mutant: m, Verdict: Broken}
	defer func() { res.Took = time.Since(start) }()
	was, now, at, err := m.apply(func(file string) (string, error) {
		text, err := os.ReadFile(filepath.Join(tree, filepath.FromSlash(file)))
		return string(text), err
	})
	if res.At = at; err != nil {
		res.By = err.Error()
		return res
	}
	sound := fine.of(m.Package + " " + m.Run)
	sound.once.Do(func() { sound.err = r.passes(ctx, tree, m) })
	if sound.err != nil {
		res.By = sound.err.Error()
		return res
	}
	defer func() {
		if err := write(tree, was); err != nil {
			res.Verdict, res.By = Broken, err.Error()
		}
	}()
	if err := write(tree, now); err != nil {
		res.By = err.Error()
		return res
	}
	run := r.test(ctx, tree, m)
	switch {
	case run.compile != "":
		res.By = "does not compile: " + run.compile
	case ctx.Err() != nil:
		res.By = ctx.Err().Error()
	case run.ok:
		res.Verdict, res.By = Survived, m.Package+" "+m.Run
	default:
		res.Verdict, res.By = Caught, run.failed
	}
	return res
}

func write(tree string, files map[string]string) error {
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(tree, filepath.FromSlash(name)), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// passes says what is wrong with the tests of a mutant before anything was changed.
func (r Runner) passes(ctx context.Context, tree string, m Mutant) error {
	switch run := r.test(ctx, tree, m); {
	case run.compile != "":
		return fmt.Errorf("the tests do not compile: %s", run.compile)
	case run.none:
		return fmt.Errorf("no test of %s matches %s", m.Package, m.Run)
	case !run.ok:
		return fmt.Errorf("fails with the guard as well: %s", run.failed)
	}
	return nil
}

// testRun is how a run of tests ended.
type testRun struct {
	compile string // the first error of the compiler
	ok      bool
	none    bool   // no test ran
	failed  string // the first test that failed, or how it ended otherwise
}

var (
	failedTest = regexp.MustCompile(`(?m)^\s*--- FAIL: (\S+)`)
	panicLine  = regexp.MustCompile(`(?m)^(?:panic|fatal error): (.+)$`)
)

// test builds the tests of a package and runs those that the mutant names.
func (r Runner) test(ctx context.Context, tree string, m Mutant) (out testRun) {
	program := filepath.Join(tree, ".mutant.test")
	build := exec.CommandContext(ctx, "go", "test", "-c", "-trimpath", "-vet=off", "-o", program, "./"+m.Package)
	build.Dir = tree
	if text, err := build.CombinedOutput(); err != nil {
		out.compile = firstError(text)
		return out
	}
	run := exec.CommandContext(ctx, program, "-test.run", m.Run, "-test.failfast", "-test.count=1", "-test.v", "-test.timeout", r.Limit.String())
	run.Dir = filepath.Join(tree, filepath.FromSlash(m.Package))
	text, err := run.CombinedOutput()
	out.ok, out.none = err == nil, bytes.Contains(text, []byte("testing: warning: no tests to run"))
	switch found := failedTest.FindSubmatch(text); {
	case err == nil:
	case found != nil:
		out.failed = string(found[1])
	default:
		out.failed = err.Error()
		if p := panicLine.FindSubmatch(text); p != nil {
			out.failed = string(p[1])
		}
	}
	return out
}

// firstError is the first line of the compiler that is not a heading.
func firstError(text []byte) string {
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			return line
		}
	}
	return "no reason given"
}

// copyTree copies the files of a tree but for what is built and what version control keeps.
func copyTree(to, from string) error {
	return filepath.WalkDir(from, func(p string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, p)
		if err != nil {
			return err
		}
		target := filepath.Join(to, rel)
		switch {
		case rel == "bin" || rel == ".git":
			if e.IsDir() {
				return fs.SkipDir
			}
			return nil
		case e.IsDir():
			return os.MkdirAll(target, 0o755)
		case !e.Type().IsRegular():
			return nil
		}
		data, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		return os.WriteFile(target, data, 0o644)
	})
}
