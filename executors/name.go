package executors

// MaxName bounds ids and names, in bytes.
const MaxName = 128

// IsName reports whether text is an id or a name of the contract: 1 to 128 characters of A-Z a-z 0-9 . _ : - @.
func IsName(text string) bool {
	if len(text) == 0 || len(text) > MaxName {
		return false
	}
	for i := range len(text) {
		if !nameChar(text[i]) {
			return false
		}
	}
	return true
}

func nameChar(c byte) bool {
	switch c {
	case '.', '_', ':', '-', '@':
		return true
	}
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}
