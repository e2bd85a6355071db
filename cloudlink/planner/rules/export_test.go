package rules

// Sentences are those of the tables that the tests hold the planner to: our own.
func Sentences() (out []string) {
	for _, group := range groups {
		for _, row := range group.rows {
			out = append(out, row.said)
		}
	}
	return out
}
