// Package matrix holds, for every provider of the catalog, how its effect can end: observed, contradicted, expired, cancelled; and one
// scenario for each, kept in testbed/scenarios/matrix. A cell that cannot be says why. The page docs/evidence-matrix.md is written from the
// catalog and from what those scenarios expect; that they hold is played. It must not be part of a device.
package matrix
