package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"deviceagent/agent/diag"
	"deviceagent/bridge/catalogfile"
	defaults "deviceagent/packaging/catalog"
	"deviceagent/taskmanager/core"
	"deviceagent/taskmanager/core/catalog"
)

// catalogCmd works on catalog files, and asks no agent: they are written before one runs.
func (a *app) catalogCmd() *cobra.Command {
	cmd := &cobra.Command{Use: "catalog", Short: "Files that say what a robot can do", Args: cobra.NoArgs, RunE: func(*cobra.Command, []string) error { return usage("catalog check, export or add") }}
	cmd.AddCommand(
		&cobra.Command{Use: "check [DIR]", Short: "Every fault of the catalog in a folder; without DIR the built-in one", Args: cobra.MaximumNArgs(1), ValidArgsFunction: folders,
			RunE: func(_ *cobra.Command, args []string) error {
				from, files := "the built-in catalog", fs.FS(defaults.Files)
				if len(args) > 0 {
					from, files = args[0], os.DirFS(args[0])
				}
				c, _, err := catalogfile.Load(files)
				if err != nil {
					return badCatalog(from, err)
				}
				return a.tellCatalog("catalog.good", from, c, nil)
			}},
		&cobra.Command{Use: "export DIR", Short: "Write the built-in catalog into a new folder, to start from", Args: cobra.ExactArgs(1), ValidArgsFunction: folders,
			RunE: func(_ *cobra.Command, args []string) error { return a.exportCatalog(args[0]) }},
		&cobra.Command{Use: "add DIR FILE", Short: "Put the entries of a file into the catalog in a folder, unless that would make it bad", Args: cobra.ExactArgs(2),
			RunE: func(_ *cobra.Command, args []string) error { return a.addToCatalog(args[0], args[1]) }})
	return cmd
}

func folders(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveFilterDirs
}

// catalogDocument is what the commands tell of a catalog.
type catalogDocument struct {
	Dir        string   `json:"dir"`
	Etag       string   `json:"etag"`
	Operations int      `json:"operations"`
	Changed    []string `json:"changed,omitempty"` // files
}

func (a *app) tellCatalog(sentence, from string, c *catalog.Catalog, changed []string) error {
	raw, err := json.Marshal(catalogDocument{Dir: from, Etag: c.Etag, Operations: len(c.Operations), Changed: changed})
	if err != nil {
		return err
	}
	return emit(a, diag.Reply{Data: raw}, func(d catalogDocument, _ diag.AsOf) error {
		a.page.line("%s", tongue(a.lang).say(sentence, d.Dir, plural(d.Operations, "operation"), fmt.Sprintf("%.12s…", d.Etag)))
		return nil
	})
}

// badCatalog tells every fault, each with its file, line and path.
func badCatalog(from string, err error) error {
	p := diag.NewProblem(diag.CodeInvalidCatalog, from, "")
	faults, ok := errors.AsType[*catalogfile.Error](err)
	if !ok {
		p.Detail += ": " + err.Error()
		return p
	}
	for _, f := range faults.Faults {
		at := f.File
		if f.Line > 0 {
			at += fmt.Sprintf(":%d", f.Line)
		}
		message := f.Message
		if f.Path != "" {
			message = f.Path + ": " + message
		}
		p.Errors = append(p.Errors, core.Fault{Path: at, Message: message})
	}
	return p
}

func (a *app) exportCatalog(dir string) error {
	if entries, err := os.ReadDir(dir); err == nil && len(entries) > 0 {
		return diag.NewProblem(diag.CodeInvalidCatalog, dir+" is not empty, and a catalog of yours may be in it", "deviceagentctl catalog check "+dir)
	}
	if err := os.CopyFS(dir, defaults.Files); err != nil {
		return diag.NewProblem(diag.CodeInvalidCatalog, err.Error(), "")
	}
	c, _, err := catalogfile.Load(os.DirFS(dir))
	if err != nil {
		return badCatalog(dir, err)
	}
	return a.tellCatalog("catalog.exported", dir, c, nil)
}

func (a *app) addToCatalog(dir, name string) error {
	addition, err := a.readJSON(name)
	if err != nil {
		return err
	}
	changed, c, err := catalogfile.Add(os.DirFS(dir), addition)
	if err != nil {
		return badCatalog(name+" cannot be added to "+dir, err)
	}
	var names []string
	for file, text := range changed {
		if err := replaceFile(filepath.Join(dir, file), text); err != nil {
			return diag.NewProblem(diag.CodeInvalidCatalog, err.Error(), "deviceagentctl catalog check "+dir)
		}
		names = append(names, file)
	}
	slices.Sort(names)
	return a.tellCatalog("catalog.added", dir, c, names)
}

// replaceFile leaves the old file or the new one, whatever happens.
func replaceFile(path string, text []byte) error {
	fresh := path + ".new"
	if err := os.WriteFile(fresh, text, 0o644); err != nil {
		return err
	}
	return os.Rename(fresh, path)
}
