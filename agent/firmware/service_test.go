package firmware

import (
	"encoding/xml"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	godbus "github.com/godbus/dbus/v5"

	busfiles "deviceagent/packaging/dbus"
)

type xmlNode struct {
	Interfaces []struct {
		Name    string `xml:"name,attr"`
		Methods []struct {
			Name string   `xml:"name,attr"`
			Args []xmlArg `xml:"arg"`
			Docs []xmlDoc `xml:"annotation"`
		} `xml:"method"`
		Signals []struct {
			Name string   `xml:"name,attr"`
			Args []xmlArg `xml:"arg"`
			Docs []xmlDoc `xml:"annotation"`
		} `xml:"signal"`
		Properties []struct {
			Name   string   `xml:"name,attr"`
			Type   string   `xml:"type,attr"`
			Access string   `xml:"access,attr"`
			Docs   []xmlDoc `xml:"annotation"`
		} `xml:"property"`
	} `xml:"interface"`
}

type xmlArg struct {
	Name      string `xml:"name,attr"`
	Type      string `xml:"type,attr"`
	Direction string `xml:"direction,attr"`
}

type xmlDoc struct {
	Name  string `xml:"name,attr"`
	Value string `xml:"value,attr"`
}

// The installed XML, the methods of the code and what really travels are one.
func TestTheXMLIsTheInterface(t *testing.T) {
	var node xmlNode
	if err := xml.Unmarshal([]byte(busfiles.Agent1), &node); err != nil {
		t.Fatal(err)
	}
	if len(node.Interfaces) != 1 || node.Interfaces[0].Name != Interface {
		t.Fatalf("interfaces: %+v", node.Interfaces)
	}
	in := node.Interfaces[0]
	var written, coded []string
	for _, m := range in.Methods {
		ins, outs := "", ""
		for _, a := range m.Args {
			if a.Name == "" {
				t.Errorf("%s has an argument without a name", m.Name)
			}
			if a.Direction == "out" {
				outs += a.Type
			} else {
				ins += a.Type
			}
		}
		written = append(written, m.Name+"("+ins+")"+outs)
		if len(m.Docs) == 0 || m.Docs[0].Name != "org.freedesktop.DBus.DocString" || len(m.Docs[0].Value) < 20 {
			t.Errorf("method %s does not say what it is for", m.Name)
		}
	}
	for name, f := range (exported{}).methods() {
		typ := reflect.TypeOf(f)
		ins, outs := "", ""
		for j := range typ.NumIn() {
			if typ.In(j) != reflect.TypeFor[godbus.Sender]() {
				ins += godbus.SignatureOfType(typ.In(j)).String()
			}
		}
		for j := range typ.NumOut() - 1 {
			outs += godbus.SignatureOfType(typ.Out(j)).String()
		}
		coded = append(coded, name+"("+ins+")"+outs)
	}
	slices.Sort(written)
	slices.Sort(coded)
	if !slices.Equal(written, coded) {
		t.Errorf("the XML has\n  %s\nthe code\n  %s", strings.Join(written, "\n  "), strings.Join(coded, "\n  "))
	}
	for _, s := range in.Signals {
		if len(s.Docs) == 0 {
			t.Errorf("signal %s does not say what it is for", s.Name)
		}
	}

	r := serve(t, startDaemon(t, lax), nil)
	g := r.join()
	var all map[string]godbus.Variant
	if fail := g.asks(properties+".GetAll", args(Interface), &all); fail != "" {
		t.Fatal(fail)
	}
	for _, p := range in.Properties {
		if v, ok := all[p.Name]; !ok || v.Signature().String() != p.Type || p.Access != "read" {
			t.Errorf("property %s is %v (%s, %s)", p.Name, v, p.Type, p.Access)
		}
		delete(all, p.Name)
	}
	if len(all) > 0 {
		t.Errorf("properties that the XML does not have: %v", all)
	}
	var text string
	if fail := g.asks("org.freedesktop.DBus.Introspectable.Introspect", nil, &text); fail != "" || text != busfiles.Agent1 {
		t.Errorf("introspection gives other bytes than are installed (%s)", fail)
	}
	if fail := g.asks(properties+".Set", args(Interface, "Mode", godbus.MakeVariant("manual"))); fail != busError+"PropertyReadOnly" {
		t.Errorf("a property was set: %s", fail)
	}
}

// A plan from a program on the robot goes the way of all plans; what becomes of it is signalled, and stands in the status.
func TestAPlanFromTheRobotIsFollowedOnTheBus(t *testing.T) {
	r := serve(t, startDaemon(t, lax), nil)
	g := r.join()
	g.listen()
	g.submits(r.home, movePlan)
	g.hears("GoalChanged[wf_1 active")
	g.hears("StepChanged[wf_1 step_1 running")
	eventually(t, "Moving", func() bool { return g.property("Moving") == true })
	g.hears("PropertiesChanged[" + Interface + " map[Moving:true")
	var st map[string]godbus.Variant
	if fail := g.asks("Status", nil, &st); fail != "" {
		t.Fatal(fail)
	}
	if text := fmt.Sprint(st); !strings.Contains(text, "wf_1") || st["OpenWorkflows"].Value() != uint32(1) || st["DeviceId"].Value() != "rb-7f21" || st["Ready"].Value() != true {
		t.Errorf("status: %s", text)
	}
	r.home.does(func() { r.home.Arrive("living_room") })
	g.hears("StepChanged[wf_1 step_1 completed")
}

// Whatever is wrong with a plan is named with its place, and nothing is taken of it.
func TestABadPlanIsRefusedWithItsFaults(t *testing.T) {
	r := serve(t, startDaemon(t, lax), nil)
	g := r.join()
	var ok bool
	var id, code string
	var faults []fault
	bad := strings.Replace(movePlan, `"setMoveTo"`, `"flyTo"`, 1)
	if fail := g.asks("Submit", args(bad), &ok, &id, &code, &faults); fail != "" || ok || code == "" || len(faults) == 0 || !strings.Contains(faults[0].Path, "device_task_requests") {
		t.Errorf("%s accepted %v, %s, faults %v", fail, ok, code, faults)
	}
	for _, text := range []string{"", "{", "[]", `{} {}`, movePlan + `,"x":1`} {
		if fail := g.asks("Submit", args(text), &ok, &id, &code, &faults); fail != busError+"InvalidArgs" {
			t.Errorf("%.20q: %q", text, fail)
		}
	}
}

// A cancel says what is being stopped, and nothing of that scope goes on.
func TestCancelOnTheBus(t *testing.T) {
	r := serve(t, startDaemon(t, lax), nil)
	g := r.join()
	g.listen()
	g.submits(r.home, movePlan)
	var ok bool
	var state, code string
	var stopping []string
	if fail := g.asks("Cancel", args("workflow", "wf_1", "button"), &ok, &state, &code, &stopping); fail != "" || !ok || !slices.Contains(stopping, "base") {
		t.Fatalf("%s accepted %v %s %s, stopping %v", fail, ok, state, code, stopping)
	}
	g.hears("GoalChanged[wf_1 cancelling user_cancelled")
	if fail := g.asks("Cancel", args("workflow", "wf_9", "button"), &ok, &state, &code, &stopping); fail != "" || ok || code != "unknown_target" {
		t.Errorf("%s accepted %v %s", fail, ok, code)
	}
	if fail := g.asks("Cancel", args("planet", "", "button"), &ok, &state, &code, &stopping); fail != "" || ok || code == "" {
		t.Errorf("%s accepted %v %s", fail, ok, code)
	}
	if fail := g.asks("Cancel", args("all", "", ""), &ok, &state, &code, &stopping); fail != busError+"InvalidArgs" {
		t.Errorf("a cancel without a reason: %q", fail)
	}
	if fail := g.asks("Cancel", args("all", "", "stop everything"), &ok, &state, &code, &stopping); fail != "" || !ok {
		t.Errorf("%s accepted %v %s", fail, ok, code)
	}
	all := r.home.messages()
	if text := all[len(all)-1]; !strings.Contains(text, `"requested_by":"bus uid `) {
		t.Errorf("who cancelled is not in the message: %s", text)
	}
}
