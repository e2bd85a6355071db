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

// Learn says what a run would take from options and catalog.
func Learn(o Options) (Operation, error) {
	op, err := o.learn()
	if err != nil {
		return Operation{}, err
	}
	o.fill()
	return newRun(o, op, &witness{}).report().Operation, o.check()
}
