package bench

// Storing is an instance that has files on the host outside its directory, such as a layer in a
// daemon's store.
type Storing interface {
	// Stored returns those files and directories.
	Stored() ([]string, error)
}

// A RootWriter is a workload that writes to the root file system of its instance. Its results
// include the instance's use of the host's disk: [StoredMetrics].
type RootWriter interface{ WritesRoot() }

// StoredMetrics measure an instance's use of the host's disk beyond the shared image and without
// scratch space. The runner measures them.
var StoredMetrics = []Metric{
	{Name: "stored_at_start", Unit: "KiB", Better: LowerIsBetter, Combine: Sum,
		Doc: "what the instance took of the host's disk once it was up, without scratch space and the image that others use as well"},
	{Name: "stored", Unit: "KiB", Better: LowerIsBetter, Combine: Sum, Doc: "the same when the workload had ended"},
}
