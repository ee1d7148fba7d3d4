package agent

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"tare/internal/bench"
)

// A command does not inherit the priority by which the host favours the agent.
func TestCommandsAreNotFavoured(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root may lower a nice value")
	}
	cmd, stream := spawn(t)
	c, err := Dial(testContext(t), stream)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	tasks, err := os.ReadDir(filepath.Join("/proc", strconv.Itoa(cmd.Process.Pid), "task"))
	if err != nil {
		t.Fatal(err)
	}
	for _, task := range tasks {
		tid, err := strconv.Atoi(task.Name())
		if err != nil {
			t.Fatal(err)
		}
		if err := unix.Setpriority(unix.PRIO_PROCESS, tid, -20); err != nil {
			t.Skipf("this host lets nobody lower a nice value: %v", err)
		}
	}
	for range 20 {
		out, err := c.Exec(testContext(t), bench.Command{Argv: []string{"nice"}, Timeout: 10 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.TrimSpace(string(out.Stdout)); got != "0" {
			t.Fatalf("a command has nice value %s", got)
		}
	}
}
