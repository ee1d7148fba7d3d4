// Package powercut tests that a program's files survive a power loss. It runs a scenario in a
// separate process, records the changes of a directory by ptrace(2), and simulates a power loss
// after each system call. The simulated disk has all synced data. Of the rest it has each harmful
// choice in turn: nothing, all, all but one change, only one change, half a write. It assumes only
// the order that fsync(2) guarantees: a file's content is durable after the file was synced, its
// name after its directory was.
package powercut
