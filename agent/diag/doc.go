// Package diag is the diagnostic API: HTTP/1.1 over two unix sockets, the server half for the agent and the client half for
// deviceagentctl.
//
// It promises that whoever may open the read socket sees what the agent knows and can change nothing, that each document is one
// look at the state with its sequence number, that what is not known is said to be unknown and never given as 0, and that a slow
// or greedy client costs the agent a bounded amount of memory and never a wait: the owner of the state is asked for short looks only.
// Who calls is read from the kernel (SO_PEERCRED) once per connection; a peer that cannot be named is refused.
//
// It must not decide anything and must not change the state but through [Agent.Receive], the door that messages from the cloud
// use too; of the robot's identity it says what package identity says. It must not chmod sockets, know the store, the link or the executors, or send what a person should not read: secrets
// never reach it. The API as a contract: openapi.json; a test holds every route to it.
package diag
