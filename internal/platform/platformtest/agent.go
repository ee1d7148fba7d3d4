package platformtest

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// agentEnv hands the agent's binary on to a test binary started again.
const agentEnv = "TARE_TEST_AGENT"

// Agent returns the path of the agent's binary, built from this source.
func Agent(t testing.TB) string {
	t.Helper()
	if path := os.Getenv(agentEnv); path != "" {
		return path
	}
	path := filepath.Join(t.TempDir(), "tare-agent")
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", path, "tare/cmd/tare-agent")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build the agent: %v\n%s", err, out)
	}
	return path
}
