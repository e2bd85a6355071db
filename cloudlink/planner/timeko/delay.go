package timeko

// Delays finds the lengths of time after which something is wanted: "십오 분 후에", "두시간 있다가". They have the kind [Duration].
func Delays(said string) []Found {
	t := newText(said)
	var out []Found
	for at := 0; at < len(t); at++ {
		if !atWord(t, at) {
			continue
		}
		l, end, ok := t.length(at)
		if !ok {
			continue
		}
		if e, about := t.eat(end, "정도"); about {
			end = e
		}
		if e, after := t.eatAny(end, words.After); after && !t.begins(e, "로", "의") {
			out = append(out, Found{Value{Kind: Duration, Number: l.seconds()}, at, e})
			at = e
		}
	}
	return out
}
