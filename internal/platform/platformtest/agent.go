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
	return build(t, "tare-agent", agentEnv)
}

// tareEnv does the same with tare's.
const tareEnv = "TARE_TEST_TARE"

// Tare returns the path of tare's own binary, built from this source.
func Tare(t testing.TB) string {
	t.Helper()
	path := build(t, "tare", tareEnv)
	t.Setenv(tareEnv, path)
	return path
}

func build(t testing.TB, program, env string) string {
	t.Helper()
	if path := os.Getenv(env); path != "" {
		return path
	}
	path := filepath.Join(t.TempDir(), program)
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", path, "tare/cmd/"+program)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build %s: %v\n%s", program, err, out)
	}
	return path
}
