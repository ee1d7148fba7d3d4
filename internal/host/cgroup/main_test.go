package cgroup

import (
	"fmt"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// partVar makes the test binary run a part instead of the tests: see child.
const partVar = "TARE_CGROUP_TEST_PART"

// spin is how long the part "spin" runs.
const spin = 1500 * time.Millisecond

func TestMain(m *testing.M) {
	if part := os.Getenv(partVar); part != "" {
		os.Stdin.Read(make([]byte, 1))
		play(part)
		return
	}
	if os.Getpid() == 1 {
		guest(m)
	}
	os.Exit(m.Run())
}

func play(part string) {
	switch part {
	case "where":
		text, _ := os.ReadFile("/proc/self/cgroup")
		os.Stdout.Write(text)
	case "sleep":
		time.Sleep(time.Minute)
	case "make":
		if fs, err := Detect(); err == nil {
			_, _, err = fs.Create("test-killed/one", Limits{Pids: 10})
			fmt.Println(err)
		}
		time.Sleep(time.Minute)
	case "hog":
		pile := make([]byte, 256<<20)
		for i := 0; i < len(pile); i += os.Getpagesize() {
			pile[i] = 1
		}
	case "spin on":
		for began := time.Now(); time.Since(began) < time.Minute; {
		}
	case "spin":
		for began := time.Now(); time.Since(began) < spin; {
		}
	}
}

// guest runs the tests as the first process of a virtual machine, where all
// controllers are v2's, and powers it off.
func guest(m *testing.M) {
	for _, fs := range []struct{ kind, dir string }{
		{"proc", "/proc"}, {"sysfs", "/sys"}, {"cgroup2", "/sys/fs/cgroup"}, {"tmpfs", "/tmp"}, {"devtmpfs", "/dev"},
	} {
		err := os.MkdirAll(fs.dir, 0o755)
		if err == nil {
			err = unix.Mount(fs.kind, fs.dir, fs.kind, 0, "")
		}
		if err != nil {
			fmt.Println("mount", fs.dir, err)
		}
	}
	fmt.Println(guestExit, m.Run())
	unix.Reboot(unix.LINUX_REBOOT_CMD_POWER_OFF)
}

// guestExit is what the guest prints before its exit status.
const guestExit = "tests in the guest ended with"
