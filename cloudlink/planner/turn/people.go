package turn

// Asked is a question of yes or no that a turn has left open: nothing of it counts before the yes.
type Asked struct {
	Kind      string `json:"kind"`              // offer: shall it be done now; hours: may it be offered then; preference: shall it be kept
	Key       string `json:"key,omitempty"`     // of an offer: the operation
	Text      string `json:"text,omitempty"`    // what is offered, or would be kept, in words for people
	Request   string `json:"request,omitempty"` // of an offer: the words that a yes stands for
	Hours     *Hours `json:"hours,omitempty"`
	AskedAtMS int64  `json:"asked_at_ms,omitempty"`
}

// Hours are when something may be offered, in the zone of the home.
type Hours struct {
	Days []string `json:"days,omitempty"` // mon … sun; none: all
	From string   `json:"from"`           // 19:00
	To   string   `json:"to"`             // 21:00; not later than From: on the day after
}

// Memo is one thing that is kept of the people of a home, by their own word.
type Memo struct {
	ID    string `json:"id"`
	Kind  string `json:"kind"`          // preference; offer: what may be offered, and when; refusal: what is never offered again
	Key   string `json:"key,omitempty"` // the operation that is offered; empty in a refusal: nothing is offered any more
	Text  string `json:"text"`
	Hours *Hours `json:"hours,omitempty"`
	AtMS  int64  `json:"at_ms"`
}

// The kinds of a memo.
const (
	MemoPreference = "preference"
	MemoOffer      = "offer"
	MemoRefusal    = "refusal"
)

// MemoWish is what a turn wants of the memos.
type MemoWish struct {
	Verb string   `json:"verb"`           // keep, erase, list, leave: what was asked about is not kept
	Memo *Memo    `json:"memo,omitempty"` // to be kept
	IDs  []string `json:"ids,omitempty"`  // to be erased
}
