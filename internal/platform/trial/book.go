// Package trial decides whether a platform runs on this host where neither its
// programs nor the kernel's files tell: by starting one instance of it, once. What
// became of that is kept for one boot of the host, one version of the platform and
// one model of the CPU; that it was not up in time is kept for the process that tried.
package trial

import (
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Book keeps the verdicts of trials, a file each.
type Book struct {
	State string // the directory of the files
	Host  string // where the host's files lie; "/" if empty
	by    string // the process that tries; this one if empty
}

// process tells the trials of this process from those of others.
var process = rand.Text()

// Failure is why a trial did not work. The zero is that it did.
type Failure struct {
	Reason string
	// Late: nothing but its deadline ended it, and it may work on a host less busy.
	Late bool
}

// Verdict is what became of a trial, kept as JSON. It holds for one boot of the
// host, one version of what was tried and one CPU, by its model and flags; one that
// is late holds in no process but the one that tried.
type Verdict struct {
	Boot    string  `json:"boot"`
	CPU     string  `json:"cpu"`
	Version string  `json:"version"`
	Works   bool    `json:"works"`
	Reason  string  `json:"reason,omitempty"` // why it does not
	Late    bool    `json:"late,omitempty"`   // see [Failure]
	By      string  `json:"by,omitempty"`     // the process that tried
	Took    float64 `json:"took_s"`
	At      string  `json:"at"` // RFC 3339
}

// File is where the verdict of that name is kept.
func (b Book) File(name string) string { return filepath.Join(b.State, name+".json") }

// Look returns the verdict that holds for the version now; ok is false if there is
// none, or none but one of another process that is late.
func (b Book) Look(name, version string) (v Verdict, ok bool, err error) {
	now, err := b.now(version)
	if err != nil {
		return Verdict{}, false, err
	}
	text, err := os.ReadFile(b.File(name))
	if errors.Is(err, fs.ErrNotExist) {
		return Verdict{}, false, nil
	}
	if err != nil {
		return Verdict{}, false, fmt.Errorf("read verdict: %w", err)
	}
	if json.Unmarshal(text, &v) != nil {
		return Verdict{}, false, nil // it was cut short; the next trial writes it again
	}
	if v.Boot != now.Boot || v.CPU != now.CPU || v.Version != now.Version {
		return Verdict{}, false, nil
	}
	return v, !v.Late || v.By == now.By, nil
}

// Keep keeps the verdict of a trial that began then.
func (b Book) Keep(name, version string, began time.Time, f Failure) error {
	v, err := b.now(version)
	if err != nil {
		return err
	}
	v.Works, v.Reason, v.Late = f.Reason == "", f.Reason, f.Late
	v.Took, v.At = time.Since(began).Seconds(), began.Format(time.RFC3339)
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return fmt.Errorf("keep verdict: %w", err)
	}
	if err := os.MkdirAll(b.State, 0o755); err != nil {
		return fmt.Errorf("keep verdict: %w", err)
	}
	if err := os.WriteFile(b.File(name), append(text, '\n'), 0o644); err != nil {
		return fmt.Errorf("keep verdict: %w", err)
	}
	return nil
}

// now is what a verdict of this moment holds for.
func (b Book) now(version string) (Verdict, error) {
	boot, err := os.ReadFile(filepath.Join(cmp.Or(b.Host, "/"), "proc/sys/kernel/random/boot_id"))
	if err != nil {
		return Verdict{}, fmt.Errorf("boot of the host: %w", err)
	}
	cpus, err := os.Open(filepath.Join(cmp.Or(b.Host, "/"), "proc/cpuinfo"))
	if err != nil {
		return Verdict{}, fmt.Errorf("model of the CPU: %w", err)
	}
	defer cpus.Close()
	first, err := io.ReadAll(io.LimitReader(cpus, firstCPU))
	if err != nil {
		return Verdict{}, fmt.Errorf("model of the CPU: %w", err)
	}
	return Verdict{Boot: strings.TrimSpace(string(boot)), CPU: model(string(first)), Version: version, By: cmp.Or(b.by, process)}, nil
}

// firstCPU is more than the entry of one CPU takes in /proc/cpuinfo, in bytes. With
// hundreds of CPUs the kernel is long at writing all.
const firstCPU = 8 << 10

// models are the lines of /proc/cpuinfo that tell CPUs apart which programs may
// take differently; others change with every reading.
var models = map[string]bool{"vendor_id": true, "cpu family": true, "model": true, "model name": true, "stepping": true,
	"microcode": true, "flags": true, "vmx flags": true,
	"CPU implementer": true, "CPU part": true, "CPU variant": true, "CPU revision": true, "Features": true}

// model tells the CPU by its name and, in eight digits, all that its first entry says of
// what it can do. A machine moved to another host keeps its boot and changes its CPU.
func model(cpuinfo string) string {
	sum, name := sha256.New(), "unknown"
	first, _, _ := strings.Cut(cpuinfo, "\n\n")
	for line := range strings.Lines(first) {
		key, value, _ := strings.Cut(line, ":")
		if key = strings.TrimSpace(key); !models[key] {
			continue
		}
		value = strings.TrimSpace(value)
		fmt.Fprintf(sum, "%s: %s\n", key, value)
		if key == "model name" {
			name = value
		}
	}
	return name + " " + hex.EncodeToString(sum.Sum(nil)[:4])
}
