package pipeline

import (
	"deviceagent/bridge/catalogfile"
	"deviceagent/cloudlink/planner/registry"
	"deviceagent/taskmanager/core/catalog"
)

// New joins the stages around a main planner, over one catalog. Everybody who plans (the program, the measuring, the scenarios) joins
// them here.
func New(main Main, cat *catalog.Catalog, words catalogfile.Planner) *Planner {
	return &Planner{Main: main, agents: registry.Default().For(cat), excerpt: registry.ExcerptOf(cat, words), etag: cat.Etag}
}
