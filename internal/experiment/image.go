package experiment

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"

	"github.com/tare-bench/tare/internal/agentbin"
	"github.com/tare-bench/tare/internal/campaign"
	"github.com/tare-bench/tare/internal/container"
	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/image"
	"github.com/tare-bench/tare/internal/store"
	"github.com/tare-bench/tare/internal/workload"
)

// Source is what an image is built of.
type Source struct {
	image.Recipe
	from *container.Image // the container image that is the tree; nil: none, or the cache has the image
}

// Close releases the container image.
func (s Source) Close() error {
	if s.from == nil {
		return nil
	}
	return s.from.Close()
}

// SourceOf is what the image that all arms of a campaign share is built of. The caller closes it.
func SourceOf(ctx context.Context, stateDir string, c *campaign.Campaign) (Source, error) {
	if c.Image.OCI == "" {
		r, err := packagesOf(c)
		return Source{Recipe: r}, err
	}
	if c.Image.ID != "" {
		cached, err := image.List(ImageDir(stateDir))
		if err != nil {
			return Source{}, err
		}
		for _, i := range cached {
			if made := i.Manifest.Recipe.Container; made != nil && made.ID == c.Image.ID {
				r, err := containerOf(c, *made)
				if err != nil || r.Key() == i.Manifest.Key {
					return Source{Recipe: r}, err
				}
			}
		}
	}
	if err := os.MkdirAll(ImageDir(stateDir), 0o755); err != nil {
		return Source{}, fault.Hostf("%w", err)
	}
	found, err := container.Open(ctx, c.Image.OCI, ImageDir(stateDir))
	if err != nil {
		return Source{}, err
	}
	if c.Image.ID != "" && c.Image.ID != found.ID {
		err := fault.WithRemedy(fault.Campaignf("the container image %s is now %s; the campaign was made with %s",
			c.Image.OCI, found.ID, c.Image.ID),
			"name the image by its digest, or remove id from the campaign to take the new one")
		return Source{}, errors.Join(err, found.Close())
	}
	r, err := containerOf(c, image.Container{ID: found.ID, Config: found.Config})
	if err != nil {
		return Source{}, errors.Join(err, found.Close())
	}
	return Source{r, found}, nil
}

// containerOf is the recipe of an image whose tree is a container image, and has those of tare's programs that the
// campaign needs.
func containerOf(c *campaign.Campaign, made image.Container) (image.Recipe, error) {
	var needs []image.Needs
	for _, cw := range c.Workloads {
		w, _, err := workloadOf(cw)
		if err != nil {
			return image.Recipe{}, err
		}
		programs, err := broughtBy(w)
		if err != nil {
			return image.Recipe{}, err
		}
		needs = append(needs, image.Needs{Programs: programs})
	}
	return image.OfContainer(made).With(needs...)
}

// broughtBy are tare's own programs that a workload needs in the image.
func broughtBy(w *workload.Workload) (all []image.Program, err error) {
	for _, name := range w.Brings {
		program, err := agentbin.Named(name)
		if err != nil {
			return nil, err
		}
		all = append(all, image.NewProgram(name, program))
	}
	return all, nil
}

// packagesOf is the recipe of an image of Debian's packages.
func packagesOf(c *campaign.Campaign) (image.Recipe, error) {
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
		if n.Programs, err = broughtBy(w); err != nil {
			return image.Recipe{}, err
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

// BuildImage builds a userland image, or finds it in the cache. step gets each step of a build.
func BuildImage(ctx context.Context, stateDir string, s Source, step func(string)) (*image.Image, error) {
	dir := ImageDir(stateDir)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fault.Hostf("%w", err)
	}
	o := image.Options{CacheDir: dir, Recipe: &s.Recipe, Container: s.from, Step: step}
	if s.from != nil {
		var err error
		if o.Kernel, err = image.Build(ctx, image.Options{CacheDir: dir, Step: step}); err != nil {
			return nil, err
		}
	}
	return image.Build(ctx, o)
}

// needImageFor makes the testbed use the image of a campaign, or that of a run which
// another is to be like; nil: none.
func (t *Testbed) needImageFor(ctx context.Context, c *campaign.Campaign, like *Likeness) error {
	source, err := SourceOf(ctx, t.Host.StateDir, c)
	if err != nil {
		return err
	}
	defer source.Close()
	var systems []string
	for _, a := range c.Arms {
		systems = append(systems, a.System)
	}
	if err := t.needTools(ctx, systems); err != nil {
		return err
	}
	if like != nil {
		return t.needImageOf(ctx, like.path, like.image, source)
	}
	return t.needImage(ctx, source)
}

// needImage makes the testbed use the image of this source, and builds it if it
// is missing.
func (t *Testbed) needImage(ctx context.Context, source Source) error {
	if t.Image != nil && t.Image.Key == source.Key() {
		return nil
	}
	img, err := BuildImage(ctx, t.Host.StateDir, source, t.step)
	if err != nil {
		return err
	}
	return t.use(img)
}

// needImageOf makes the testbed use the image with this key, which the run at path
// used: that of the source, which can be built, or an older one that is still cached.
func (t *Testbed) needImageOf(ctx context.Context, path, key string, source Source) error {
	if key == source.Key() {
		return t.needImage(ctx, source)
	}
	img, err := image.OpenKey(ImageDir(t.Host.StateDir), key)
	if errors.Is(err, image.ErrNotBuilt) {
		return fault.WithRemedy(fault.Hostf("the userland image of %s (%.12s) is not on this machine, and this version of "+
			"tare builds a different one (%.12s) for the same campaign", path, key, source.Key()),
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
