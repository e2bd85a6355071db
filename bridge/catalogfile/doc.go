// Package catalogfile turns catalog files into a catalog.Catalog, for the device and the planner alike: bytes in, typed values, the
// etags and every fault out. It promises that a catalog it gives has no fault that catalog.Check finds, that the etags do not
// depend on the order or layout of the files, and that a file of any content gives a catalog or an [*Error], never a panic and never
// a file that is only half read. It reads nothing but the file system it is given, keeps no state and must not decide what to do
// about a fault. Contract: docs/catalog.md.
package catalogfile
