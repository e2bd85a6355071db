// Package socket lets a program serve operations over the agent's executor socket: length-prefixed CBOR frames, several a write.
// It holds both halves: [Server] for the agent and [Serve] and [Dial] for programs written in Go. It promises that frames of one
// connection keep their order both ways, that all frames that wait for a connection go out in one write, and that a call whose
// frame never reached a write is reported as surely not sent. A bad frame closes its connection with a reason and harms no other.
// It decides nothing: what a claim is worth is the core's word. It must not import another binding. Contract:
// docs/executor-socket.md.
package socket
