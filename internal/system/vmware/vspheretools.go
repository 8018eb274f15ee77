package vmware

import (
	"bytes"
	"context"
	"os/exec"
	"time"

	"github.com/vmware/govmomi/guest/toolbox"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/tare-bench/tare/internal/fault"
)

// vsphereTools are VMware Tools, reached through the server's guest operations.
type vsphereTools struct {
	vm   *object.VirtualMachine
	auth *types.NamePasswordAuthentication
}

func newTools(vm *object.VirtualMachine, user, password string) guestTools {
	return vsphereTools{vm, &types.NamePasswordAuthentication{Username: user, Password: password}}
}

// client waits until VMware Tools run, some time after the machine has started.
func (t vsphereTools) client(ctx context.Context) (*toolbox.Client, error) {
	for {
		running, err := t.vm.IsToolsRunning(ctx)
		if err != nil {
			return nil, fault.Hostf("VMware Tools: %w", err)
		}
		if running {
			c, err := toolbox.NewClient(ctx, t.vm.Client(), t.vm.Reference(), t.auth)
			if err != nil {
				return nil, fault.Hostf("guest operations: %w", err)
			}
			return c, nil
		}
		select {
		case <-ctx.Done():
			return nil, fault.WithRemedy(fault.Guestf("VMware Tools do not start in the guest"), "install open-vm-tools in it")
		case <-time.After(time.Second):
		}
	}
}

func (t vsphereTools) upload(ctx context.Context, path string, content []byte) error {
	c, err := t.client(ctx)
	if err != nil {
		return err
	}
	attr := &types.GuestPosixFileAttributes{Permissions: 0o600}
	if err := c.Upload(ctx, bytes.NewReader(content), path, soap.DefaultUpload, attr, false); err != nil {
		return fault.Hostf("%w", err)
	}
	return nil
}

func (t vsphereTools) start(ctx context.Context, program, arg string) error {
	c, err := t.client(ctx)
	if err != nil {
		return err
	}
	spec := &types.GuestProgramSpec{ProgramPath: program, Arguments: quote(arg)}
	if _, err := c.ProcessManager.StartProgram(ctx, t.auth, spec); err != nil {
		return fault.Hostf("%w", err)
	}
	return nil
}

func (t vsphereTools) run(ctx context.Context, program, arg string) error {
	c, err := t.client(ctx)
	if err != nil {
		return err
	}
	if err := c.Run(ctx, &exec.Cmd{Path: program, Args: []string{quote(arg)}}); err != nil {
		return fault.Hostf("%w", err)
	}
	return nil
}

func (t vsphereTools) address(ctx context.Context) (string, error) {
	ip, err := t.vm.WaitForIP(ctx, true)
	if err != nil {
		return "", fault.Guestf("it has none: %w", err)
	}
	return ip, nil
}
