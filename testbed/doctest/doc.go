// Package doctest runs the guides: it takes the commands and files out of Markdown pages and does, in an empty folder, what a reader
// would do, with the programs of this repository on PATH. A page holds when each command succeeds and shows what the page shows.
// It promises that nothing is passed over in silence: what cannot be run says why in its source, and is counted and listed.
// It starts real programs and knows none of them; what a page needs, the page starts. The form of a page: docs/tests.md, guides.
package doctest
