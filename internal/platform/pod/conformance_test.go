package pod

import (
	"os"
	"runtime"
	"testing"

	"tare/internal/bench"
	"tare/internal/platform/platformtest"
)

// nodeVariable names the node to run on where several are this host, as those of scripts/cluster.
const nodeVariable = "TARE_TEST_NODE"

// TestConformance needs a cluster of which this host is a node: KUBECONFIG leads to it. The image must
// be on the node, as tare image save writes it.
func TestConformance(t *testing.T) {
	// The suite gives no image to a platform that lacks "missing image".
	options := map[string]string{OptImage: (&engine{env: bench.Env{Image: platformtest.Image(t)}}).image(nil)}
	if node := os.Getenv(nodeVariable); node != "" {
		options[OptNode] = node
	}
	lacks := map[string]string{
		"network":         "the pod lies in the cluster's network",
		"image":           "the node has an image of its own",
		"missing image":   "likewise",
		"refused cpu set": "the pod runs before it is kept on its CPUs",
	}
	if runtime.NumCPU() <= 4 { // those of pods are requested, so a node has no more to give
		for _, name := range []string{"cpus", "four at once"} {
			lacks[name] = "the node has too few CPUs"
		}
	}
	platformtest.Run(t, New(), platformtest.Options{Slow: 4, Options: options, Lacks: lacks})
}
