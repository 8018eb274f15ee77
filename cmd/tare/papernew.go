package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/paper"
)

func newPaperNew() *cobra.Command {
	c := &cobra.Command{
		Use:   "new FILE",
		Short: "Write a file for another article: a template with comments, or from its tables",
		Long: `new writes a YAML file for a published comparison, with comments that say what to
fill in. With --table, it reads the figures from CSV files or from the tables of
Markdown pages: by default, each column is a system and each row a workload.

A cell may have a unit and a change, such as "52.025 s (+9.1 %)" or "3 m 21.2 s".
Otherwise, the unit is the one in brackets in the name of its row or column, or
--unit. Cells without a number are left out and listed.

A column of differences, ratios, overheads or speed-ups is recognized. Its figures are
checked against the columns that they derive from. On a terminal, new asks whether it
read the column right.

An existing file is not overwritten.`,
		Example: "  tare paper new my-article.yaml\n" +
			"  tare paper new my-article.yaml --table cpu.csv,disk.md --baseline native\n  tare paper audit my-article.yaml",
		Args: cobra.ExactArgs(1),
	}
	var o paper.NewOptions
	var tables []string
	systems, derived := "columns", "auto"
	c.Flags().StringSliceVar(&tables, "table", nil, "CSV files or Markdown pages whose tables are read")
	c.Flags().StringVar(&systems, "systems", systems, "where the systems are: columns or rows")
	c.Flags().StringVar(&o.Unit, "unit", "", "unit of figures that have none")
	c.Flags().StringVar(&o.Better, "better", "", "lower or higher (default: lower for times, higher for rates)")
	c.Flags().StringVar(&o.Baseline, "baseline", "", "system that the changes refer to (default: the first one)")
	c.Flags().BoolVar(&o.DecimalComma, "decimal-comma", false, "47,639 is 47.639, not 47639")
	c.Flags().StringVar(&derived, "derived", derived, "columns of differences and ratios: auto, or no: all are systems")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		if derived != "auto" && derived != "no" {
			return fault.Campaignf("--derived %s: must be auto or no", derived)
		}
		if systems != "columns" && systems != "rows" {
			return fault.Campaignf("--systems %s: must be columns or rows", systems)
		}
		if o.Better != "" && o.Better != "lower" && o.Better != "higher" {
			return fault.Campaignf("--better %s: must be lower or higher", o.Better)
		}
		o.SystemsInRows, o.NoDerived, o.Name = systems == "rows", derived == "no", shortName(args[0])
		if isTerminal(os.Stdin) {
			answers := bufio.NewReader(cmd.InOrStdin())
			o.Ask = func(d paper.Derived) paper.Answer { return askDerived(answers, cmd.ErrOrStderr(), d) }
		}
		return writePaper(cmd, args[0], tables, o)
	}
	return c
}

// askDerived asks how a derived column is to be read, until one key answers. Without an
// answer, it is read as recognized.
func askDerived(answers *bufio.Reader, out io.Writer, d paper.Derived) paper.Answer {
	fmt.Fprintf(out, "%s: the column %q looks derived: %s gives %d of its %d figures.\n", d.Where, d.Heading, d.Formula,
		d.Agree, d.Figures)
	for {
		fmt.Fprintf(out, "Enter: right · w: the other way round, %s against %s · s: it is a system > ", d.To, d.Of)
		line, err := answers.ReadString('\n')
		switch strings.ToLower(strings.TrimSpace(line)) {
		case "", "y":
			return paper.Accepted
		case "w":
			return paper.Swapped
		case "s":
			return paper.IsSystem
		}
		if err != nil {
			return paper.Accepted
		}
	}
}

// writePaper writes the file, and says which cells it left out.
func writePaper(cmd *cobra.Command, path string, tables []string, o paper.NewOptions) error {
	var sheets []paper.Sheet
	for _, name := range tables {
		text, err := readPaper(name)
		if err != nil {
			return err
		}
		list, err := paper.ReadSheets(name, string(text))
		if err != nil {
			return err
		}
		sheets = append(sheets, list...)
	}
	text, notes, err := paper.New(sheets, o)
	for _, n := range notes {
		fmt.Fprintf(cmd.ErrOrStderr(), "tare: %s: %q %s\n", n.Where, n.Cell, n.Text)
	}
	if err != nil {
		return err
	}
	a, err := paper.Parse(path, text)
	if err != nil { // such as a table with more cells than a file may have
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return fault.WithRemedy(fault.Campaignf("%s already exists", path), "choose another name, or remove the file")
	}
	if err != nil {
		return fault.Campaignf("%w", err)
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Close()); err != nil {
		os.Remove(path)
		return fault.Campaignf("%w", err)
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "wrote %s with %d figures; complete it, then\n  tare paper audit %s\n", path,
		len(a.Results), path)
	return err
}

var notInNames = regexp.MustCompile(`[^a-z0-9.-]+`)

// shortName makes the name of an article from that of its file.
func shortName(path string) string {
	base := strings.ToLower(strings.TrimSuffix(filepath.Base(path), filepath.Ext(path)))
	name := strings.Trim(notInNames.ReplaceAllString(base, "-"), "-.")
	if name == "" {
		return "article"
	}
	return name[:min(len(name), 64)]
}

// readPaper reads a file of figures. paper.Parse reports one that is longer than maxPaper.
func readPaper(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, fault.Campaignf("%w", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxPaper))
	if err != nil {
		return nil, fault.Campaignf("%s: %w", name, err)
	}
	return text, nil
}
