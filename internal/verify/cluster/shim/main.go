// Containerd-shim-runsc-v1 is gVisor's shim for containerd, for hosts whose root may not lower a
// process's OOM score. Upstream's sets the shim's to -999, and ends where the kernel refuses that;
// this one leaves the score as it is. All else is upstream's. It is a module of its own, so that no
// module of gVisor is one of Tare's.
package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"syscall"

	"github.com/containerd/containerd/namespaces"
	"github.com/containerd/containerd/runtime/v2/shim"
	gvisor "gvisor.dev/gvisor/pkg/shim/v1"
)

func main() { shim.Run("io.containerd.runsc.v1", open) }

func open(ctx context.Context, id string, publisher shim.Publisher, shutdown func()) (shim.Shim, error) {
	upstream, err := gvisor.New(ctx, id, publisher, shutdown)
	return service{upstream}, err
}

type service struct{ shim.Shim }

// StartShim starts this program as the server of one container, on a socket that it hands over, and
// returns the socket's address. The names of the files are those that upstream and containerd read.
func (service) StartShim(ctx context.Context, o shim.StartOpts) (string, error) {
	namespace, err := namespaces.NamespaceRequired(ctx)
	if err != nil {
		return "", err
	}
	address, err := shim.SocketAddress(ctx, o.Address, o.ID)
	if err != nil {
		return "", err
	}
	socket, err := shim.NewSocket(address)
	if err != nil {
		return "", fmt.Errorf("make the shim's socket: %w", err)
	}
	file, err := socket.File()
	if err != nil {
		return "", err
	}
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	server := exec.Command(self, "-namespace", namespace, "-address", o.Address, "-publish-binary", o.ContainerdBinary)
	server.ExtraFiles = []*os.File{file}
	server.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := server.Start(); err != nil {
		return "", err
	}
	if err := shim.WritePidFile("shim.pid", server.Process.Pid); err != nil {
		return "", err
	}
	return address, shim.WriteAddress("address", address)
}
