package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tare-bench/tare/internal/paper"
	"github.com/tare-bench/tare/internal/view"
)

func newPaper(o *options) *cobra.Command {
	c := &cobra.Command{
		Use:   "paper",
		Short: "Show, audit and repeat published comparisons",
		Long: `tare includes the figures of five published comparisons of virtualization systems,
exactly as printed. docs/paper.md describes the file format: write a file for any
other article, and audit it.

NAME is the name of an article or an unambiguous prefix of it.`,
		Example: "  tare paper list\n  tare paper run habr-truevds-xen-disk\n  tare paper show habr\n  tare paper audit\n" +
			"  tare paper audit my-article.yaml",
	}
	return group(c, newPaperList(), newPaperShow(), newPaperAudit(), newPaperNew(), newPaperRun(o), newPaperReport())
}

// paperEntry is an element of `tare paper list --json`.
type paperEntry struct {
	Name     string   `json:"name"`
	Title    string   `json:"title"`
	Author   string   `json:"author"`
	Year     *int     `json:"year"` // null where the article has no date
	Date     string   `json:"date,omitempty"`
	DateNote string   `json:"date_note,omitempty"`
	Language string   `json:"language"`
	Source   string   `json:"source"`
	URL      string   `json:"url,omitempty"`
	Figures  int      `json:"figures"`
	Systems  []string `json:"systems"`
}

func newPaperList() *cobra.Command {
	c := &cobra.Command{
		Use:     "list",
		Short:   "List the articles that tare includes",
		Example: "  tare paper list\n  tare paper list --json",
		Args:    cobra.NoArgs,
	}
	asJSON := jsonFlag(c)
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		entries := []paperEntry{}
		all := paper.All()
		for _, a := range all {
			d := a.Document
			e := paperEntry{d.Name, d.Title, d.Author, nil, d.Date, d.DateNote, d.Language, d.Source(), d.URL, len(a.Results),
				a.Systems}
			if year := d.Year(); year != 0 {
				e.Year = &year
			}
			entries = append(entries, e)
		}
		if *asJSON {
			return view.PrintJSON(cmd.OutOrStdout(), entries)
		}
		for i, e := range entries {
			if i > 0 {
				fmt.Fprintln(cmd.OutOrStdout())
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%s: %s\n", e.Name, e.Title)
			fmt.Fprintf(cmd.OutOrStdout(), "  %s, %s, in %s, %d figures\n", e.Author,
				all[i].Document.When(), e.Language, e.Figures)
			fmt.Fprintf(cmd.OutOrStdout(), "  systems: %s\n  source: %s\n", strings.Join(e.Systems, ", "), e.Source)
		}
		return nil
	}
	return c
}

func newPaperShow() *cobra.Command {
	c := &cobra.Command{
		Use:   "show NAME|FILE",
		Short: "Show an article's tables with the figures as printed",
		Example: "  tare paper show abclinuxu-xen-vs-kvm\n  tare paper show habr --json\n" +
			"  tare paper show habr --run habr-files.tare,habr-bonnie.tare",
		Args: cobra.ExactArgs(1),
	}
	var paths []string
	c.Flags().StringSliceVar(&paths, "run", nil,
		"run files of tare paper run NAME: show their figures beside the printed ones")
	asJSON := jsonFlag(c)
	c.RunE = func(cmd *cobra.Command, args []string) error {
		a, err := openPaper(args[0])
		if err != nil {
			return err
		}
		if len(paths) > 0 {
			runs, err := openPaperRuns(cmd.Context(), a, paths)
			if err != nil {
				return err
			}
			if *asJSON {
				return view.PrintJSON(cmd.OutOrStdout(), runs.JSON())
			}
			return printResults(cmd, runs)
		}
		if *asJSON {
			return view.PrintJSON(cmd.OutOrStdout(), a.Tree)
		}
		printPaper(cmd.OutOrStdout(), a)
		return nil
	}
	return c
}

// printResults prints an article's tables with the figures of this machine.
func printResults(cmd *cobra.Command, runs *paper.Results) error {
	w, o := cmd.OutOrStdout(), terminalOptions()
	o.Wide = true
	if err := view.Terminal(w, o, runs.View()); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "\nTo print these tables again (tare show and tare report read the runs, too):\n"+
		"  tare paper show %s --run %s\n", runs.Repetition.Article.Document.Name, strings.Join(runs.Paths, ","))
	return err
}

func printPaper(w io.Writer, a *paper.Article) {
	d := a.Document
	fmt.Fprintf(w, "%s\n%s, %s, in %s\nsource: %s\n", d.Title, d.Author, d.When(), d.Language,
		d.Source())
	for _, t := range a.Tables() {
		fmt.Fprintf(w, "\n%s\n", t.Name)
		for _, h := range t.Heading {
			fmt.Fprintf(w, "  %s\n", h)
		}
		rows := [][]string{append(make([]string, len(t.Lines[0].Labels)), t.Columns...)}
		for _, l := range t.Lines {
			rows = append(rows, slices.Concat(l.Labels, l.Cells))
		}
		fmt.Fprint(w, view.Columns(rows))
		for _, n := range t.Notes {
			fmt.Fprintf(w, "  note: %s\n", n)
		}
	}
	if len(a.Claims) > 0 {
		fmt.Fprintln(w, "\nWhat the article claims:")
	}
	for _, c := range a.Claims {
		fmt.Fprintf(w, "  - %s (%s)\n", c.Text, c.Where)
	}
	if len(a.Absent) > 0 {
		fmt.Fprintf(w, "\nWithout printed values: %s\n", strings.Join(a.Absent, "; "))
	}
}

func newPaperAudit() *cobra.Command {
	c := &cobra.Command{
		Use:   "audit [NAME|FILE]",
		Short: "Recompute the derived figures of articles, and list those that are wrong",
		Long: `audit recomputes the percentages, ratios, means, sums and rankings that an article
prints from its raw figures, and the claims that the file has as data. It checks that
the units are right, that rate × time equals the size, and that latency × operations
per second equals the queue depth. It lists each figure that does not follow from the
raw figures, however those were rounded, as

  rounding      off by one unit in the last printed digit
  arithmetic    the result of a common mistake, which is named
  inconsistent  neither

A mistake in an article is a finding, not an error: the exit status is 0.`,
		Example: "  tare paper audit\n  tare paper audit latgrid-xen-veiktspeja --json\n  tare paper audit my-article.yaml",
		Args:    cobra.MaximumNArgs(1),
	}
	asJSON := jsonFlag(c)
	c.RunE = func(cmd *cobra.Command, args []string) error {
		list := paper.All()
		if len(args) == 1 {
			a, err := openPaper(args[0])
			if err != nil {
				return err
			}
			list = []*paper.Article{a}
		}
		findings := []paper.Finding{}
		for i, a := range list {
			r := paper.Audit(a)
			findings = append(findings, r.Findings...)
			if !*asJSON {
				if i > 0 {
					fmt.Fprintln(cmd.OutOrStdout())
				}
				printAudit(cmd.OutOrStdout(), r)
			}
		}
		if *asJSON {
			return view.PrintJSON(cmd.OutOrStdout(), findings)
		}
		return nil
	}
	return c
}

func printAudit(w io.Writer, r *paper.Report) {
	fmt.Fprintf(w, "%s: %d agree; %d rounding, %d arithmetic, %d inconsistent", r.Article, r.Agree,
		r.Count(paper.Rounding), r.Count(paper.Arithmetic), r.Count(paper.Inconsistent))
	if n := len(r.Unchecked); n > 0 {
		fmt.Fprintf(w, "; %d without raw figures to check against", n)
	}
	fmt.Fprintln(w)
	for _, f := range r.Findings {
		printed, recomputed := f.Values()
		fmt.Fprintf(w, "  %-12s  %s\n", f.Kind, f.Row)
		fmt.Fprintf(w, "                printed %s, recomputed %s = %s\n", printed, recomputed, f.How)
		if f.Explanation != "" {
			fmt.Fprintf(w, "                %s\n", f.Explanation)
		}
	}
	for _, n := range r.Unchecked {
		fmt.Fprintf(w, "  not checked   %s (line %d)\n                %s\n", n.Row, n.Line, n.Why)
	}
}

// maxPaper bounds an article's data file; paper.Parse reports one that is longer.
const maxPaper = 2 << 20

// openPaper returns the article of that name, or reads the data file of that name,
// or returns the article whose name begins so: in this order.
func openPaper(name string) (*paper.Article, error) {
	a, unknown := paper.Get(name)
	if unknown == nil && (a.Document.Name == name || !isFile(name)) {
		return a, nil
	}
	text, err := readPaper(name)
	if errors.Is(err, fs.ErrNotExist) && !strings.ContainsAny(name, "./") {
		return nil, unknown
	}
	if err != nil {
		return nil, err
	}
	return paper.Parse(name, text)
}
