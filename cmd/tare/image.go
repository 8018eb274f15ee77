package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/tare-bench/tare/internal/campaign"
	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/image"
)

func newImage(o *options) *cobra.Command {
	c := &cobra.Command{
		Use:   "image [WORKLOAD... | CAMPAIGN]",
		Short: "Build the userland image that every arm runs, unless it is cached",
		Long: `image builds the userland image before a run: the base image, or a variant with
what the given workloads, or those of a campaign, need in addition. tare run builds
a missing image itself.

Images are cached by what they are built from, so the same workloads need one build.`,
		Example: "  tare image\n  tare image wordpress mediawiki\n  tare image web.yaml",
		Args:    cobra.ArbitraryArgs,
	}
	nonFree := c.Flags().Bool("non-free", false, "allow packages from Debian's contrib and non-free")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		recipe, err := recipeOfArgs(args, *nonFree)
		if err != nil {
			return err
		}
		if os.Getuid() != 0 {
			return fault.WithRemedy(fault.Hostf("building the userland image needs root"), "sudo tare image")
		}
		img, err := buildImage(cmd.Context(), o, recipe)
		if err != nil {
			return err
		}
		fmt.Fprintf(cmd.OutOrStdout(), "%s: %d packages, kernel %s\n", filepath.Base(img.Dir), len(img.Manifest.Packages), img.KernelVersion)
		return nil
	}
	return c
}

// recipeOfArgs is the recipe for workloads, or for the one campaign, named on
// the command line.
func recipeOfArgs(args []string, nonFree bool) (image.Recipe, error) {
	if len(args) == 1 && (slices.Contains(campaign.BuiltinNames(), args[0]) || isFile(args[0])) {
		text, file, err := campaignText(args[0])
		if err != nil {
			return image.Recipe{}, err
		}
		c, err := campaign.Parse(file, text, knownAnywhere())
		if err != nil {
			return image.Recipe{}, err
		}
		c.Image.NonFree = c.Image.NonFree || nonFree
		return recipeOf(c)
	}
	c := &campaign.Campaign{Image: campaign.Image{AlsoFor: args, NonFree: nonFree}}
	return recipeOf(c)
}

func isFile(name string) bool {
	st, err := os.Stat(name)
	return err == nil && !st.IsDir()
}

// recipeOf is the recipe of the image that all arms of a campaign share.
func recipeOf(c *campaign.Campaign) (image.Recipe, error) {
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
				fault.Campaignf("workload %s: its program (%s) is in Debian's non-free: its licence restricts its use", w.Name, w.Source),
				"if the licence allows your use, set image: {non_free: true} in the campaign, or use tare image --non-free")
		}
		n := image.Needs{Packages: w.Packages}
		if own != nil {
			n.OwnBuilds = []image.OwnBuild{*own}
		}
		for _, s := range w.Setups {
			n.Setups = append(n.Setups, image.Setup{Name: s.Name, Script: s.Script})
		}
		needs = append(needs, n)
	}
	return image.Base().With(needs...)
}

// imageDir is where images are kept, without symbolic links: runc follows none to a root.
func imageDir(o *options) string {
	dir := filepath.Join(o.stateDir, "images")
	if direct, err := filepath.EvalSymlinks(dir); err == nil {
		return direct
	}
	return dir
}

// buildImage builds a userland image, or finds it in the cache, and reports progress.
func buildImage(ctx context.Context, o *options, recipe image.Recipe) (*image.Image, error) {
	if err := os.MkdirAll(imageDir(o), 0o755); err != nil {
		return nil, fault.Hostf("%w", err)
	}
	return image.Build(ctx, image.Options{
		CacheDir: imageDir(o), Recipe: &recipe,
		Log: func(line string) { fmt.Fprintln(os.Stderr, "image:", line) },
	})
}

// needImage makes the testbed use the image of this recipe, and builds it if it
// is missing.
func (t *testbed) needImage(ctx context.Context, o *options, recipe image.Recipe) error {
	if t.image != nil && t.image.Key == recipe.Key() {
		return nil
	}
	img, err := buildImage(ctx, o, recipe)
	if err != nil {
		return err
	}
	return t.use(img)
}
