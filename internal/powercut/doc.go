// Package powercut tests that a program's files survive a loss of power: it has a scenario done in a process of its own, records by ptrace(2)
// what that does to a directory, and then cuts the power after each of its system calls. What is then on disk is what was synced, and of the
// rest whatever does most harm: nothing, all, all but one thing, only one thing, half a write. Nobody's order is taken for granted that
// fsync(2) does not promise: a file's content is durable when the file was synced, its name when its directory was.
package powercut
