package gvisor

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tare/internal/guest/agent"
	"tare/internal/platform/launch"
	"tare/internal/platform/launch/launchtest"
)

// The launch of a container whose program cannot be run ends with what runsc says of it.
func TestFatalLineEndsTheLaunch(t *testing.T) {
	p := New()
	if _, err := p.Check(t.Context()); err != nil {
		t.Skip(err)
	}
	env := launchtest.New(t, "runscfatal")
	env.AgentPath = filepath.Join(t.TempDir(), "no-program")
	if err := os.WriteFile(env.AgentPath, []byte("not executable by any kernel\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	e, err := p.Open(t.Context(), env.Env)
	if err != nil {
		t.Fatal(err)
	}
	i, err := e.Start(t.Context(), env.Launch(t, p, "a", nil))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	_, err = agent.Dial(ctx, i.Stream())
	var fatal *launch.Fatal
	if !errors.As(err, &fatal) || !strings.Contains(err.Error(), "running container: starting container: ") {
		t.Errorf("%v; log:\n%s", err, i.Log())
	}
	if err := errors.Join(i.Close(context.Background()), e.Close(context.Background())); err != nil {
		t.Error(err)
	}
}
