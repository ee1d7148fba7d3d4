package image

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"time"

	"tare/internal/bench"
)

// Fetched is a file of an image that no package of Debian has.
type Fetched struct {
	Path   string `json:"path"`
	At     string `json:"at"`     // in a Maven repository, such as "redis/clients/jedis/2.9.0/jedis-2.9.0.jar"
	SHA256 string `json:"sha256"` // in hexadecimal; nothing else is taken
	// Archive is the name of a gzipped tar archive in the file, a jar: its files are put below Path, in the
	// place of the jar.
	Archive string `json:"archive,omitempty"`
}

const (
	maxFetched    = 64 << 20 // bytes
	fetchDeadline = 2 * time.Minute
)

// mavenKey names the Maven repository in the environment: the user's own, or Maven Central.
const mavenKey = "TARE_MAVEN"

// needRepository is an error for what is no address of one.
func needRepository(address string) error {
	const hint = bench.Hint("set " + mavenKey + " to the address of Maven Central, or of a mirror of it, such as https://HOST/PATH")
	if address == "" {
		return fmt.Errorf("the image has files that are in no package of Debian, and no Maven repository is named: %w%w", bench.ErrUnavailable, hint)
	}
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return fmt.Errorf("%s: %q is not the address of a repository: %w%w", mavenKey, address, bench.ErrInvalid, hint)
	}
	return nil
}

func (f Fetched) name() string { return path.Base(f.At) }

func (Fetched) need() error { return needRepository(os.Getenv(mavenKey)) }

// take downloads it from the user's repository, a second time if that failed. The proxies of the
// environment are used, as by any program (HTTPS_PROXY).
func (f Fetched) take(ctx context.Context, s *Store, work string) error {
	from, err := url.JoinPath(os.Getenv(mavenKey), f.At)
	if err != nil {
		return err
	}
	data, err := download(ctx, from, f.SHA256)
	if err != nil && ctx.Err() == nil {
		s.say("a download failed; trying once more")
		data, err = download(ctx, from, f.SHA256)
	}
	if err != nil {
		return fmt.Errorf("fetch %s: %w", from, err)
	}
	root := filepath.Join(work, "root")
	if f.Archive == "" {
		return put(bytes.NewReader(data), root, f.Path, 0o644)
	}
	if err := f.unpack(data, root); err != nil {
		return fmt.Errorf("unpack %s: %w", f.Archive, err)
	}
	return nil
}

// unpack puts the files of the jar's archive into the tree.
func (f Fetched) unpack(jar []byte, root string) error {
	in, err := zip.NewReader(bytes.NewReader(jar), int64(len(jar)))
	if err != nil {
		return err
	}
	archive, err := in.Open(f.Archive)
	if err != nil {
		return err
	}
	defer archive.Close()
	return filesOf(archive, func(h *tar.Header, in io.Reader) error {
		if !filepath.IsLocal(h.Name) {
			return fmt.Errorf("it leads out of the tree: %w", bench.ErrInvalid)
		}
		return put(in, root, path.Join(f.Path, h.Name), h.Mode)
	})
}

// download returns the file, if it is the one that is meant.
func download(ctx context.Context, from, meant string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, fetchDeadline)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, from, nil)
	if err != nil {
		return nil, err
	}
	const hint = bench.Hint("check that this host reaches it; HTTPS_PROXY names a proxy")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, fmt.Errorf("%w: %w%w", errDownload, err, hint)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%w: the answer is %s%w", errDownload, response.Status, hint)
	}
	data, err := io.ReadAll(io.LimitReader(response.Body, maxFetched+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w: %w", errDownload, err)
	case len(data) > maxFetched:
		return nil, errors.New("it has more than " + bench.Bytes(maxFetched).String())
	}
	if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != meant {
		return nil, fmt.Errorf("its SHA-256 is %x and must be %s", sum, meant)
	}
	return data, nil
}
