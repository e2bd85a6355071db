package taskmanager

import (
	"deviceagent/taskmanager/core"
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
)

// CanReplay says whether the kind of event whose constant in package core has this name can be read back.
func CanReplay(constant string) bool {
	pkgs, err := parser.ParseDir(token.NewFileSet(), "core", nil, 0)
	if err != nil {
		return false
	}
	text := ""
	for _, file := range pkgs["core"].Files {
		ast.Inspect(file, func(n ast.Node) bool {
			if v, ok := n.(*ast.ValueSpec); ok && v.Names[0].Name == constant && len(v.Values) == 1 {
				text, _ = strconv.Unquote(v.Values[0].(*ast.BasicLit).Value)
			}
			return true
		})
	}
	_, ok := kinds[core.EventKind(text)]
	return ok
}
