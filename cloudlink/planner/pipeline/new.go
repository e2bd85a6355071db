package pipeline

import (
	"deviceagent/bridge/catalogfile"
	"deviceagent/taskmanager/core/catalog"
)

// New joins the stages around a main planner, over one catalog. Everybody who plans (the program, the measuring, the scenarios) joins
// them here.
func New(main Main, _ *catalog.Catalog, _ catalogfile.Planner) *Planner {
	return &Planner{Main: main}
}
