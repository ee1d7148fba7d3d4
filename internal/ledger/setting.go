package ledger

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"tare/internal/bench"
)

// checkSetting says whether a setting may be put back: one of the kernel's own
// files, or of a copy of them in the state directory.
func checkSetting(stateDir, name string) error {
	root, _, _, err := bench.ParseSetting(name)
	if err != nil {
		return errForm
	}
	if root != "" && root != stateDir && !strings.HasPrefix(root, stateDir+"/") {
		return fmt.Errorf("outside /sys and %s", stateDir)
	}
	return nil
}

// putBack writes a setting's old value. A file that is gone has nothing to put back.
func putBack(name string) error {
	_, path, old, err := bench.ParseSetting(name)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_TRUNC, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("put back: %w", err)
	}
	_, err = f.WriteString(old)
	return errors.Join(err, f.Close())
}
