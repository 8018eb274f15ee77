package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/tare-bench/tare/internal/analyze"
	"github.com/tare-bench/tare/internal/dataset"
	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/report"
	"github.com/tare-bench/tare/internal/store"
	"github.com/tare-bench/tare/internal/view"
)

func newShow(*options) *cobra.Command {
	var all bool
	var trial int64
	var format string
	c := &cobra.Command{
		Use:   "show RUN",
		Short: "Show the results of a run, complete or not",
		Example: `  tare show quick-20060102-150405.tare
  tare show --all web.tare
  tare show web.tare --format markdown > web.md
  tare show web.tare --trial 17   one trial: its commands and their raw output`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return readRun(cmd.Context(), args[0], func(s *store.Run) error {
				if cmd.Flags().Changed("trial") {
					return showTrial(cmd.OutOrStdout(), s, trial)
				}
				return showRun(cmd, s, all, format)
			})
		},
	}
	c.Flags().BoolVar(&all, "all", false, "show all metrics, probes and findings")
	c.Flags().Int64Var(&trial, "trial", 0,
		"show the trial with this number, which pages and exports have, and its raw output")
	c.Flags().StringVar(&format, "format", "terminal",
		"terminal, markdown, csv or json: the tables, notes and plots as the terminal and the page have them")
	c.MarkFlagsMutuallyExclusive("all", "trial")
	c.MarkFlagsMutuallyExclusive("format", "trial")
	return c
}

// readRun opens a run file for reading until ctx ends, and closes it after look.
func readRun(ctx context.Context, path string, look func(*store.Run) error) error {
	s, err := store.Open(ctx, path)
	if err != nil {
		return err
	}
	defer s.Close()
	return look(s)
}

func showRun(cmd *cobra.Command, s *store.Run, all bool, format string) error {
	write, ok := report.Formats[format]
	if !ok && format != "terminal" {
		return fault.Campaignf("--format %q: must be terminal, markdown, csv or json", format)
	}
	res, err := analyzeRun(s)
	if err != nil {
		return err
	}
	ctx, err := report.ContextOf(s)
	if err != nil {
		return err
	}
	ctx.AllMetrics = all
	if ok {
		return write(cmd.OutOrStdout(), report.Document(res, ctx))
	}
	o := terminalOptions()
	ctx.Colour, ctx.Width = o.Colour, o.Width
	return report.Table(cmd.OutOrStdout(), res, ctx)
}

// terminalOptions are the width and the colours of standard output, if it is a terminal.
func terminalOptions() (o view.Options) {
	if isTerminal(os.Stdout) {
		o.Colour = os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
		if width, _, err := term.GetSize(int(os.Stdout.Fd())); err == nil {
			o.Width = width
		}
	}
	return o
}

// showTrial prints one trial with the whole output of its commands.
func showTrial(w io.Writer, s *store.Run, number int64) error {
	last := int64(0)
	for t, err := range s.Trials() {
		if err != nil {
			return err
		}
		if last = t.Attempt; t.Attempt != number {
			continue
		}
		stdout, stderr, err := s.Output(number)
		if err != nil {
			return err
		}
		status := view.Visible(string(t.Status))
		_, err = fmt.Fprintf(w, "%s: %s\n%s", report.TrialTitle(t), status, report.Transcript(t, stdout, stderr, 0))
		return err
	}
	if last == 0 {
		return fault.Campaignf("%s has no trials yet", s.Path())
	}
	return fault.Campaignf("%s has no trial %d: its trials are 1 to %d", s.Path(), number, last)
}

func analyzeRun(s *store.Run) (*analyze.Result, error) {
	in, err := dataset.Read(s)
	if err != nil {
		return nil, err
	}
	return analyze.Analyze(in)
}

func newExport(*options) *cobra.Command {
	var format, out string
	var figures bool
	c := &cobra.Command{
		Use:   "export RUN",
		Short: "Export a run as json, csv, parquet, or benchfmt for benchstat",
		Example: `  tare export web.tare --format json > web.json
  tare export web.tare --format csv --figures > figures.csv
  tare export web.tare --format benchfmt > web.txt && benchstat -col /arm web.txt`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			write, ok := exporters[format]
			if !ok {
				return fault.Campaignf("--format %q: must be json, csv, parquet or benchfmt", format)
			}
			if figures {
				if write, ok = figureExporters[format]; !ok {
					return fault.Campaignf("--figures works with csv and parquet only: json always has them, and benchfmt cannot " +
						"hold them")
				}
			}
			return readRun(cmd.Context(), args[0], func(s *store.Run) error {
				return writeTo(cmd, out, func(w io.Writer) error { return write(w, s) })
			})
		},
	}
	c.Flags().StringVar(&format, "format", "json", "json, csv, parquet or benchfmt")
	c.Flags().BoolVar(&figures, "figures", false,
		"csv, parquet: export derived figures, such as costs, slowdowns and fairness, instead of the values of every trial")
	outFlag(c, &out, "file to write (default: standard output)")
	return c
}

var exporters = map[string]func(io.Writer, *store.Run) error{
	"json":     analyzed(report.JSON),
	"csv":      report.CSV,
	"parquet":  report.Parquet,
	"benchfmt": report.Benchfmt,
}

// figureExporters are the exporters with --figures.
var figureExporters = map[string]func(io.Writer, *store.Run) error{
	"csv":     analyzed(report.FiguresCSV),
	"parquet": analyzed(report.FiguresParquet),
}

// analyzed makes an exporter of a function that needs the analysis.
func analyzed(write func(io.Writer, *store.Run, *analyze.Result) error) func(io.Writer, *store.Run) error {
	return func(w io.Writer, s *store.Run) error {
		res, err := analyzeRun(s)
		if err != nil {
			return err
		}
		return write(w, s, res)
	}
}
