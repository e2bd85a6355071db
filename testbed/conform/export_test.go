package conform

// About opens a check's texts to the tests; an id that is none gives nothing.
func About(id ID) (title, mend string) {
	for _, c := range checks {
		if c.id == id {
			return c.title, c.mend
		}
	}
	return "", ""
}
