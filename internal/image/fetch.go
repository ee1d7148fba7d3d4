package image

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
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

// fetch puts the recipe's fetched files into the tree, from the repository at an address. The proxies
// of the environment are used, as by any program (HTTPS_PROXY).
func (s *Store) fetch(ctx context.Context, root, repository string) error {
	for _, f := range s.Recipe.Fetched {
		from, err := url.JoinPath(repository, f.At)
		if err != nil {
			return err
		}
		s.say("downloading %s", path.Base(f.Path))
		data, err := download(ctx, from, f.SHA256)
		if err != nil && ctx.Err() == nil {
			s.say("a download failed; trying once more")
			data, err = download(ctx, from, f.SHA256)
		}
		if err != nil {
			return fmt.Errorf("fetch %s: %w", from, err)
		}
		if f.Archive != "" {
			if err := f.unpack(data, root); err != nil {
				return fmt.Errorf("unpack %s: %w", path.Base(f.At), err)
			}
			continue
		}
		at, err := makeRoom(root, f.Path)
		if err != nil {
			return err
		}
		if err := os.WriteFile(at, data, 0o644); err != nil {
			return err
		}
		if err := os.Chmod(at, 0o644); err != nil { // whatever the umask
			return err
		}
	}
	return nil
}

// unpack puts the files of the jar's archive into the tree. Links and directories of their own are left out.
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
	plain, err := gzip.NewReader(archive)
	if err != nil {
		return err
	}
	for files := tar.NewReader(plain); ; {
		h, err := files.Next()
		switch {
		case errors.Is(err, io.EOF):
			_, err := io.Copy(io.Discard, plain) // its checksum is at the end
			return err
		case err != nil:
			return err
		case h.Typeflag != tar.TypeReg:
			continue
		case !filepath.IsLocal(h.Name):
			return fmt.Errorf("%q leads out of the tree: %w", h.Name, bench.ErrInvalid)
		}
		if err := put(files, root, path.Join(f.Path, h.Name), h.Mode); err != nil {
			return fmt.Errorf("%s: %w", h.Name, err)
		}
	}
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
