package main

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/tare-bench/tare/docs/findings"
	"github.com/tare-bench/tare/internal/analyze"
	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/nearest"
	"github.com/tare-bench/tare/internal/report"
)

func newExplain(*options) *cobra.Command {
	c := &cobra.Command{
		Use:     "explain [CODE]",
		Short:   "Explain a finding: what it means, how it is found, how to fix it",
		Example: "  tare explain                  all findings, one per line\n  tare explain cached-writes",
		Args:    cobra.MaximumNArgs(1),
	}
	asJSON := jsonFlag(c)
	c.RunE = func(cmd *cobra.Command, args []string) error {
		w := cmd.OutOrStdout()
		if len(args) == 0 {
			if *asJSON {
				return report.PrintJSON(w, analyze.Kinds())
			}
			tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
			for _, k := range analyze.Kinds() {
				fmt.Fprintf(tw, "%s\t%s\t%s\n", k.ID, k.Severity, k.Headline)
			}
			return tw.Flush()
		}
		if k, ok := analyze.FindKind(args[0]); ok {
			if *asJSON {
				return report.PrintJSON(w, k)
			}
			_, err := fmt.Fprint(w, findings.Page(k.ID))
			return err
		}
		var ids []string
		for _, k := range analyze.Kinds() {
			ids = append(ids, k.ID)
		}
		err := fault.Campaignf("unknown finding %q", args[0])
		if near := nearest.Nearest(args[0], ids); near != "" {
			return fault.WithRemedy(err, "did you mean %q?", near)
		}
		return fault.WithRemedy(err, "the findings are: %s", strings.Join(ids, ", "))
	}
	return c
}
