package uml

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"tare/internal/guest/agent"
	"tare/internal/platform/launch"
	"tare/internal/platform/launch/launchtest"
)

// A kernel that panics stays as a process and says nothing to the agent's client. Its
// console ends the launch at once. The kernel finds no first program; on a host with AMX it
// would have panicked a moment later all the same.
func TestPanicEndsTheLaunch(t *testing.T) {
	if _, err := New().Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	env := launchtest.New(t, "umlpanic")
	opened, err := New().Open(t.Context(), env.Env)
	if err != nil {
		t.Fatal(err)
	}
	e := opened.(*engine)
	e.initrd = os.DevNull
	i, err := e.Start(t.Context(), env.Launch(t, New(), "a", nil))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := i.Close(context.Background()); err != nil {
			t.Error(err)
		}
	}()
	limit := time.Minute
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	began := time.Now()
	_, err = agent.Dial(ctx, i.Stream())
	var fatal *launch.Fatal
	if !errors.As(err, &fatal) || !strings.Contains(err.Error(), "Kernel panic - not syncing: ") {
		t.Errorf("after %v: %v; log:\n%s", time.Since(began), err, i.Log())
	}
	if took := time.Since(began); took > limit/2 {
		t.Errorf("that took %v", took)
	}
}
