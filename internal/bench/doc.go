// Package bench holds every noun of Tare and the contracts between its parts.
// Read this package first: the rest of the program is written in its words.
//
// Data flows one way:
//
//	spec -> plan -> trials -> samples -> effects -> report
//
// A [Scene] is what one trial sets up: a list of [Actor]s, each an instance of a platform with a
// workload and a [Role]. A [Trial] is one execution of a scene; a block holds every scene of the
// experiment once, in random order. A trial ends in an [Outcome]. A failure is an outcome too.
// While a trial runs, [Reader]s are read at every [Level]. Each reading is a [Sample].
//
// The package imports the standard library only.
package bench
