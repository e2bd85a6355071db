package wire

import (
	"encoding/json"
	"errors"
)

// Some members have two forms on the wire. Each is one Go type that chooses the form by its content, so that two spellings of
// the same thing give the same value and the same content hash.
//
// Inside they decode loosely: a message with an unknown member here must still be read far enough to name its other faults, and
// it is the walk that refuses the member.

// dependencyObject and effectObject have the fields without the methods: the object form.
type (
	dependencyObject Dependency
	effectObject     RequiredEffect
)

// form is what is written: the bare id where the object would add nothing.
func (d Dependency) form() any {
	if d.On == "" || d.On == "success" {
		return d.Step
	}
	return dependencyObject(d)
}

// set takes the object form; "success" is the default and is not kept.
func (d *Dependency) set(o dependencyObject) {
	*d = Dependency(o)
	if d.On == "success" {
		d.On = ""
	}
}

// MarshalCBOR writes the bare step id, or the object where On is not success.
func (d Dependency) MarshalCBOR() ([]byte, error) { return encMode.Marshal(d.form()) }

// MarshalJSON writes the bare step id, or the object where On is not success.
func (d Dependency) MarshalJSON() ([]byte, error) { return json.Marshal(d.form()) }

// UnmarshalCBOR reads a step id or an object.
func (d *Dependency) UnmarshalCBOR(data []byte) error {
	*d = Dependency{}
	return either(data, decLoose.Unmarshal, &d.Step, d.set)
}

// UnmarshalJSON reads a step id or an object.
func (d *Dependency) UnmarshalJSON(data []byte) error {
	*d = Dependency{}
	return either(data, json.Unmarshal, &d.Step, d.set)
}

func (r RequiredEffect) form() any {
	if (r.Kind == "" || r.Kind == "achieve") && r.Until == "" {
		return r.EffectID
	}
	return effectObject(r)
}

func (r *RequiredEffect) set(o effectObject) {
	*r = RequiredEffect(o)
	if r.Kind == "achieve" {
		r.Kind = ""
	}
}

// MarshalCBOR writes the bare effect id, or the object where it says more.
func (r RequiredEffect) MarshalCBOR() ([]byte, error) { return encMode.Marshal(r.form()) }

// MarshalJSON writes the bare effect id, or the object where it says more.
func (r RequiredEffect) MarshalJSON() ([]byte, error) { return json.Marshal(r.form()) }

// UnmarshalCBOR reads an effect id or an object.
func (r *RequiredEffect) UnmarshalCBOR(data []byte) error {
	*r = RequiredEffect{}
	return either(data, decLoose.Unmarshal, &r.EffectID, r.set)
}

// UnmarshalJSON reads an effect id or an object.
func (r *RequiredEffect) UnmarshalJSON(data []byte) error {
	*r = RequiredEffect{}
	return either(data, json.Unmarshal, &r.EffectID, r.set)
}

// either reads text into bare, and all else as the object form.
func either[T any](data []byte, unmarshal func([]byte, any) error, bare *string, set func(T)) error {
	if len(data) > 0 && (data[0] == '"' || data[0]>>5 == majorText) {
		if err := unmarshal(data, bare); err == nil {
			return nil
		}
	}
	var o T
	if err := unmarshal(data, &o); err != nil {
		return err
	}
	set(o)
	return nil
}

var errInputFrom = errors.New("cannot encode input_from: exactly one of Params and Visible must be set")

func (in InputFrom) form() (any, error) {
	switch {
	case len(in.Params) > 0 && len(in.Visible) == 0:
		return in.Params, nil
	case len(in.Visible) > 0 && len(in.Params) == 0:
		return in.Visible, nil
	}
	return nil, errInputFrom
}

// MarshalCBOR writes the object of parameters or the array of visible outputs. Both or none is an error.
func (in InputFrom) MarshalCBOR() ([]byte, error) {
	form, err := in.form()
	if err != nil {
		return nil, err
	}
	return encMode.Marshal(form)
}

// MarshalJSON writes the object of parameters or the array of visible outputs. Both or none is an error.
func (in InputFrom) MarshalJSON() ([]byte, error) {
	form, err := in.form()
	if err != nil {
		return nil, err
	}
	return json.Marshal(form)
}

// UnmarshalCBOR reads an object or an array.
func (in *InputFrom) UnmarshalCBOR(data []byte) error {
	*in = InputFrom{}
	if len(data) > 0 && data[0]>>5 == majorArray {
		return decLoose.Unmarshal(data, &in.Visible)
	}
	return decLoose.Unmarshal(data, &in.Params)
}

// UnmarshalJSON reads an object or an array.
func (in *InputFrom) UnmarshalJSON(data []byte) error {
	*in = InputFrom{}
	if len(data) > 0 && data[0] == '[' {
		return json.Unmarshal(data, &in.Visible)
	}
	return json.Unmarshal(data, &in.Params)
}
