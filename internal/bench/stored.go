package bench

// Storing is an instance of which the host keeps files outside of its
// directory, such as a layer in a daemon's store.
type Storing interface {
	// Stored are those files and directories.
	Stored() ([]string, error)
}

// A RootWriter is a workload that writes to the root of its instance, so that
// what the instance takes of the host's disk is a result, too: [StoredMetrics].
type RootWriter interface{ WritesRoot() }

// StoredMetrics are those of what an instance takes of the host's disk beyond
// the image that all share, scratch space apart. The runner measures them.
var StoredMetrics = []Metric{
	{Name: "stored_at_start", Unit: "KiB", Better: LowerIsBetter, Combine: Sum,
		Doc: "what the instance took of the host's disk once it was up, without scratch space and the image that others use as well"},
	{Name: "stored", Unit: "KiB", Better: LowerIsBetter, Combine: Sum, Doc: "the same when the workload had ended"},
}
