package config

import (
	"encoding"
	"fmt"
	"reflect"
	"strconv"
	"strings"
)

// Key is one setting, as the reference, the flags and the environment know it.
type Key struct {
	Name    string // "broker.keepalive"
	Env     string // "DEVICEAGENT_BROKER_KEEPALIVE"
	Flag    string // "broker-keepalive", without dashes in front
	Doc     string
	Allowed string
	Kind    string // text, true/false, number, duration, size
	Default string // as written in a file

	index []int
}

// keys is every setting, in the order of the struct.
var keys = listKeys(reflect.TypeFor[Config](), "", nil)

// Keys lists every setting, in the order of the reference.
func Keys() []Key {
	out := make([]Key, len(keys))
	def := Default()
	for i, k := range keys {
		k.Default = k.literal(&def)
		out[i] = k
	}
	return out
}

func listKeys(t reflect.Type, prefix string, at []int) (out []Key) {
	for i := range t.NumField() {
		f := t.Field(i)
		name := prefix + f.Tag.Get("toml")
		index := append(append([]int(nil), at...), i)
		if f.Type.Kind() == reflect.Struct {
			out = append(out, listKeys(f.Type, name+".", index)...)
			continue
		}
		env := f.Tag.Get("env")
		if env == "" {
			env = envPrefix + strings.ToUpper(strings.ReplaceAll(name, ".", "_"))
		}
		out = append(out, Key{
			Name: name, Env: env, Flag: strings.NewReplacer(".", "-", "_", "-").Replace(name),
			Doc: f.Tag.Get("doc"), Allowed: f.Tag.Get("allowed"), Kind: kindOf(f.Type), index: index,
		})
	}
	return out
}

func kindOf(t reflect.Type) string {
	switch t {
	case reflect.TypeFor[Duration]():
		return "duration"
	case reflect.TypeFor[Size]():
		return "size"
	}
	switch t.Kind() {
	case reflect.String:
		return "text"
	case reflect.Bool:
		return "true/false"
	case reflect.Int64:
		return "number"
	}
	panic("internal error: settings cannot have the type " + t.String())
}

func find(name string) (Key, bool) {
	for _, k := range keys {
		if k.Name == name {
			return k, true
		}
	}
	return Key{}, false
}

// section says whether name is the first part of some keys.
func section(name string) bool {
	for _, k := range keys {
		if strings.HasPrefix(k.Name, name+".") {
			return true
		}
	}
	return false
}

func (k Key) field(c *Config) reflect.Value { return reflect.ValueOf(c).Elem().FieldByIndex(k.index) }

// literal is the value as written in a file.
func (k Key) literal(c *Config) string {
	v := k.field(c)
	if m, ok := v.Interface().(encoding.TextMarshaler); ok {
		text, _ := m.MarshalText() // neither of ours can fail
		return strconv.Quote(string(text))
	}
	if v.Kind() == reflect.String {
		return strconv.Quote(v.String())
	}
	return fmt.Sprint(v.Interface())
}

// setText sets the value from a variable or a flag, where everything is text.
func (k Key) setText(c *Config, text string) error {
	v := k.field(c)
	if u, ok := v.Addr().Interface().(encoding.TextUnmarshaler); ok {
		return u.UnmarshalText([]byte(text))
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(text)
	case reflect.Bool:
		if text != "true" && text != "false" {
			return fmt.Errorf("must be true or false")
		}
		v.SetBool(text == "true")
	case reflect.Int64:
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return fmt.Errorf("must be a whole number")
		}
		v.SetInt(n)
	}
	return nil
}

// set sets the value from a file, where it has a type.
func (k Key) set(c *Config, value any) error {
	v := k.field(c)
	switch x := value.(type) {
	case string:
		if v.Kind() == reflect.String || k.Kind == "duration" || k.Kind == "size" {
			return k.setText(c, x)
		}
	case bool:
		if v.Kind() == reflect.Bool {
			v.SetBool(x)
			return nil
		}
	case int64:
		if k.Kind == "number" {
			v.SetInt(x)
			return nil
		}
	}
	return fmt.Errorf("must be %s", wanted[k.Kind])
}

var wanted = map[string]string{
	"text":       "text in quotes",
	"true/false": "true or false, without quotes",
	"number":     "a whole number, without quotes",
	"duration":   `a duration as text, for example "45s"`,
	"size":       `a size as text, for example "256KiB"`,
}
