package catalog

import "slices"

// The words of the voice: what speaks a text, what silences it, what shows a text on the screen.
const (
	VoiceSay  = "say"
	VoiceHush = "hush"
	VoiceShow = "show"
)

// voice: what the agent says by itself goes through operations that take a text, and can be silenced.
func (k *checker) voice(name string, m Method) {
	k.oneOf("", name, VoiceSay, VoiceHush, VoiceShow)
	op, ok := k.c.Operations[m]
	if known(k, "", k.c.Operations, m); !ok {
		return
	}
	if op.MovesBody || op.HumanPaced {
		k.add("", "is %s, which moves the body or waits for a person; words do neither", m)
	}
	say := k.c.Operations[k.c.Voice[VoiceSay]]
	switch name {
	case VoiceSay:
		k.takesText(m, op)
		if len(op.Resources) == 0 || !op.Cancel {
			k.add("", "is %s, which uses no resource or cannot be cancelled; two must not speak at once, and a voice must fall silent when it is told to", m)
		}
	case VoiceShow:
		k.takesText(m, op)
		if len(op.Resources) > 0 {
			k.add("", "is %s, which uses a resource; words on the screen wait for nobody", m)
		}
	case VoiceHush:
		if !slices.ContainsFunc(say.Resources, func(r ResourceID) bool { return slices.Contains(op.Stops, r) }) {
			k.add("", "is %s, which does not stop what the voice uses", m)
		}
	}
}

// takesText: a text is all that it needs.
func (k *checker) takesText(m Method, op Operation) {
	if op.Params["text"].Type != String {
		k.add("", "is %s, which takes no text; it needs the parameter text, a string", m)
	}
	for name, p := range op.Params {
		if name != "text" && p.Required {
			k.add("", "is %s, which requires %s; the agent gives it a text, and what it takes of utterance_id, session_id, question_id, first, last, fresh", m, name)
		}
	}
}
