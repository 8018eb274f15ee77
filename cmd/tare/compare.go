package main

import (
	"fmt"

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
		Long: `compare says what changed from the first run to each of the others: the
baseline's own figures, and what each system costs against the baseline of its
own run. Above 0 % is worse. A change is claimed only where it is significant
among all that are compared (Holm) and outside of the noise of both runs.

With --fail-above 5% the exit status is 6 where a change for the worse is claimed
and estimated at more than 5 %. What is not resolved does not fail.`,
		Example: `  tare compare monday.tare tuesday.tare
  tare compare main.tare branch.tare --fail-above 5% --markdown`,
		Args: cobra.MinimumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			limit, err := failLimit(failAbove)
			if err != nil {
				return err
			}
			if markdown && asJSON {
				return fault.Campaignf("--markdown and --json: choose one")
			}
			var runs []*compare.Run
			for _, path := range args {
				if err := readRun(path, func(s *store.Run) error {
					r, err := compare.Read(s)
					runs = append(runs, r)
					return err
				}); err != nil {
					return err
				}
			}
			result, err := compare.Runs(runs, all)
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
					fmt.Fprintf(cmd.ErrOrStderr(), "tare: %s: %s: %s worse (%s), more than %s\n", cells.Workload, cells.Figure, cells.Change, cells.Interval, failAbove)
				}
				return exitWorse
			}
			return nil
		},
	}
	c.Flags().StringVar(&failAbove, "fail-above", "", "exit with status 6 where something is worse by more, such as 5%")
	c.Flags().BoolVar(&all, "all", false, "all metrics, not only the first of each workload")
	c.Flags().BoolVar(&markdown, "markdown", false, "as Markdown, for a pull request")
	c.Flags().BoolVar(&asJSON, "json", false, "as JSON")
	return c
}

func failLimit(text string) (float64, error) {
	if text == "" {
		return 0, nil
	}
	p, err := campaign.ParsePercent(text)
	if err != nil || p < 0 {
		return 0, fault.Campaignf("--fail-above %q: want something like 5%%", text)
	}
	return p.Fraction(), nil
}
