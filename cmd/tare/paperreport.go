package main

import (
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tare-bench/tare/internal/paper"
	"github.com/tare-bench/tare/internal/view"
)

func newPaperReport() *cobra.Command {
	c := &cobra.Command{
		Use:   "report NAME|FILE",
		Short: "Write a page with an article's figures as printed, recomputed and measured here",
		Long: `report writes a page about an article: its story in a few sentences, what the
audit found, and each figure as printed, recomputed from the article's other
figures, and measured on this machine. The page is Markdown, or HTML if the name
of --out ends in .html. The last column says whether a cost that the article found
is also found here:

  holds here       both cost something, both gain, or neither
  does not         the two differ, and the interval here shows it
  cannot be told   not measured, emulated, or not resolved

Each verdict comes with its reason. Claims in words, such as "no difference", are
judged in the same way if the article's file says what measures them.`,
		Example: "  tare paper report habr\n  tare paper report habr --run habr-files.tare,habr-bonnie.tare --out habr.html",
		Args:    cobra.ExactArgs(1),
	}
	var paths []string
	var out string
	c.Flags().StringSliceVar(&paths, "run", nil, "run files of tare paper run")
	outFlag(c, &out, "file to write (default: standard output)")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		a, err := openPaper(args[0])
		if err != nil {
			return err
		}
		var runs *paper.Results
		if len(paths) > 0 {
			if runs, err = openPaperRuns(cmd.Context(), a, paths); err != nil {
				return err
			}
		}
		page := a.View(runs)
		return writeTo(cmd, out, func(w io.Writer) error {
			if strings.HasSuffix(out, ".html") {
				return view.WritePage(w, "tare · a published comparison", page)
			}
			return view.Markdown(w, 1, page)
		})
	}
	return c
}
