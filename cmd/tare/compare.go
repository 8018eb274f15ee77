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
	"github.com/tare-bench/tare/internal/compare"
	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/fleet"
	"github.com/tare-bench/tare/internal/store"
	"github.com/tare-bench/tare/internal/view"
)

// exitWorse is the status of a comparison with a change above --fail-above.
const exitWorse = exitStatus(6)

func newCompare(*options) *cobra.Command {
	var failAbove string
	var out string
	var all, markdown, asJSON, machines bool
	c := &cobra.Command{
		Use:   "compare RUN|FLEET RUN|FLEET…",
		Short: "Compare runs of one campaign from two times or two machines, or compare two fleets",
		Long: `compare reports what changed from the first run to each of the others: what each
system costs against the baseline of its own run. A change above 0 % means that it
costs more than before. Differences between the runs (sizes of trials and of guests,
kernel, machine, userland, versions) are listed first.

One run on each side can only show whether these runs differ. To find out whether
the system changed, use runs from at least three boots of the host on each side:
give a folder in place of a run; all of its runs form one side.

Two fleets are compared machine by machine if the same machines are in both, otherwise
by their means. A fleet is a fleet file, a folder with a folder of runs for each
machine, or the output of tare fleet show --json. docs/fleet.md explains the figures.

With --fail-above 5%, the exit status is 6 if a change for the worse is claimed and
its estimate exceeds 5 %. A change that is not resolved does not alter the status.`,
		Example: `  tare compare monday.tare tuesday.tare
  tare compare main.tare branch.tare --fail-above 5% --markdown
  tare compare old-kernel/ new-kernel/
  tare compare june.yaml july.yaml -o july.html   two fleets`,
		Args: cobra.MinimumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			limit, err := failLimit(failAbove)
			if err != nil {
				return err
			}
			if markdown && asJSON {
				return fault.Campaignf("--markdown and --json: choose one")
			}
			if slices.ContainsFunc(args, isFleet) {
				show := func(w io.Writer, c *fleet.Comparison) error { return fleet.ComparisonText(w, c, machines) }
				switch {
				case markdown:
					return fault.Campaignf("--markdown is for runs: a comparison of fleets has --json and --out")
				case asJSON:
					show = fleet.ComparisonJSON
				case out != "":
					show = fleet.WriteComparisonPage
				}
				c, err := compareFleets(cmd.Context(), args, all)
				if err != nil {
					return err
				}
				if err := writeTo(cmd, out, func(w io.Writer) error { return show(w, c) }); err != nil {
					return err
				}
				return worseThan(cmd, c.Above(limit), failAbove)
			}
			if out != "" || machines {
				return fault.Campaignf("--out and --machines are for comparisons of fleets; " +
					"tare serve shows those of runs as pages")
			}
			result, err := compareRuns(cmd.Context(), args, all)
			if err != nil {
				return err
			}
			w := cmd.OutOrStdout()
			switch {
			case asJSON:
				err = view.PrintJSON(w, result)
			case markdown:
				err = compare.Markdown(w, result, all)
			default:
				err = compare.Text(w, result, all)
			}
			if err != nil {
				return err
			}
			var worse []string
			for _, ch := range result.Above(limit) {
				change, interval := ch.Words()
				worse = append(worse, fmt.Sprintf("%s %s on %s: %s (%s)", ch.Workload, ch.Metric, ch.Arm, change, interval))
			}
			return worseThan(cmd, worse, failAbove)
		},
	}
	c.Flags().StringVar(&failAbove, "fail-above", "",
		"exit with status 6 if anything got worse by more than this, such as 5%")
	c.Flags().BoolVar(&all, "all", false, "show all metrics, not only the primary one of each workload")
	c.Flags().BoolVar(&markdown, "markdown", false, "print Markdown, for a pull request")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	c.Flags().BoolVar(&machines, "machines", false, "fleets: list the change on each machine")
	outFlag(c, &out, `fleets: write an HTML page to this file, "-" for standard output`)
	c.MarkFlagsMutuallyExclusive("json", "out")
	return c
}

// compareRuns compares runs, or folders of them.
func compareRuns(ctx context.Context, args []string, all bool) (*compare.Comparison, error) {
	var sides []compare.Side
	for _, path := range args {
		side, err := readSide(ctx, path)
		if err != nil {
			return nil, err
		}
		sides = append(sides, side)
	}
	return compare.Sides(sides, all)
}

// compareFleets compares two fleets.
func compareFleets(ctx context.Context, args []string, all bool) (*fleet.Comparison, error) {
	if len(args) != 2 || !isFleet(args[0]) || !isFleet(args[1]) {
		return nil, fault.WithRemedy(fault.Campaignf("a comparison of fleets needs two fleets, and nothing else"),
			"give two fleet files, two folders with a folder of runs for each machine, or two files of tare fleet show --json")
	}
	before, err := fleetSide(ctx, args[0], all)
	if err != nil {
		return nil, err
	}
	after, err := fleetSide(ctx, args[1], all)
	if err != nil {
		return nil, err
	}
	return fleet.Compare(before, after)
}

// worseThan is the exit status of a comparison in which these figures got worse by more than --fail-above.
func worseThan(cmd *cobra.Command, figures []string, failAbove string) error {
	if failAbove == "" {
		return nil
	}
	var said []string
	for _, text := range figures {
		said = append(said, fmt.Sprintf("%s, more than %s worse", text, failAbove))
	}
	return exceeded(cmd, said)
}

// exceeded is the exit status of figures that are above a limit, in words; nil: there are none.
func exceeded(cmd *cobra.Command, said []string) error {
	if len(said) == 0 {
		return nil
	}
	for _, text := range said {
		fmt.Fprintf(cmd.ErrOrStderr(), "tare: %s\n", text)
	}
	return exitWorse
}

// readSide reads one run, or all runs of a folder.
func readSide(ctx context.Context, path string) (compare.Side, error) {
	side := compare.Side{Name: path}
	files := []string{path}
	if st, err := os.Stat(path); err == nil && st.IsDir() {
		if files, err = runsIn(path); err != nil {
			return side, err
		}
	}
	for _, f := range files {
		if err := readRun(ctx, f, func(s *store.Run) error {
			r, err := compare.Read(s)
			if err == nil {
				r.Name = f
				side.Runs = append(side.Runs, r)
			}
			return err
		}); err != nil {
			return side, err
		}
	}
	return side, nil
}

// runsIn returns the run files of a folder, sorted by name.
func runsIn(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fault.Campaignf("%w", err)
	}
	var files []string
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".tare") && !e.IsDir() {
			files = append(files, filepath.Join(dir, e.Name()))
		}
	}
	if files == nil {
		return nil, fault.Campaignf("%s: there is no run in this folder: no file that ends in .tare", dir)
	}
	return files, nil
}

func failLimit(text string) (float64, error) {
	if text == "" {
		return 0, nil
	}
	p, err := campaign.ParsePercent(text)
	if err != nil || p < 0 {
		return 0, fault.Campaignf("--fail-above %q: must be a percentage such as 5%%", text)
	}
	return p.Fraction(), nil
}
