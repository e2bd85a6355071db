// Package fake is a scripted executor for tests. It can refuse, hang, answer late, report twice or before its reply, and lie; it
// keeps its own log of every call and of every task that it really began, as a witness that does not depend on the code under
// test. It promises to do only what its script says, in an order that a synctest bubble repeats. It must not be linked into a
// product binary.
package fake
