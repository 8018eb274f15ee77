package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tare-bench/tare/internal/campaign"
	"github.com/tare-bench/tare/internal/experiment"
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
		img, err := experiment.BuildImage(cmd.Context(), o.stateDir, recipe, showStep)
		if err != nil {
			return err
		}
		fmt.Fprintf(cmd.OutOrStdout(), "%s: %d packages, kernel %s\n", filepath.Base(img.Dir), len(img.Manifest.Packages),
			img.KernelVersion)
		return nil
	}
	return c
}

// recipeOfArgs is the recipe for workloads, or for the one campaign, named on
// the command line.
func recipeOfArgs(args []string, nonFree bool) (image.Recipe, error) {
	if len(args) == 1 && (slices.Contains(campaign.BuiltinNames(), args[0]) || isFile(args[0])) {
		text, file, err := experiment.Text(args[0])
		if err != nil {
			return image.Recipe{}, err
		}
		c, err := campaign.Parse(file, text, experiment.KnownAnywhere())
		if err != nil {
			return image.Recipe{}, err
		}
		c.Image.NonFree = c.Image.NonFree || nonFree
		return experiment.RecipeOf(c)
	}
	c := &campaign.Campaign{Image: campaign.Image{AlsoFor: args, NonFree: nonFree}}
	return experiment.RecipeOf(c)
}

func isFile(name string) bool {
	st, err := os.Stat(name)
	return err == nil && !st.IsDir()
}

// showStep shows a step of an image's build: on a terminal on one line, which the next
// step, or whatever else is printed, replaces.
func showStep(step string) {
	switch {
	case !isTerminal(os.Stderr) || os.Getenv("TERM") == "dumb":
		fmt.Fprintln(os.Stderr, "image:", step)
	case strings.HasPrefix(step, "built"):
		fmt.Fprintln(os.Stderr, "\x1b[Kimage:", step)
	default:
		fmt.Fprint(os.Stderr, "\x1b[Kimage: ", step, " …\r")
	}
}
