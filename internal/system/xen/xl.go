package xen

import (
	"context"
	"maps"
	"os/exec"
	"slices"
	"strings"

	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/xenctl"
)

// toolstack is the program that manages domains.
const toolstack = "xl"

// xl runs the toolstack.
func xl(ctx context.Context, args ...string) error {
	out, err := exec.CommandContext(ctx, toolstack, args...).CombinedOutput()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		return fault.Hostf("xl %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(string(out)))
	}
	return nil
}

// xlInfo returns xl's information about the hypervisor.
func xlInfo(ctx context.Context) (map[string]string, error) {
	out, err := exec.CommandContext(ctx, toolstack, "info").CombinedOutput()
	if err != nil {
		return nil, fault.Hostf("%s info: %w: %s", toolstack, err, strings.TrimSpace(string(out)))
	}
	return parseInfo(string(out)), nil
}

func parseInfo(text string) map[string]string {
	info := map[string]string{}
	for line := range strings.Lines(text) {
		if key, value, ok := strings.Cut(line, ":"); ok {
			info[strings.TrimSpace(key)] = strings.TrimSpace(value)
		}
	}
	return info
}

// schedulerCommand returns the xl command that caps domains under this scheduler.
func schedulerCommand(scheduler string) (string, error) {
	switch scheduler {
	case "credit":
		return "sched-credit", nil
	case "credit2":
		return "sched-credit2", nil
	}
	return "", fault.Hostf("Xen's scheduler is %q, which cannot cap a domain's CPU time", scheduler)
}

// destroy ends the domain with this name and frees its resources, if there is one.
func destroy(ctx context.Context, name string) error {
	err := xl(ctx, "destroy", name)
	if err == nil {
		return nil
	}
	// The domain may have ended by itself in the meantime.
	if exec.CommandContext(ctx, toolstack, "domid", name).Run() != nil && ctx.Err() == nil {
		return nil
	}
	return err
}

// Names lists the names of all domains; none where there is no Xen.
func Names() ([]string, error) {
	if !xenctl.Dom0() {
		return nil, nil
	}
	store, err := xenctl.OpenStore()
	if err != nil {
		return nil, err
	}
	defer store.Close()
	ids, err := store.DomainIDs()
	return slices.Sorted(maps.Keys(ids)), err
}
