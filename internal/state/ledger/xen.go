package ledger

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"tare/internal/host/tool"
)

// destroyDomain ends the Xen domain of that name. A host that runs no Xen has none.
func destroyDomain(ctx context.Context, name string) error {
	if _, err := os.Stat("/dev/xen/privcmd"); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	err := tool.Run(ctx, tool.Deadline, exec.Command("xl", "domid", name))
	if errors.As(err, new(*exec.ExitError)) {
		return nil // there is none of that name
	}
	if err != nil {
		return fmt.Errorf("find domain: %w", err)
	}
	return tool.Run(ctx, tool.Deadline, exec.Command("xl", "destroy", name))
}

// removeMapped removes a device of the device mapper.
func removeMapped(ctx context.Context, name string) error {
	names, err := filepath.Glob("/sys/block/dm-*/dm/name")
	if err != nil {
		return err
	}
	is := func(file string) bool {
		text, err := os.ReadFile(file)
		return err == nil && strings.TrimSpace(string(text)) == name
	}
	if !slices.ContainsFunc(names, is) {
		return nil
	}
	return tool.Run(ctx, tool.Deadline, exec.Command("dmsetup", "remove", "--retry", name))
}
