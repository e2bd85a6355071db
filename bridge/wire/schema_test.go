package wire

import (
	"bytes"
	"encoding/json"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

var update = flag.Bool("update", false, "rewrite the schemas and golden files")

const schemaBase = "urn:deviceagent:a2a-task-orchestration-v1:"

// extras are the rules between members that a schema can say too. They mirror crosscheck.go.
var extras = map[string]string{
	"Control": `{"allOf":[{"if":{"properties":{"verb":{"const":"cancel"}}},"else":{"properties":{"scope":{"not":{"const":"schedule"}}}}},
		{"if":{"properties":{"scope":{"const":"all"}}},"else":{"required":["target"]}},
		{"if":{"properties":{"scope":{"const":"step"}}},"then":{"properties":{"target":{"pattern":"/"}}},"else":{"properties":{"target":{"pattern":"^[^/]*$"}}}}]}`,
	"Decision": `{"allOf":[{"if":{"properties":{"action":{"enum":["replan_cloud","substitute","replan"]}}},"then":{"required":["plan"],"properties":{"plan":{"type":"object"}}},
		"else":{"properties":{"plan":{"type":"null"}}}},
		{"if":{"properties":{"action":{"enum":["ask_user","ask"]}}},"then":{"required":["question"],"properties":{"question":{"type":"object"}}},
		"else":{"properties":{"question":{"type":"null"}}}}]}`,
	"Ack": `{"oneOf":[{"required":["ref_id"]},{"required":["ref_sha256"]}]}`,
	"Request": `{"allOf":[
		{"if":{"properties":{"execution_target":{"const":"cloud"}},"required":["execution_target"]},
		 "then":{"required":["skill"]},
		 "else":{"anyOf":[{"required":["taskMethod"]},{"required":["token_text"]},{"required":["skill"]}]}},
		{"not":{"required":["skill","taskMethod"]}},
		{"not":{"required":["skill","token_text"]}},
		{"if":{"properties":{"wait_event":{"type":"object"}},"required":["wait_event"]},
		 "then":{"properties":{"wait_policy":{"const":"event"}},"required":["wait_policy"]}},
		{"if":{"required":["temporal_relation"]},"else":{"properties":{"temporal_anchor_id":false,"delay_ms":{"const":0},"not_before":false}}},
		{"if":{"required":["temporal_relation"],"properties":{"temporal_relation":{"const":"after_planned_step"}}},
		 "then":{"anyOf":[{"required":["temporal_anchor_id"]},{"required":["delay_ms"],"properties":{"delay_ms":{"minimum":1}}}]}},
		{"if":{"required":["temporal_relation"],"properties":{"temporal_relation":{"const":"at_time"}}},
		 "then":{"required":["not_before"],"properties":{"temporal_anchor_id":false,"delay_ms":{"const":0}}}},
		{"if":{"required":["temporal_relation"],"properties":{"temporal_relation":{"const":"after_existing_event"}}},
		 "then":{"required":["anchor_event"],"properties":{"temporal_anchor_id":false}},
		 "else":{"properties":{"anchor_event":false,"anchor_seen_at":false,"anchor_timeout_ms":{"const":0}}}}]}`,
	"RequiredEffect": `{"if":{"required":["until"]},"then":{"properties":{"kind":{"const":"maintain"}},"required":["kind"]}}`,
	"Condition": `{"oneOf":[{"required":["all"]},{"required":["any"]},{"required":["not"],"properties":{"not":{"type":"object"}}},{"required":["ref","op"]}],
		"allOf":[{"if":{"anyOf":[{"required":["op"]},{"required":["value"]},{"required":["max_age_ms"]}]},"then":{"required":["ref","op"]}},
		{"if":{"properties":{"op":{"const":"exists"}},"required":["op"]},"then":{"properties":{"value":{"type":"null"}}}},
		{"if":{"properties":{"op":{"const":"in"}},"required":["op"]},"then":{"required":["value"],"properties":{"value":{"type":"array"}}}},
		{"if":{"properties":{"op":{"enum":["eq","ne","lt","le","gt","ge"]}},"required":["op"]},"then":{"required":["value"],"properties":{"value":{"type":["boolean","number","string","object"]}}}}]}`,
}

const patternTime = `^\d{4}-\d\d-\d\dT([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d+)?(Z|[+-]([01]\d|2[0-4]):[0-5]\d)$`

var textRules = map[string]map[string]any{
	"":       {"maxLength": 8192},
	"text":   {"maxLength": 8192},
	"some":   {"minLength": 1, "maxLength": 8192},
	"id":     {"pattern": `^[A-Za-z0-9._:-]{1,128}$`},
	"ref":    {"pattern": `^[A-Za-z0-9._:@-]{1,128}$`},
	"target": {"pattern": `^[A-Za-z0-9._:@-]{1,128}(/[A-Za-z0-9._:@-]{1,128})?$`},
	"uuid7":  {"pattern": `^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`},
	"sha256": {"pattern": `^[0-9a-f]{64}$`},
	"time":   {"format": "date-time", "pattern": patternTime, "maxLength": 40},
}

// schemaWriter turns shapes into schemas, structs into $defs.
type schemaWriter struct {
	t    *testing.T
	defs map[string]any
}

func (g *schemaWriter) of(s *shape) map[string]any {
	switch s.kind {
	case kindText:
		return g.text(s.rule)
	case kindInt:
		return map[string]any{"type": "integer", "minimum": s.rule.lo, "maximum": s.rule.hi}
	case kindBool:
		return map[string]any{"type": "boolean"}
	case kindArray:
		m := map[string]any{"type": "array", "items": g.of(s.elem), "maxItems": maxArray}
		if s.rule.min > 0 {
			m["minItems"] = s.rule.min
		}
		return m
	case kindStruct:
		return g.ref(s.st)
	case kindMap:
		return map[string]any{"type": "object", "additionalProperties": g.of(s.elem), "minProperties": s.rule.min, "maxProperties": maxPairs,
			"propertyNames": map[string]any{"minLength": 1, "maxLength": 128}}
	case kindObject, kindBody:
		return map[string]any{"type": "object", "maxProperties": maxPairs}
	case kindValue:
		return map[string]any{}
	}
	var forms []any
	for _, f := range s.forms {
		if f != nil {
			forms = append(forms, g.of(f))
		}
	}
	return map[string]any{"anyOf": forms}
}

func (g *schemaWriter) text(r rule) map[string]any {
	m := map[string]any{"type": "string"}
	switch r.kind {
	case "const":
		return map[string]any{"const": r.want[0]}
	case "enum":
		return map[string]any{"enum": r.want}
	}
	rules, ok := textRules[r.kind]
	if !ok {
		g.t.Fatalf("no schema for rule %q", r.kind)
	}
	maps.Copy(m, rules)
	return m
}

func (g *schemaWriter) ref(o *object) map[string]any {
	if _, ok := g.defs[o.name]; !ok {
		g.defs[o.name] = nil // it may contain itself
		g.defs[o.name] = g.members(o)
	}
	return map[string]any{"$ref": "#/$defs/" + o.name}
}

func (g *schemaWriter) members(o *object) map[string]any {
	props, required := map[string]any{}, []string{}
	for _, f := range o.fields {
		props[f.name] = g.of(f.shape)
		if f.nullable {
			props[f.name] = map[string]any{"anyOf": []any{props[f.name], map[string]any{"type": "null"}}}
		}
		if o.required&f.bit != 0 {
			required = append(required, f.name)
		}
	}
	m := map[string]any{"type": "object", "properties": props, "required": required, "additionalProperties": false}
	if extra, ok := extras[o.name]; ok {
		if err := json.Unmarshal([]byte(extra), &m); err != nil {
			g.t.Fatal(err)
		}
	}
	return m
}

func (g *schemaWriter) document(name string, s *shape) []byte {
	g.defs = map[string]any{}
	m := g.of(s)
	m["$schema"], m["$id"] = "https://json-schema.org/draft/2020-12/schema", schemaBase+name
	m["title"], m["$defs"] = name+" of "+Version, g.defs
	if name == "envelope" {
		m["allOf"] = bodyByType()
	}
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(m); err != nil {
		g.t.Fatal(err)
	}
	return buf.Bytes()
}

func bodyByType() []any {
	var all []any
	for _, t := range slices.Sorted(maps.Keys(bodies)) {
		all = append(all, map[string]any{
			"if":   map[string]any{"properties": map[string]any{"type": map[string]any{"const": t}}},
			"then": map[string]any{"properties": map[string]any{"body": map[string]any{"$ref": schemaBase + string(t)}}},
		})
	}
	return all
}

// shapesByName are the documents that are published.
func shapesByName() map[string]*shape {
	all := map[string]*shape{"envelope": envelopeShape}
	for t, row := range bodies {
		all[string(t)] = row.shape
	}
	return all
}

func TestSchemaFilesSayWhatDecodeChecks(t *testing.T) {
	for name, s := range shapesByName() {
		g := schemaWriter{t: t}
		want, file := g.document(name, s), filepath.Join("schema", name+".json")
		if *update {
			if err := os.WriteFile(file, want, 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if got := schemaFile(name); !bytes.Equal(got, want) {
			t.Errorf("%s differs from the checks of Decode; run go test -update and review the diff", file)
		}
	}
	if Schema("nonsense") != nil {
		t.Error("a schema for a type that does not exist")
	}
}

// structsOf are the Go types behind the bodies, with what each $def must hold. Independent of shapes: by reflection alone.
func TestSchemasHoldEveryFieldOfTheGoTypes(t *testing.T) {
	roots := map[Type]reflect.Type{
		"envelope": reflect.TypeFor[Envelope](), TypePlan: reflect.TypeFor[Plan](), TypeControl: reflect.TypeFor[Control](),
		TypeStepResult: reflect.TypeFor[StepResult](), TypeReceipt: reflect.TypeFor[Receipt](), TypeAck: reflect.TypeFor[Ack](),
		TypeResult: reflect.TypeFor[Result](), TypeStepDue: reflect.TypeFor[StepDue](), TypeStatus: reflect.TypeFor[Status](),
		TypeDecision: reflect.TypeFor[Decision](), TypeEscalation: reflect.TypeFor[Escalation](),
		TypeQuestion: reflect.TypeFor[Question](), TypeAnswer: reflect.TypeFor[Answer](),
	}
	for name, root := range roots {
		var doc struct {
			Defs map[string]schemaDef `json:"$defs"`
		}
		if err := json.Unmarshal(schemaFile(string(name)), &doc); err != nil {
			t.Fatal(err)
		}
		want := map[string]reflect.Type{}
		collectStructs(root, want)
		if a, b := slices.Sorted(maps.Keys(doc.Defs)), slices.Sorted(maps.Keys(want)); !slices.Equal(a, b) {
			t.Errorf("%s: the schema has %v, the Go types are %v", name, a, b)
		}
		for def, typ := range want {
			compareDef(t, string(name)+"."+def, doc.Defs[def], typ)
		}
	}
}

type schemaDef struct {
	Type       string                    `json:"type"`
	Properties map[string]map[string]any `json:"properties"`
	Required   []string                  `json:"required"`
	Additional *bool                     `json:"additionalProperties"`
}

func compareDef(t *testing.T, at string, def schemaDef, typ reflect.Type) {
	if def.Type != "object" || def.Additional == nil || *def.Additional {
		t.Errorf("%s must be a closed object", at)
	}
	names, required := []string{}, []string{}
	for i := range typ.NumField() {
		f := typ.Field(i)
		name, opts, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "-" {
			continue
		}
		names = append(names, name)
		if !strings.Contains(opts, "omit") {
			required = append(required, name)
		}
		if got, want := schemaKind(def.Properties[name]), goKind(f.Type); got != want {
			t.Errorf("%s.%s is %q in the schema, %q in Go", at, name, got, want)
		}
	}
	if typ == reflect.TypeFor[Envelope]() {
		names, required = append(names, "body"), append(required, "body")
	}
	slices.Sort(names)
	slices.Sort(required)
	slices.Sort(def.Required)
	if got := slices.Sorted(maps.Keys(def.Properties)); !slices.Equal(got, names) {
		t.Errorf("%s has members %v, Go has %v", at, got, names)
	}
	if !slices.Equal(def.Required, required) {
		t.Errorf("%s requires %v, Go has no omitempty at %v", at, def.Required, required)
	}
}

func goKind(t reflect.Type) string {
	switch {
	case t == reflect.TypeFor[Value]():
		return "any"
	case t == reflect.TypeFor[InputFrom](), t == reflect.TypeFor[*InputFrom]():
		return "array|object"
	case t == reflect.TypeFor[Dependency](), t == reflect.TypeFor[RequiredEffect]():
		return "string|ref"
	}
	switch t.Kind() {
	case reflect.Pointer:
		return goKind(t.Elem())
	case reflect.Int64:
		return "integer"
	case reflect.Bool:
		return "boolean"
	case reflect.Slice:
		return "array of " + goKind(t.Elem())
	case reflect.Map:
		return "object"
	case reflect.Struct:
		return "ref"
	}
	return t.Kind().String()
}

func schemaKind(m map[string]any) string {
	if m == nil {
		return "absent"
	}
	if anyOf, ok := m["anyOf"].([]any); ok {
		var kinds []string
		for _, form := range anyOf {
			if k := schemaKind(form.(map[string]any)); k != "null" {
				kinds = append(kinds, k)
			}
		}
		for i, k := range kinds {
			kinds[i], _, _ = strings.Cut(k, " of ")
		}
		return strings.Join(kinds, "|")
	}
	switch {
	case len(m) == 0:
		return "any"
	case m["$ref"] != nil:
		return "ref"
	case m["const"] != nil, m["enum"] != nil:
		return "string"
	case m["type"] == "array":
		return "array of " + schemaKind(m["items"].(map[string]any))
	}
	return m["type"].(string)
}

func collectStructs(t reflect.Type, into map[string]reflect.Type) {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice:
		collectStructs(t.Elem(), into)
	case reflect.Struct:
		if t == reflect.TypeFor[Value]() || t == reflect.TypeFor[InputFrom]() || into[t.Name()] != nil {
			return
		}
		into[t.Name()] = t
		for i := range t.NumField() {
			if f := t.Field(i); f.Tag.Get("json") != "-" {
				collectStructs(f.Type, into)
			}
		}
	}
}

// compileSchemas gives the validator of a whole message.
func compileSchemas(t *testing.T) *jsonschema.Schema {
	t.Helper()
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	for name := range shapesByName() {
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(schemaFile(name)))
		if err != nil {
			t.Fatal(err)
		}
		if err := c.AddResource(schemaBase+name, doc); err != nil {
			t.Fatal(err)
		}
	}
	s, err := c.Compile(schemaBase + "envelope")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func schemaAccepts(t *testing.T, s *jsonschema.Schema, message []byte) error {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(message))
	if err != nil {
		t.Fatal(err)
	}
	return s.Validate(doc)
}
