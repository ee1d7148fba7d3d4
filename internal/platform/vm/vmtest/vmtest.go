// Package vmtest makes a machine without an agent for tests: Linux, whose only process is a server.
package vmtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"tare/internal/bench"
	"tare/internal/platform/vm"
)

// Port is where the server listens that [Append] tells so.
const Port = 8080

// Append is the command line of such a machine: what stands behind -- are the server's arguments.
const Append = "console=ttyS0 quiet panic=-1 -- address={address}/{prefix} gateway={gateway} port={port}"

// Answer is what the server answers.
const Answer = "seven\n"

// Ask asks the server at the address from the test network until it answers, or for two minutes.
func Ask(ctx context.Context, network bench.Testnet, addr netip.Addr) (answer string, err error) {
	target := netip.AddrPortFrom(addr, Port).String()
	client := http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (c net.Conn, err error) {
		err = network.Do(func() error { c, err = new(net.Dialer).DialContext(ctx, "tcp", target); return err })
		return c, err
	}}}
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end) && ctx.Err() == nil; time.Sleep(50 * time.Millisecond) {
		var r *http.Response
		if r, err = client.Get("http://" + target); err != nil {
			continue
		}
		body, err := io.ReadAll(r.Body)
		return string(body), errors.Join(err, r.Body.Close())
	}
	return "", err
}

// Served returns the kernel of the golden image as one of the user's own, with an initial RAM file
// system of the server and the drivers it needs.
func Served(t testing.TB, e bench.Env) *bench.OwnKernel {
	t.Helper()
	kernel, drivers, err := vm.Boot(t.Context(), e)
	if err != nil {
		t.Fatal(err)
	}
	return Booting(kernel, Initrd(t, drivers))
}

// Booting is a machine of the kernel with the server in its initial RAM file system.
func Booting(kernel, initrd string) *bench.OwnKernel {
	return &bench.OwnKernel{Kernel: bench.BootFile{Path: kernel}, Initrd: &bench.BootFile{Path: initrd},
		Append: Append, Port: Port}
}

// Initrd returns an initial RAM file system whose /init is the server, on top of another, "" for none:
// of two archives the kernel takes the second's file.
func Initrd(t testing.TB, below string) string {
	t.Helper()
	dir := t.TempDir()
	program := filepath.Join(dir, "init")
	cmd := exec.Command("go", "build", "-ldflags=-s -w", "-o", program, "tare/internal/platform/vm/vmtest/testdata/served")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build the server: %v\n%s", err, out)
	}
	init, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	var text []byte
	if below != "" {
		if text, err = os.ReadFile(below); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(dir, "initrd.cpio")
	if err := os.WriteFile(file, append(text, archive(init)...), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// DiskHead is how a disk of [Disk] begins.
const DiskHead = "a disk of a test"

// Disk returns the file of a disk of 1 MiB. The test fails if its content has changed by the end.
func Disk(t testing.TB) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "disk")
	content := append([]byte(DiskHead), make([]byte, 1<<20-len(DiskHead))...)
	if err := os.WriteFile(file, content, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if now, err := os.ReadFile(file); err != nil || !bytes.Equal(now, content) {
			t.Errorf("the disk was written to: begins with %.16q, %v", now, err)
		}
	})
	return file
}

// archive is a cpio archive in the "newc" format with /init alone.
func archive(init []byte) []byte {
	var b bytes.Buffer
	member := func(name string, mode int, data []byte) {
		fmt.Fprintf(&b, "070701%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%s\x00", b.Len(), mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(name)+1, 0, name)
		for _, part := range [][]byte{nil, data} {
			b.Write(part)
			b.Write(make([]byte, -b.Len()&3))
		}
	}
	member("init", 0o100755, init)
	member("TRAILER!!!", 0, nil)
	return b.Bytes()
}
