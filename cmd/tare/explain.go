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
	"github.com/tare-bench/tare/internal/view"
)

func newExplain(*options) *cobra.Command {
	c := &cobra.Command{
		Use:   "explain [CODE|SYMPTOM]",
		Short: "Explain a finding, or what may be behind a symptom",
		Long: `explain prints the page of a finding: what it means, how it is found, how to fix it.
For a symptom in your own words, it prints the likely findings and the command that
decides between them.`,
		Example: "  tare explain                  all findings and symptoms, one per line\n  tare explain cached-writes\n" +
			"  tare explain guest faster than host",
		Args: cobra.ArbitraryArgs,
	}
	asJSON := jsonFlag(c)
	c.RunE = func(cmd *cobra.Command, args []string) error {
		w := cmd.OutOrStdout()
		if len(args) == 0 {
			if *asJSON {
				return view.PrintJSON(w, analyze.Kinds())
			}
			tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
			for _, k := range analyze.Kinds() {
				fmt.Fprintf(tw, "%s\t%s\t%s\n", k.ID, k.Severity, k.Headline)
			}
			for _, s := range symptoms {
				fmt.Fprintf(tw, "%s\tsymptom\t%s\n", s.Name, s.About)
			}
			return tw.Flush()
		}
		args[0] = strings.Join(args, " ")
		if k, ok := analyze.FindKind(args[0]); ok {
			if *asJSON {
				return view.PrintJSON(w, k)
			}
			_, err := fmt.Fprint(w, findings.Page(k.ID))
			return err
		}
		var ids []string
		for _, k := range analyze.Kinds() {
			ids = append(ids, k.ID)
		}
		near := nearest.Nearest(args[0], ids)
		if fit := symptomsOf(args[0]); near == "" && len(fit) > 0 {
			if *asJSON {
				return view.PrintJSON(w, fit)
			}
			for i, s := range fit {
				if i > 0 {
					fmt.Fprintln(w)
				}
				if err := explainSymptom(w, s); err != nil {
					return err
				}
			}
			return nil
		}
		err := fault.Campaignf("unknown finding %q", args[0])
		if near != "" {
			return fault.WithRemedy(err, "did you mean %q?", near)
		}
		return fault.WithRemedy(err, "the findings are: %s; tare explain lists the symptoms", strings.Join(ids, ", "))
	}
	return c
}
