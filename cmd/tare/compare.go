package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tare-bench/tare/internal/campaign"
	"github.com/tare-bench/tare/internal/compare"
	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/store"
)

// exitWorse is the status of a comparison with a change above --fail-above.
const exitWorse = exitStatus(6)

func newCompare(*options) *cobra.Command {
	var failAbove string
	var all, markdown, asJSON bool
	c := &cobra.Command{
		Use:   "compare RUN RUN…",
		Short: "Compare runs of one campaign, at two times or on two machines",
		Long: `compare reports what changed from the first run to each of the others: what each
system costs against the baseline of its own run. A change above 0 % means that it
costs more than before. Differences between the runs (sizes of trials and of guests,
kernel, machine, userland, versions) are listed first.

One run on each side can only show whether these runs differ. To find out whether
the system changed, use runs from at least three boots of the host on each side:
give a folder in place of a run; all of its runs form one side.

With --fail-above 5%, the exit status is 6 if a change for the worse is claimed and
its estimate exceeds 5 %. A change that is not resolved does not fail.`,
		Example: `  tare compare monday.tare tuesday.tare
  tare compare main.tare branch.tare --fail-above 5% --markdown
  tare compare old-kernel/ new-kernel/`,
		Args: cobra.MinimumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			limit, err := failLimit(failAbove)
			if err != nil {
				return err
			}
			if markdown && asJSON {
				return fault.Campaignf("--markdown and --json: choose one")
			}
			var sides []compare.Side
			for _, path := range args {
				side, err := readSide(cmd.Context(), path)
				if err != nil {
					return err
				}
				sides = append(sides, side)
			}
			result, err := compare.Sides(sides, all)
			if err != nil {
				return err
			}
			w := cmd.OutOrStdout()
			switch {
			case asJSON:
				err = compare.JSON(w, result)
			case markdown:
				err = compare.Markdown(w, result, all)
			default:
				err = compare.Text(w, result, all)
			}
			if err != nil || failAbove == "" {
				return err
			}
			if worse := result.Above(limit); len(worse) > 0 {
				for _, ch := range worse {
					cells := ch.Cells(true)
					fmt.Fprintf(cmd.ErrOrStderr(), "tare: %s on %s: %s (%s), more than %s worse\n", cells.Workload, cells.Figure,
						cells.Change, cells.Interval, failAbove)
				}
				return exitWorse
			}
			return nil
		},
	}
	c.Flags().StringVar(&failAbove, "fail-above", "",
		"exit with status 6 if anything got worse by more than this, such as 5%")
	c.Flags().BoolVar(&all, "all", false, "show all metrics, not only the primary one of each workload")
	c.Flags().BoolVar(&markdown, "markdown", false, "print Markdown, for a pull request")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
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
