package catalogfile

import (
	"errors"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	defaults "deviceagent/packaging/catalog"
)

// schemaBase is the name under which the schemas refer to each other. It is never fetched: a reference to anything that is not
// embedded is an error.
const schemaBase = "https://deviceagent.example/catalog/"

// schemas compiles the embedded schemas. They are ours, so a fault in them is a bug that every test finds.
var schemas = sync.OnceValue(func() map[string]*jsonschema.Schema {
	compiler := jsonschema.NewCompiler()
	compiler.UseLoader(jsonschema.SchemeURLLoader{})
	names, err := fs.Glob(defaults.Files, "schema/*.schema.json")
	if err != nil {
		panic("internal error: " + err.Error())
	}
	for _, name := range names {
		root, _, fault := readFile(defaults.Files, name)
		if fault != nil {
			panic("internal error: " + fault.String())
		}
		if err := compiler.AddResource(schemaBase+strings.TrimPrefix(name, "schema/"), root.plain()); err != nil {
			panic("internal error: " + err.Error())
		}
	}
	compiled := map[string]*jsonschema.Schema{}
	for _, f := range files {
		compiled[f.name] = compiler.MustCompile(schemaBase + strings.TrimSuffix(f.name, ".json") + ".schema.json")
	}
	return compiled
})

// breach is one fault against a schema, at the place that the tokens lead to.
type breach struct {
	at      []string
	message string
}

// breaches validates a tree and gives the innermost faults, each once.
func breaches(file string, root *node) []breach {
	err := schemas()[file].Validate(root.plain())
	invalid, ok := errors.AsType[*jsonschema.ValidationError](err)
	if !ok {
		return nil
	}
	var found []breach
	seen := map[string]bool{}
	var walk func(*jsonschema.ValidationError)
	walk = func(e *jsonschema.ValidationError) {
		for _, cause := range e.Causes {
			walk(cause)
		}
		if len(e.Causes) > 0 {
			return
		}
		for _, b := range explain(e) {
			if key := strings.Join(b.at, "\x00") + "\x01" + b.message; !seen[key] {
				seen[key] = true
				found = append(found, b)
			}
		}
	}
	walk(invalid)
	return found
}

// explain puts an unknown member where it stands, in words that say what to do; the library's own words do for the rest.
func explain(e *jsonschema.ValidationError) []breach {
	extra, ok := e.ErrorKind.(*kind.AdditionalProperties)
	if !ok {
		return []breach{{e.InstanceLocation, e.ErrorKind.LocalizedString(english)}}
	}
	var found []breach
	for _, name := range extra.Properties {
		found = append(found, breach{append(slices.Clone(e.InstanceLocation), name), "is no name that is known or allowed here; check the spelling or leave it out"})
	}
	return found
}

var english = message.NewPrinter(language.English)

// find follows tokens as far as they lead.
func (n *node) find(tokens []string) *node {
	for _, token := range tokens {
		next := n.members[token]
		if i, err := strconv.Atoi(token); n.isList && err == nil && i >= 0 && i < len(n.items) {
			next = n.items[i]
		}
		if next == nil {
			return n
		}
		n = next
	}
	return n
}
