package agent

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"deviceagent/agent/durable"
	"deviceagent/bridge/catalogfile"
	"deviceagent/taskmanager/core/catalog"
)

// Folders beside the store. The name of a kept catalog carries the sum of its files: what a power cut or a bad disk has changed is not
// taken for good.
const (
	goodPrefix = "catalog.good-"
	keepGood   = 2
)

// Catalog reads the catalog in dir, and keeps a copy of a good one beside the store, written when it differs from the last only. A
// catalog that cannot be read or does not hold what it must is left where it is, and the last good one stands in: a file that was cut
// off or tampered with must not keep a robot from work that it could do. note says so, for people; "": nothing is wrong. dir "" is the
// catalog built in. Errors: every fault of the catalog, where nothing can stand in.
func Catalog(dir, stateDir string, builtin fs.FS) (cat *catalog.Catalog, note string, err error) {
	if dir == "" {
		cat, _, err = catalogfile.Load(builtin)
		return cat, "", err
	}
	if cat, _, err = catalogfile.Load(os.DirFS(dir)); err == nil {
		if kerr := keepCatalog(dir, stateDir); kerr != nil {
			note = fmt.Sprintf("the catalog is good and cannot be kept for a start with a bad one: %v", kerr)
		}
		return cat, note, nil
	}
	err = fmt.Errorf("catalog_dir %s: %w", dir, err)
	for _, good := range goodCatalogs(stateDir) {
		if last, _, lerr := catalogfile.Load(os.DirFS(good)); lerr == nil {
			return last, fmt.Sprintf("the catalog is bad, the last good one (%s) stands in: %v", good, err), nil
		}
	}
	return nil, "", err
}

// goodCatalogs lists the kept ones whose sum is right, the newest first.
func goodCatalogs(stateDir string) []string {
	paths, err := filepath.Glob(filepath.Join(stateDir, goodPrefix+"*"))
	if err != nil {
		return nil
	}
	when := map[string]time.Time{}
	paths = slices.DeleteFunc(paths, func(path string) bool {
		sum, _, err := readCatalogFiles(path)
		info, serr := os.Stat(path)
		if errors.Join(err, serr) != nil || filepath.Base(path) != goodPrefix+sum {
			return true
		}
		when[path] = info.ModTime()
		return false
	})
	slices.SortFunc(paths, func(a, b string) int { return when[b].Compare(when[a]) })
	return paths
}

// readCatalogFiles reads the files of a catalog, with their sum.
func readCatalogFiles(dir string) (sum string, files map[string][]byte, err error) {
	names, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		return "", nil, err
	}
	slices.Sort(names)
	h := sha256.New()
	files = map[string][]byte{}
	for _, path := range names {
		b, err := os.ReadFile(path)
		if err != nil {
			return "", nil, err
		}
		name := filepath.Base(path)
		files[name] = b
		fmt.Fprintf(h, "%s %d\n", name, len(b))
		h.Write(b)
	}
	return hex.EncodeToString(h.Sum(nil)[:8]), files, nil
}

// keepCatalog copies a catalog that is good, unless it is the newest that is kept. A cut leaves the copy whole, or none.
func keepCatalog(dir, stateDir string) error {
	sum, files, err := readCatalogFiles(dir)
	if err != nil {
		return err
	}
	kept := goodCatalogs(stateDir)
	to := filepath.Join(stateDir, goodPrefix+sum)
	if len(kept) > 0 && kept[0] == to {
		return nil
	}
	if err := errors.Join(os.MkdirAll(stateDir, 0o700), durable.Remove(to)); err != nil {
		return err
	}
	if err := durable.Folder(to, files); err != nil {
		return err
	}
	all, err := filepath.Glob(filepath.Join(stateDir, goodPrefix+"*"))
	good := goodCatalogs(stateDir)
	for _, path := range all {
		if i := slices.Index(good, path); strings.HasSuffix(path, sum) || i >= 0 && i < keepGood {
			continue
		}
		err = errors.Join(err, durable.Remove(path))
	}
	return err
}
