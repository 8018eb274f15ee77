package experiment

import (
	"context"
	"errors"

	"github.com/tare-bench/tare/internal/image"
	"github.com/tare-bench/tare/internal/system"
	"github.com/tare-bench/tare/internal/tools"
)

// BuildTools builds the tools tree, or finds it in the cache. step gets each step of a build.
func BuildTools(ctx context.Context, stateDir string, step func(string)) (*image.Image, error) {
	return BuildImage(ctx, stateDir, Source{Recipe: image.Tools()}, func(s string) { step("tools tree: " + s) })
}

// needTools builds the tools tree if this host lacks programs of these systems that the tree has.
func (t *Testbed) needTools(ctx context.Context, systems []string) error {
	if tools.Used() || len(tools.Missing(t.programs(systems))) == 0 {
		return nil
	}
	_, err := BuildTools(ctx, t.Host.StateDir, t.step)
	if errors.Is(err, image.ErrNoBuild) { // the checks of systems say what that means
		return nil
	}
	if err != nil {
		return err
	}
	return system.UseTools(ImageDir(t.Host.StateDir), t.Host.StateDir, t.Host.Dir)
}

// programs are those of the host, or of the tools tree, with which these systems make guests.
func (t *Testbed) programs(systems []string) (names []string) {
	names = append(names, "mkfs.ext4")
	for _, s := range systems {
		if d := t.Drivers[s]; d != nil {
			names = append(names, d.Capabilities().Programs...)
		}
	}
	return names
}
