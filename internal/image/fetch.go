package image

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path"
	"time"

	"tare/internal/bench"
)

// Fetched is a file of an image that no package of Debian has.
type Fetched struct {
	Path   string `json:"path"`
	URL    string `json:"url"`
	SHA256 string `json:"sha256"` // in hexadecimal; nothing else is taken
}

const (
	maxFetched    = 64 << 20 // bytes
	fetchDeadline = 2 * time.Minute
)

// fetch puts the recipe's fetched files into the tree. The proxies of the environment are used, as by
// any program (HTTPS_PROXY).
func (s *Store) fetch(ctx context.Context, root string) error {
	for _, f := range s.Recipe.Fetched {
		s.say("downloading %s", path.Base(f.Path))
		data, err := download(ctx, f)
		if err != nil && ctx.Err() == nil {
			s.say("a download failed; trying once more")
			data, err = download(ctx, f)
		}
		if err != nil {
			return fmt.Errorf("fetch %s: %w", f.URL, err)
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

// download returns the file, if it is the one that is meant.
func download(ctx context.Context, f Fetched) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, fetchDeadline)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, f.URL, nil)
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
	if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != f.SHA256 {
		return nil, fmt.Errorf("its SHA-256 is %x and must be %s", sum, f.SHA256)
	}
	return data, nil
}
