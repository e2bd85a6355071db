// Command pack makes the packages: deb, rpm, ipk and apk of each program for each kind of robot, with licences and a bill of materials
// that are read out of the very programs. It calls nfpm, which packaging/nfpm pins in a module of its own.
//
// It promises that the same commit gives the same bytes: with -twice it builds everything once more from a copy of the source in another
// folder, under another zone, mask and home, compiles one architecture anew from nothing, and compares. It unpacks what it made and
// holds each package against the one list of contents (contents.go), so that no format lacks what another has. It must not install
// anything: that is the matter of testbed/machine. Only the list of contents knows what goes where; the recipes for Yocto and Buildroot
// are compared with it by tests.
package main
