package ledger

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// destroyDomain ends the Xen domain of that name. A host that runs no Xen has none.
func destroyDomain(ctx context.Context, name string) error {
	if _, err := os.Stat("/dev/xen/privcmd"); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	err := exec.CommandContext(ctx, "xl", "domid", name).Run()
	if errors.As(err, new(*exec.ExitError)) {
		return nil // there is none of that name
	}
	if err != nil {
		return fmt.Errorf("find domain: %w", err)
	}
	return tool(ctx, "xl", "destroy", name)
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
	return tool(ctx, "dmsetup", "remove", "--retry", name)
}

func tool(ctx context.Context, name string, args ...string) error {
	if out, err := exec.CommandContext(ctx, name, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s %v: %w: %s", name, args, err, bytes.TrimSpace(out))
	}
	return nil
}
