package remote

import (
	"context"
	_ "embed"
	"errors"
	"strings"
)

//go:embed reboot.sh
var rebootScript string

// Booted is the id of the boot that the machine is in.
func (h Host) Booted(ctx context.Context) (string, error) {
	out, err := h.script(ctx, nil, "cat /proc/sys/kernel/random/boot_id")
	return strings.TrimSpace(out), err
}

// Reboot boots the machine into an entry of GRUB's menu, once, unless it has left the boot with this id. It returns
// before the machine is down.
func (h Host) Reboot(ctx context.Context, boot, entry string) error {
	_, err := h.script(ctx, nil, rebootScript, boot, entry)
	if errors.Is(err, ErrNoConnection) {
		return nil // it goes down before it has answered, or will be found in the same boot
	}
	return err
}
