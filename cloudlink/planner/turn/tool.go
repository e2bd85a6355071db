package turn

// Tool is an entry of a registry of functions beside the catalog: what it is for, and which parameters it needs.
type Tool struct {
	Name        string   `json:"name"`
	Description string   `json:"description"`
	Required    []string `json:"required"`
}

// Message is one of a dialog.
type Message struct {
	Role    string `json:"role"` // user, assistant, tool
	Content string `json:"content"`
	Called  bool   `json:"-"` // an assistant's message that called a tool
}

// The outcomes of a choice.
const (
	Call = "call" // the tool fits and has what it needs
	Ask  = "slot" // it fits, and something is still to be said
	None = "none" // no tool fits
)

// Choice is the tool for the last message of a dialog, with what was said for its parameters, and what is missing.
type Choice struct {
	Outcome string            `json:"outcome"`
	Tool    string            `json:"tool,omitempty"`
	Slots   map[string]string `json:"slots,omitempty"`
	Missing []string          `json:"missing_slots,omitempty"`
}
