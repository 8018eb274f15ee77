package experiment

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"

	"github.com/tare-bench/tare/internal/agentbin"
	"github.com/tare-bench/tare/internal/campaign"
	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/image"
	"github.com/tare-bench/tare/internal/store"
)

// RecipeOf is the recipe of the image that all arms of a campaign share.
func RecipeOf(c *campaign.Campaign) (image.Recipe, error) {
	all := slices.Clone(c.Workloads)
	for _, name := range c.Image.AlsoFor {
		all = append(all, campaign.Workload{Name: name})
	}
	needs := []image.Needs{{Packages: c.Image.Packages, NonFree: c.Image.NonFree}}
	for _, cw := range all {
		w, own, err := workloadOf(cw)
		if err != nil {
			return image.Recipe{}, err
		}
		if w.NonFree && !c.Image.NonFree {
			return image.Recipe{}, fault.WithRemedy(
				fault.Campaignf("workload %s: its program (%s) is in Debian's non-free: its licence restricts its use", w.Name,
					w.Source),
				"if the licence allows your use, set image: {non_free: true} in the campaign, or use tare image --non-free")
		}
		n := image.Needs{Packages: w.Packages}
		if own != nil {
			n.OwnBuilds = []image.OwnBuild{*own}
		}
		for _, name := range w.Brings {
			program, err := agentbin.Named(name)
			if err != nil {
				return image.Recipe{}, err
			}
			n.Programs = append(n.Programs, image.NewProgram(name, program))
		}
		for _, s := range w.Setups {
			n.Setups = append(n.Setups, image.Setup{Name: s.Name, Script: s.Script})
		}
		needs = append(needs, n)
	}
	base := image.Base()
	if c.Image.Kernel == campaign.KernelGeneric {
		base = base.GenericKernel()
	}
	return base.With(needs...)
}

// ImageDir is where images are kept, without symbolic links: runc follows none to a root.
func ImageDir(stateDir string) string {
	dir := filepath.Join(stateDir, "images")
	if direct, err := filepath.EvalSymlinks(dir); err == nil {
		return direct
	}
	return dir
}

// BuildImage builds a userland image, or finds it in the cache. step gets each step of
// a build.
func BuildImage(ctx context.Context, stateDir string, recipe image.Recipe, step func(string)) (*image.Image, error) {
	dir := ImageDir(stateDir)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fault.Hostf("%w", err)
	}
	return image.Build(ctx, image.Options{CacheDir: dir, Recipe: &recipe, Step: step})
}

// needImageFor makes the testbed use the image of a campaign, or that of a run which
// another is to be like; nil: none.
func (t *Testbed) needImageFor(ctx context.Context, c *campaign.Campaign, like *Likeness) error {
	recipe, err := RecipeOf(c)
	if err != nil {
		return err
	}
	var systems []string
	for _, a := range c.Arms {
		systems = append(systems, a.System)
	}
	if err := t.needTools(ctx, systems); err != nil {
		return err
	}
	if like != nil {
		return t.needImageOf(ctx, like.path, like.image, recipe)
	}
	return t.needImage(ctx, recipe)
}

// needImage makes the testbed use the image of this recipe, and builds it if it
// is missing.
func (t *Testbed) needImage(ctx context.Context, recipe image.Recipe) error {
	if t.Image != nil && t.Image.Key == recipe.Key() {
		return nil
	}
	img, err := BuildImage(ctx, t.Host.StateDir, recipe, t.step)
	if err != nil {
		return err
	}
	return t.use(img)
}

// needImageOf makes the testbed use the image with this key, which the run at path
// used: that of the recipe, which can be built, or an older one that is still cached.
func (t *Testbed) needImageOf(ctx context.Context, path, key string, recipe image.Recipe) error {
	if key == recipe.Key() {
		return t.needImage(ctx, recipe)
	}
	img, err := image.OpenKey(ImageDir(t.Host.StateDir), key)
	if errors.Is(err, image.ErrNotBuilt) {
		return fault.WithRemedy(fault.Hostf("the userland image of %s (%.12s) is not on this machine, and this version of "+
			"tare builds a different one (%.12s) for the same campaign", path, key, recipe.Key()),
			"copy its directory to %s from the machine that has it, or start the campaign afresh", ImageDir(t.Host.StateDir))
	}
	if err != nil {
		return err
	}
	return t.use(img)
}

// imageKey is the key of the image that a run was made with.
func imageKey(s *store.Run) (string, error) {
	var userland struct{ Key string }
	err := s.Decode(store.DocUserland, &userland)
	return userland.Key, err
}
