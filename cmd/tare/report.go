package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/files"
	"github.com/tare-bench/tare/internal/report/page"
	"github.com/tare-bench/tare/internal/store"
	"github.com/tare-bench/tare/internal/workload/builtin"
)

func newReport(*options) *cobra.Command {
	var out string
	c := &cobra.Command{
		Use:   "report RUN",
		Short: "Write a run as one HTML page, to read, print or send",
		Long: `report writes a run as one self-contained HTML file: it loads nothing from the
network or from other files. It has the answer in sentences, every system on every
workload, each trial as a dot, the findings, the machine, the plan and the data.`,
		Example: "  tare report quick-20060102-150405.tare\n  tare report web.tare -o report.html",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if out == "" {
				out = strings.TrimSuffix(filepath.Base(args[0]), ".tare") + ".html"
			}
			return readRun(cmd.Context(), args[0], func(s *store.Run) error {
				return writeTo(cmd, out, func(w io.Writer) error { return writePage(w, s) })
			})
		},
	}
	outFlag(c, &out, `file to write, "-" for standard output (default RUN.html in the current directory)`)
	return c
}

// writePage writes the page of a run as a file.
func writePage(w io.Writer, s *store.Run) error {
	res, err := analyzeRun(s)
	if err != nil {
		return err
	}
	return page.Write(w, s, res, page.Options{
		Titles: workloadTitles(),
		Output: s.Output,
	})
}

// writeTo writes to a file, which it names, or to standard output if the path is "-" or "".
func writeTo(cmd *cobra.Command, path string, write func(io.Writer) error) error {
	if path == "-" || path == "" {
		return write(cmd.OutOrStdout())
	}
	err := writeWhole(path, func(f *os.File) error {
		w := bufio.NewWriter(f)
		if err := write(w); err != nil {
			return err
		}
		return w.Flush()
	})
	if err == nil {
		fmt.Fprintln(cmd.ErrOrStderr(), "written to", path)
	}
	return err
}

// writeWhole replaces a file only when all of the new one is written. It writes
// directly to devices and pipes.
func writeWhole(path string, write func(*os.File) error) error {
	if st, err := os.Stat(path); err == nil && !st.Mode().IsRegular() {
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return fault.Hostf("%w", err)
		}
		return errors.Join(write(f), f.Close())
	}
	return files.Replace(path, 0o644, write)
}

// workloadTitles says in one line what each workload does.
func workloadTitles() map[string]string {
	titles := map[string]string{}
	for _, w := range builtin.All() {
		titles[w.Name] = w.Title
	}
	return titles
}
