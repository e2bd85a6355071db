package catalog

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// process checks how a program is run: what would fail at each dispatch fails when the catalog is loaded.
func (k *checker) process(op Operation) {
	p := op.Binding.Process
	switch {
	case op.Binding.Kind != "process" && p == nil:
		return
	case op.Binding.Kind != "process":
		k.add("executor.process", "is for kind process, and this is kind %s", op.Binding.Kind)
		return
	case p == nil:
		k.add("executor.process", "is missing; it says which program is run")
		return
	}
	if len(p.Argv) == 0 || !strings.HasPrefix(p.Argv[0], "/") || len(Placeholders(p.Argv[0])) > 0 {
		k.add("executor.process.argv", "begins with the full path of the program, as in /usr/lib/lamp/set; there is no shell that looks for it")
	}
	for i, element := range p.Argv {
		k.placeholders("executor.process.argv["+strconv.Itoa(i)+"]", op, element)
	}
	k.oneOf("executor.process.accept", p.Accept, "", AcceptByStart, AcceptByLine)
	for _, code := range slices.Sorted(maps.Keys(p.Exit)) {
		if n, err := strconv.Atoi(code); err != nil || n < 0 || n > 255 {
			k.add(JoinPath("executor.process.exit", code), "is no exit code; those are 0 to 255")
		}
	}
	for name := range p.Env {
		if name == "" || strings.ContainsAny(name, "=\x00") {
			k.add("executor.process.env", "%q is no name of a variable", name)
		}
	}
	known(k, "executor.process.keys", k.c.Context, p.Keys...)
	if op.Pause {
		k.add("pause", "a program cannot pause: it takes no word while it runs")
	}
	if op.Probe == ProbeDurable {
		k.add("probe", "is durable, and what the agent remembers of a program ends with the agent: volatile or none")
	}
}

func (k *checker) placeholders(path string, op Operation, element string) {
	names := Placeholders(element)
	if strings.Count(element, "{") != len(names) || strings.Count(element, "}") != len(names) {
		k.add(path, "%q has a brace that belongs to no {name}", element)
	}
	for _, name := range names {
		switch p, ok := op.Params[name]; {
		case !ok:
			k.add(path, "{%s} names no parameter of the operation", name)
		case !p.Required && p.Default == nil:
			k.add(path, "{%s} may be left out of a plan, and then there is nothing to run the program with: give it a default or make it required", name)
		}
	}
}
