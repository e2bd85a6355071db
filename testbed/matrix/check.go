package matrix

import (
	"fmt"

	"deviceagent/taskmanager/core/catalog"
)

// played says whether a cell has a scenario.
func (c Cell) played() bool { return c.Never == "" }

// scenes are the scenarios of a table.
func scenes(rows []Row) (ids []string) {
	for i := range rows {
		for _, c := range Columns {
			if rows[i].Cells[c].played() {
				ids = append(ids, rows[i].ID(c))
			}
		}
	}
	return ids
}

// check says what is wrong with a table: a provider of the catalog without a row or with two, a row of none, a cell that is empty, or that
// cannot be for a reason that does not follow from the catalog.
func check(cat *catalog.Catalog, rows []Row) (faults []string) {
	bad := func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }
	seen := map[string]string{}
	for i := range rows {
		r := &rows[i]
		p, err := r.provider(cat)
		if err != nil {
			bad("%v", err)
			continue
		}
		if other, twice := seen[p.key()]; twice {
			bad("%s and %s are both %s", other, r.Name, p.key())
		}
		seen[p.key()] = r.Name
		faults = append(faults, r.checkCells(cat, p)...)
	}
	all, _ := Providers(cat)
	for i := range all {
		if seen[all[i].key()] == "" {
			bad("no row for %s", all[i].key())
		}
		delete(seen, all[i].key())
	}
	for key, name := range seen {
		bad("%s is %s, which the catalog does not have", name, key)
	}
	return faults
}

func (r *Row) checkCells(cat *catalog.Catalog, p *Provider) (faults []string) {
	for _, c := range Columns {
		cell := r.Cells[c]
		reason, known := nevers[cell.Never]
		fault := ""
		switch {
		case cell.Never == "" && len(cell.Witness) == 0:
			fault = "the robot's log witnesses nothing"
		case cell.Never == "" && c == Contradicted && !p.opposable(cat):
			fault = "nothing in the catalog contradicts it"
		case cell.Never == "":
		case c != Contradicted || p.opposable(cat):
			fault = "it can be"
		case !known || !reason(p):
			fault = "the reason does not fit the catalog"
		}
		if fault != "" {
			faults = append(faults, r.ID(c)+": "+fault)
		}
	}
	return faults
}
