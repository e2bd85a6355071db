package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// options are the flags.
type options struct {
	out, root, nfpm, fresh string
	tags                   string
	arches, formats        string
	twice                  bool
}

func main() {
	var o options
	flag.StringVar(&o.out, "out", "dist", "`folder` for the packages")
	flag.StringVar(&o.root, "root", ".", "`folder` of the source")
	flag.StringVar(&o.nfpm, "nfpm", "", "the nfpm `program`; empty: build the pinned one")
	flag.StringVar(&o.arches, "arch", "", "only these architectures, with commas")
	flag.StringVar(&o.formats, "format", "", "only these formats, with commas")
	flag.StringVar(&o.fresh, "fresh", "", "compile this `architecture` from nothing")
	flag.StringVar(&o.tags, "tags", "", "build `tags` of the Go programs, for tests")
	flag.BoolVar(&o.twice, "twice", false, "make everything once more elsewhere, and compare")
	flag.Parse()
	if err := run(o); err != nil {
		fmt.Fprintln(os.Stderr, "pack:", err)
		os.Exit(1)
	}
}

func run(o options) error {
	which, err := chosen(o.arches)
	if err != nil {
		return err
	}
	kinds := formats
	if o.formats != "" {
		kinds = strings.Split(o.formats, ",")
	}
	for _, at := range []*string{&o.out, &o.root, &o.nfpm} {
		if *at != "" {
			if *at, err = filepath.Abs(*at); err != nil {
				return err
			}
		}
	}
	r, err := releaseOf(o.root, os.Getenv)
	if err != nil {
		return err
	}
	if o.nfpm == "" {
		if o.nfpm, err = buildNfpm(o); err != nil {
			return err
		}
	}
	s := stage{root: o.root, dir: filepath.Join(o.out, "stage"), fresh: o.fresh, tags: o.tags, release: r}
	if err := s.make(o, which, kinds); err != nil {
		return err
	}
	if err := s.checkAll(o, which, kinds); err != nil {
		return err
	}
	sums, err := sumsOf(o.out)
	if err != nil {
		return err
	}
	if o.twice {
		if err := again(o, r, sums); err != nil {
			return err
		}
	}
	return tell(o, sums)
}

func chosen(list string) (out []arch, err error) {
	if list == "" {
		return arches, nil
	}
	for _, name := range strings.Split(list, ",") {
		i := slices.IndexFunc(arches, func(a arch) bool { return a.name == name })
		if i < 0 {
			return nil, fmt.Errorf("cannot pack for %q: there is no such architecture here", name)
		}
		out = append(out, arches[i])
	}
	return out, nil
}

// buildNfpm builds the packager of packaging/nfpm/go.mod.
func buildNfpm(o options) (string, error) {
	at := filepath.Join(o.out, "tool", "nfpm")
	cmd := exec.Command("go", "build", "-trimpath", "-o", at, "github.com/goreleaser/nfpm/v2/cmd/nfpm")
	cmd.Dir = filepath.Join(o.root, "packaging/nfpm")
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=readonly")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("cannot build nfpm: %w\n%s", err, out)
	}
	return at, nil
}

// workers bounds how many packages are pressed at a time; each takes a processor and some 100 MB.
const workers = 2

// make fills the stage and makes every package in out. What was there is removed, but for tools.
func (s stage) make(o options, which []arch, kinds []string) error {
	old, err := filepath.Glob(filepath.Join(o.out, "deviceagent*"))
	if err != nil {
		return err
	}
	for _, at := range append(old, s.dir) {
		if err := os.RemoveAll(at); err != nil {
			return err
		}
	}
	if err := s.fill(which); err != nil {
		return err
	}
	var wg sync.WaitGroup
	slots, errs := make(chan bool, workers), make(chan error, len(products)*len(which)*len(kinds))
	each(which, kinds, func(p product, a arch, format string) {
		wg.Go(func() {
			slots <- true
			defer func() { <-slots }()
			errs <- s.pack(o.nfpm, o.out, p, a, format)
		})
	})
	wg.Wait()
	close(errs)
	for e := range errs {
		err = errors.Join(err, e)
	}
	return err
}

// checkAll unpacks every package and reports all faults at once.
func (s stage) checkAll(o options, which []arch, kinds []string) (err error) {
	each(which, kinds, func(p product, a arch, format string) {
		faults, e := s.check(filepath.Join(o.out, s.fileName(p, a, format)), p, a, format)
		err = errors.Join(err, e)
		for _, f := range faults {
			err = errors.Join(err, errors.New(f))
		}
	})
	return err
}

// each calls do for every package.
func each(which []arch, kinds []string, do func(p product, a arch, format string)) {
	for _, p := range products {
		for _, a := range which {
			for _, format := range kinds {
				do(p, a, format)
			}
		}
	}
}
