package core

import "strings"

// sentences are what the robot says of itself, by reason: in Korean, and for a plan whose locale is English in English.
var sentences = map[Reason]struct{ ko, en string }{
	ReasonContentOffline: {"지금은 연결되지 않아서 들려드릴 이야기가 없어요. 연결되면 다시 해 볼게요.", "I cannot reach the service now, and have nothing stored to tell. I will go on when it is there."},
}

// notice says the sentence of a reason. Nobody waits for how it ends: a robot without a voice says nothing.
func (w *work) notice(about string, reason Reason, locale string) {
	s, ok := sentences[reason]
	if !ok {
		return
	}
	text := s.ko
	if strings.HasPrefix(locale, "en") {
		text = s.en
	}
	w.say(Utterance{Owner: Owner{ForNotice, about}, Text: text})
}
