package report

import (
	"testing"

	"tare/internal/analysis"
	"tare/internal/bench"
	"tare/internal/result"
	"tare/internal/result/store/storetest"
)

// longReason is a reason as a host gives it, one that would drown the list of answers.
const longReason = `kvm: a trial boot failed: QEMU ended with signal: aborted; it last said "kvm_buf_set_msrs: Assertion ` +
	"`ret == cpu->kvm_msr_buf->nmsrs' failed.\"; this host's KVM is a paravirtual one that works without the CPU's own " +
	`virtualization and is made for guest kernels adapted to it; a stock kernel is not`

// synthetic is the result of a run in which nothing was measured: five
// platforms, failures, skipped platforms and an end that is missing.
func synthetic(t *testing.T) *result.Result {
	t.Helper()
	run := storetest.Synthetic(t, t.TempDir(), storetest.Options{
		Platforms: []bench.PlatformRef{{Name: "native"}, {Name: "docker"},
			{Name: "docker", Options: map[string]string{"net": "host", "storage": "volume"}}, {Name: "lxc"}, {Name: "qemu-tcg"}},
		Blocks: 5, Seconds: 10, Seed: 3, FailEvery: 23, Missing: 2,
		Ratio: map[string]float64{"native": 1, "docker": 0.995, "lxc": 0.93, "qemu-tcg": 0.11},
	})
	defer run.Close()
	r, err := analysis.Analyze(run)
	if err != nil {
		t.Fatal(err)
	}
	r.Skipped = []bench.Skip{
		{Platform: "kvm", Reason: longReason, Hint: "use a host with virtualization of its own, or qemu-tcg, which is emulated"},
		{Platform: "firecracker", Reason: "/dev/kvm is missing"},
	}
	r.Relative, r.Watches = besides()
	return r
}
