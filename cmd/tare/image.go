package main

import (
	"context"
	"fmt"
	"io"
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
		Short: "Build the userland image that every arm runs, and the tools tree, unless they are cached",
		Long: `image builds the userland image before a run: the base image, or a variant that also
has what the given workloads, or those of a campaign, need. It also builds the tools tree,
from which systems take programs that this host lacks: lxc-start, runc, QEMU and others.
Nothing is installed on the host. tare run builds what is missing itself.

Images are cached by what they are built from, so the same workloads need one build.
A machine without Debian's tools gets its images from another one: see export and
import; tare fleet run sends them by itself.`,
		Example: "  tare image\n  tare image wordpress mediawiki\n  tare image web.yaml\n" +
			"  tare image export /mnt/stick web.yaml",
		Args: cobra.ArbitraryArgs,
	}
	nonFree := c.Flags().Bool("non-free", false, "allow packages from Debian's contrib and non-free")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		source, err := sourceOfArgs(cmd.Context(), o, args, *nonFree)
		if err != nil {
			return err
		}
		defer source.Close()
		if os.Getuid() != 0 {
			return fault.WithRemedy(fault.Hostf("building the userland image needs root"), "sudo tare image")
		}
		img, err := experiment.BuildImage(cmd.Context(), o.stateDir, source, showStep)
		if err != nil {
			return err
		}
		describeImage(cmd.OutOrStdout(), img)
		if img, err = experiment.BuildTools(cmd.Context(), o.stateDir, showStep); err != nil {
			return err
		}
		describeImage(cmd.OutOrStdout(), img)
		return nil
	}
	c.AddCommand(newImageExport(o), newImageImport(o))
	return c
}

func newImageExport(o *options) *cobra.Command {
	c := &cobra.Command{
		Use:   "export FOLDER [WORKLOAD... | CAMPAIGN]",
		Short: "Write an image to a folder, for machines that cannot build it",
		Long: `export writes the image that tare image would build to a folder, in chunks that are named
by their hashes, and builds it first if it is missing. Copy the folder to a machine by
any means, and import it there. Repeat an export that was interrupted: chunks that are
already complete are not written again.`,
		Example: "  tare image export /mnt/stick\n  tare image export /mnt/stick web.yaml\n" +
			"  tare image export --tools /mnt/stick-2",
		Args: cobra.MinimumNArgs(1),
	}
	nonFree := c.Flags().Bool("non-free", false, "allow packages from Debian's contrib and non-free")
	tools := c.Flags().Bool("tools", false, "the tools tree, instead of a userland image")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		source, err := sourceOfArgs(cmd.Context(), o, args[1:], *nonFree)
		if *tools {
			source, err = experiment.Source{Recipe: image.Tools()}, nil
		}
		if err != nil {
			return err
		}
		defer source.Close()
		if os.Getuid() != 0 {
			return fault.WithRemedy(fault.Hostf("only root can read images"), "run the command with sudo")
		}
		img, err := experiment.BuildImage(cmd.Context(), o.stateDir, source, showStep)
		if err != nil {
			return err
		}
		x, err := img.Export(cmd.Context(), args[0])
		if err != nil {
			return err
		}
		fmt.Fprintf(cmd.OutOrStdout(), "%s: %d chunks in %s\n", x.Name, len(x.Chunks), args[0])
		return nil
	}
	return c
}

func newImageImport(o *options) *cobra.Command {
	return &cobra.Command{
		Use:   "import FOLDER",
		Short: "Import an image from a folder that tare image export wrote",
		Long: `import checks each chunk of an exported image, unpacks it and checks every file. It
names chunks that are missing or damaged; repeat the import when they are there: what
has arrived is kept. It needs no tools of Debian. If the image is cached, it does
nothing. If the folder is "-", it reads the image that another tare writes to its
standard input.

Import only images from people whom you trust as root: native guests run their programs.`,
		Example: "  tare image import /mnt/stick",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			dir := experiment.ImageDir(o.stateDir)
			if args[0] == "-" {
				_, err := image.Receive(cmd.Context(), dir, cmd.OutOrStdout(), cmd.InOrStdin(), showStep)
				return err
			}
			x, err := image.ReadIndex(args[0])
			if err != nil {
				return err
			}
			img, err := image.Import(cmd.Context(), dir, x, image.FolderSource(args[0], x), showStep)
			if err != nil {
				return err
			}
			describeImage(cmd.OutOrStdout(), img)
			if img.Manifest.DiskSHA256 != x.DiskSHA256 {
				fmt.Fprintln(cmd.OutOrStdout(), "this machine keeps its own build of this image: versions of packages may "+
					"differ")
			}
			return nil
		},
	}
}

// describeImage prints what an image is.
func describeImage(w io.Writer, img *image.Image) {
	fmt.Fprintf(w, "%s: %d packages", filepath.Base(img.Dir), len(img.Manifest.Packages))
	if img.KernelVersion != "" {
		fmt.Fprintf(w, ", kernel %s", img.KernelVersion)
	}
	fmt.Fprintln(w)
}

// sourceOfArgs is what the image for workloads, or for the one campaign, named on the command line is built of.
func sourceOfArgs(ctx context.Context, o *options, args []string, nonFree bool) (experiment.Source, error) {
	c := &campaign.Campaign{Image: campaign.Image{AlsoFor: args, NonFree: nonFree}}
	if len(args) == 1 && (slices.Contains(campaign.BuiltinNames(), args[0]) || isFile(args[0])) {
		text, file, err := experiment.Text(args[0])
		if err != nil {
			return experiment.Source{}, err
		}
		if c, err = campaign.Parse(file, text, experiment.KnownAnywhere()); err != nil {
			return experiment.Source{}, err
		}
		c.Image.NonFree = c.Image.NonFree || nonFree
	}
	return experiment.SourceOf(ctx, o.stateDir, c)
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
