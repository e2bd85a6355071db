// Package documents holds the product documents that the planner answers questions from where it is given no others. They describe the
// robot of the testbed. It must not hold code.
package documents

import "embed"

// Files are the documents, in Korean and English.
//
//go:embed *.md
var Files embed.FS
