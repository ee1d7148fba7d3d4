package main

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"golang.org/x/sys/unix"
)

// pauseImage has this program alone. It holds a pod's namespaces, and is what check runs.
const pauseImage = "localhost/cluster:1"

// writeImage writes the archive of the image with the given program.
func writeImage(archive, program string) error {
	data, err := os.ReadFile(program)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	if err := w.WriteHeader(&tar.Header{Name: "cluster", Mode: 0o755, Size: int64(len(data))}); err != nil {
		return err
	}
	if _, err := w.Write(data); err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(b.Bytes())), nil })
	if err != nil {
		return err
	}
	image, err := mutate.AppendLayers(empty.Image, layer)
	if err != nil {
		return err
	}
	config, err := image.ConfigFile()
	if err != nil {
		return err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture = "linux", "amd64"
	config.Config.Entrypoint = []string{"/cluster"}
	config.Config.Cmd = []string{"pause"}
	if image, err = mutate.ConfigFile(image, config); err != nil {
		return err
	}
	tag, err := name.NewTag(pauseImage)
	if err != nil {
		return err
	}
	return tarball.WriteToFile(archive, tag, image)
}

const answerPort = "8080"

// answer runs in a pod: it prints what it is in, as the log, and tells whoever connects.
func answer(ctx context.Context) error {
	text, err := describe(ctx)
	if err != nil {
		return err
	}
	fmt.Print(text)
	listener, err := net.Listen("tcp", ":"+answerPort)
	if err != nil {
		return err
	}
	for {
		conn, err := listener.Accept()
		if err != nil {
			return err
		}
		_, _ = io.WriteString(conn, text)
		conn.Close()
	}
}

// ask runs in a pod: it prints what the pod of the address answers.
func ask(ctx context.Context, address string) error {
	dialer := net.Dialer{Timeout: 5 * time.Second}
	conn, err := dialer.DialContext(ctx, "tcp", net.JoinHostPort(address, answerPort))
	if err != nil {
		return err
	}
	defer conn.Close()
	_, err = io.Copy(os.Stdout, conn)
	return err
}

// describe says which kernel a pod sees, and what the API server lets its service account know.
func describe(ctx context.Context) (string, error) {
	const account = "/var/run/secrets/kubernetes.io/serviceaccount/"
	token, err := os.ReadFile(account + "token")
	if err != nil {
		return "", err
	}
	ca, err := os.ReadFile(account + "ca.crt")
	if err != nil {
		return "", err
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(ca)
	client := http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}}
	server := net.JoinHostPort(os.Getenv("KUBERNETES_SERVICE_HOST"), os.Getenv("KUBERNETES_SERVICE_PORT"))
	ask, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+server+"/api", nil)
	if err != nil {
		return "", err
	}
	ask.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	reply, err := client.Do(ask)
	if err != nil {
		return "", err
	}
	reply.Body.Close()
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		return "", err
	}
	return fmt.Sprintf("host %s, kernel %s, API %s\n", unix.ByteSliceToString(u.Nodename[:]), unix.ByteSliceToString(u.Release[:]), reply.Status), nil
}
