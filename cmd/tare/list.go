package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/tare-bench/tare/internal/campaign"
	"github.com/tare-bench/tare/internal/cgroup"
	"github.com/tare-bench/tare/internal/experiment"
	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/instance"
	"github.com/tare-bench/tare/internal/lab"
	"github.com/tare-bench/tare/internal/nearest"
	"github.com/tare-bench/tare/internal/report"
	"github.com/tare-bench/tare/internal/store"
	"github.com/tare-bench/tare/internal/view"
	"github.com/tare-bench/tare/internal/workload"
	"github.com/tare-bench/tare/internal/workload/builtin"
	"github.com/tare-bench/tare/internal/workload/tool"
)

func newSystems(o *options) *cobra.Command {
	c := &cobra.Command{
		Use:     "systems",
		Short:   "List the systems: which are usable here and how tare knows, or why not",
		Example: "  tare systems\n  tare systems --json | jq '.[] | select(.usable) | .name'",
	}
	asJSON := jsonFlag(c)
	c.RunE = inSandbox(o, func(cmd *cobra.Command, _ []string) error {
		t, err := openTestbed(o)
		if err != nil {
			return err
		}
		defer t.Close()
		entries := t.Entries(t.Check(cmd.Context(), t.Systems()))
		if *asJSON {
			return view.PrintJSON(cmd.OutOrStdout(), entries)
		}
		printSystems(cmd.OutOrStdout(), entries)
		return nil
	})
	return c
}

func printSystems(w io.Writer, entries []experiment.System) {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	defer tw.Flush()
	fmt.Fprintln(tw, "  system\there\tverified on\tevidence, or why not")
	for _, e := range entries {
		if e.Usable {
			fmt.Fprintf(tw, "  %s\tusable\t%s\t%s\n", e.Name, e.VerifiedOn, e.Proof)
			if by := e.Capabilities.Confinement; by != "" {
				fmt.Fprintf(tw, "  \t\t\tconfined by: %s\n", by)
			}
			continue
		}
		fmt.Fprintf(tw, "  %s\tno\t%s\t%s\n", e.Name, e.VerifiedOn, e.Reason)
		if e.Remedy != "" {
			fmt.Fprintf(tw, "  \t\t\tto fix: %s\n", e.Remedy)
		}
	}
}

// workloadEntry is an element of `tare workloads --json`.
type workloadEntry struct {
	Name       string            `json:"name"`
	Title      string            `json:"title"`
	ArticleIDs []string          `json:"article_ids"`
	Runs       string            `json:"runs"`     // "tool", "stand-in" or "needs your build"
	Commands   string            `json:"commands"` // the timed ones at the default size, one per line
	Source     string            `json:"source"`
	StandIn    string            `json:"stand_in,omitempty"`
	SizeUnit   string            `json:"size_unit"`
	Params     []workload.Param  `json:"params,omitempty"`
	Metrics    []workload.Metric `json:"metrics"`
	Curves     []workload.Curve  `json:"curves,omitempty"`
}

func newWorkloads(*options) *cobra.Command {
	c := &cobra.Command{
		Use:     "workloads",
		Short:   "List the workloads: what each runs, where the program comes from, what it measures",
		Example: "  tare workloads\n  tare workloads --json",
	}
	asJSON := jsonFlag(c)
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		entries := []workloadEntry{}
		for _, w := range builtin.All() {
			entries = append(entries, workloadEntry{w.Name, w.Title, append([]string{}, w.ArticleIDs...), w.Runs(), commands(w),
				w.Source, w.StandIn, w.SizeUnit, w.Params, w.Metrics, w.Curves})
		}
		if *asJSON {
			return view.PrintJSON(cmd.OutOrStdout(), entries)
		}
		for i, e := range entries {
			if i > 0 {
				fmt.Fprintln(cmd.OutOrStdout())
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%s: %s\n  from: %s\n", e.Name, e.Title, e.Source)
			if len(e.ArticleIDs) > 0 {
				fmt.Fprintf(cmd.OutOrStdout(), "  in the articles: %s\n", strings.Join(e.ArticleIDs, ", "))
			}
			if e.StandIn != "" {
				fmt.Fprintf(cmd.OutOrStdout(), "  a stand-in %s\n", e.StandIn)
			}
			for line := range strings.Lines(e.Commands) {
				fmt.Fprintf(cmd.OutOrStdout(), "  runs: %s\n", strings.TrimSpace(line))
			}
			for _, p := range e.Params {
				values := strings.Join(p.Values, ", ")
				if p.Values == nil {
					values = fmt.Sprintf("%d to %d", p.Min, p.Max)
				}
				fmt.Fprintf(cmd.OutOrStdout(), "  parameter %s (%s; %s by default): %s\n", p.Name, values, p.Default, p.About)
			}
			for _, m := range e.Metrics {
				fmt.Fprintf(cmd.OutOrStdout(), "  %s (%s, %s is better): %s\n", m.Name, m.Unit, m.Better, m.About)
			}
			for _, c := range e.Curves {
				fmt.Fprintf(cmd.OutOrStdout(), "  curve %s by %s, %.10g to %.10g %s (%s, %s is better): %s\n", c.Name, c.Parameter,
					c.At[0], c.At[len(c.At)-1], c.In, c.Unit, c.Better, c.About)
			}
		}
		return nil
	}
	return c
}

// commands are a workload's timed commands at its default size, one per line.
func commands(w *workload.Workload) string {
	var lines []string
	for _, s := range w.Steps(w.DefaultSize) {
		if s.Timed {
			lines = append(lines, report.CommandLine(s.Argv))
		}
	}
	return strings.Join(lines, "\n")
}

// maxRawOutput bounds a saved output that `tare parse` reads.
const maxRawOutput = 64 << 20

func newParse(*options) *cobra.Command {
	c := &cobra.Command{
		Use:   "parse WORKLOAD|TOOL FILE...",
		Short: "Read the saved output of a workload or a tool, and print its figures as JSON",
		Long: `parse reads the output of a program that you ran yourself. For a workload it
prints the metrics in tare's units; for a tool, every figure in the output, with
the tool's own names and units. Some names are both a tool's and a workload's: they
mean the tool unless you give --workload. parse refuses incomplete output. It numbers
the figures of several runs of a tool, or refuses them. "unread" are lines with numbers
that tare did not read, and "doubts" are failures and contradictions in the output.
Of several files, each is read by itself, and parse says if the tool had other versions.
docs/parse.md lists the versions. Supported tools:

` + toolNames(),
		Example: "  tare parse fio-randread saved.json\n  tare parse dd-write - < dd.txt\n" +
			"  tare parse iozone iozone.txt\n  tare parse --workload iozone iozone.txt\n" +
			"  tare parse stress-ng host.txt guest.txt",
		Args: parseArgs,
	}
	asWorkload := c.Flags().Bool("workload", false,
		"the name is a workload's, even if a tool has the same name")
	asTool := c.Flags().Bool("tool", false, "the name is a tool's")
	c.MarkFlagsMutuallyExclusive("workload", "tool")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		t, isTool := tool.Get(args[0])
		w, err := builtin.Get(args[0])
		isWorkload := err == nil
		if isTool, isWorkload = isTool && !*asWorkload, isWorkload && !*asTool; !isTool && !isWorkload {
			return unknownParser(args[0], *asTool, *asWorkload)
		}
		stderr := cmd.ErrOrStderr()
		var outputs []parsedOutput
		for _, file := range args[1:] {
			b, err := rawOutput(cmd.InOrStdin(), file)
			if err != nil {
				return err
			}
			var o parsedOutput
			if isTool {
				o, err = parsedByTool(stderr, file, t, b)
			} else {
				o, err = parsed(stderr, file, w, b)
			}
			if err != nil {
				return fault.Campaignf("%s: %w", file, err)
			}
			outputs = append(outputs, o)
		}
		if len(outputs) == 1 {
			return view.PrintJSON(cmd.OutOrStdout(), outputs[0])
		}
		all := struct {
			Outputs []parsedOutput `json:"outputs"`
			Doubts  []string       `json:"doubts,omitempty"`
		}{Outputs: outputs}
		for i := range outputs {
			outputs[i].File = args[1+i]
		}
		if doubt := otherVersions(outputs); doubt != "" {
			fmt.Fprintf(stderr, "tare: in doubt: %s\n", doubt)
			all.Doubts = []string{doubt}
		}
		return view.PrintJSON(cmd.OutOrStdout(), all)
	}
	return c
}

// parsedOutput is what parse prints of one output.
type parsedOutput struct {
	File     string        `json:"file,omitempty"` // if there are several
	Tool     string        `json:"tool,omitempty"`
	Workload string        `json:"workload,omitempty"`
	Version  string        `json:"version,omitempty"`
	Metrics  []tool.Figure `json:"metrics"`
	Doubts   []string      `json:"doubts,omitempty"`
	Unread   []string      `json:"unread,omitempty"`
}

// otherVersions says that outputs are of different versions of the tool; "" if they are not, as far as they tell.
func otherVersions(outputs []parsedOutput) string {
	var files, versions []string
	for _, o := range outputs {
		if o.Version != "" && !slices.Contains(versions, o.Version) {
			files, versions = append(files, fmt.Sprintf("%s in %s", o.Version, o.File)), append(versions, o.Version)
		}
	}
	if len(versions) < 2 {
		return ""
	}
	return fmt.Sprintf("the tool has other versions, whose figures may not be comparable: %s", strings.Join(files, ", "))
}

// parseArgs accepts a name and files, of which only one may be stdin.
func parseArgs(_ *cobra.Command, args []string) error {
	const fix = "tare parse TOOL FILE; tare parse --help lists the tools, tare workloads the workloads"
	switch len(args) {
	case 0:
		return fault.WithRemedy(fault.Campaignf("the name of a tool or workload, and the file with its output, are missing"),
			fix)
	case 1:
		if _, err := os.Stat(args[0]); err == nil {
			return fault.WithRemedy(fault.Campaignf("which tool or workload wrote %s? Its name is missing", args[0]), fix)
		}
		return fault.WithRemedy(fault.Campaignf("the file with the output of %s is missing", args[0]),
			fix+"; a FILE of - is stdin")
	}
	if n := len(slices.DeleteFunc(slices.Clone(args[1:]), func(file string) bool { return file != "-" })); n > 1 {
		return fault.WithRemedy(fault.Campaignf("stdin is named %d times", n), fix)
	}
	return nil
}

// unknownParser is the error for a name that is neither a tool's nor a workload's, or not of the kind that was
// asked for.
func unknownParser(name string, asTool, asWorkload bool) error {
	var tools, workloads []string
	for _, t := range tool.All() {
		tools = append(tools, t.Name)
	}
	for _, w := range builtin.All() {
		workloads = append(workloads, w.Name)
	}
	kinds, names := "no workload or tool", slices.Concat(workloads, tools)
	if asTool {
		kinds, names = "no tool", tools
	} else if asWorkload {
		kinds, names = "no workload", workloads
	}
	err := fault.Campaignf("there is %s %q", kinds, name)
	switch n := nearest.Nearest(name, names); {
	case asTool && slices.Contains(workloads, name):
		return fault.WithRemedy(err, "it is a workload: leave out --tool")
	case asWorkload && slices.Contains(tools, name):
		return fault.WithRemedy(err, "it is a tool: leave out --workload")
	case n != "":
		return fault.WithRemedy(err, "did you mean %q?", n)
	}
	return fault.WithRemedy(err, "tare parse --help lists the tools, tare workloads the workloads")
}

// rawOutput reads a file with output that a user saved; "-": stdin.
func rawOutput(stdin io.Reader, name string) ([]byte, error) {
	in := stdin
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return nil, fault.Campaignf("%w", err)
		}
		defer f.Close()
		in = f
	}
	b, err := io.ReadAll(io.LimitReader(in, maxRawOutput+1))
	if err != nil {
		return nil, fault.Campaignf("%s: %w", name, err)
	}
	if len(b) > maxRawOutput {
		return nil, fault.Campaignf("%s is longer than %d MiB", name, maxRawOutput>>20)
	}
	return b, nil
}

// toolNames are the tools that parse reads, for its help.
func toolNames() string {
	var b strings.Builder
	for i, t := range tool.All() {
		if i > 0 {
			b.WriteString(map[bool]string{true: ",\n", false: ", "}[i%10 == 0])
		}
		b.WriteString(t.Name)
	}
	return b.String() + "."
}

// parsedByTool prints what the output of a tool says. What tare did not read, and what is in doubt, is also told on w.
func parsedByTool(w io.Writer, name string, t tool.Tool, output []byte) (o parsedOutput, err error) {
	r, err := t.Examine(string(output))
	if err != nil {
		return o, err
	}
	doubts := []string{}
	for _, doubt := range r.Doubts {
		doubts = append(doubts, doubt.Error())
		fmt.Fprintf(w, "tare: %s: in doubt: %v\n", name, doubt)
	}
	unread := r.Unread()
	tellUnread(w, name, unread)
	return parsedOutput{Tool: r.Tool, Version: r.Version, Metrics: r.Figures, Doubts: doubts, Unread: unread}, nil
}

// tellUnread says on w which lines with numbers tare did not read.
func tellUnread(w io.Writer, name string, lines []string) {
	if len(lines) == 0 {
		return
	}
	noun, more := "lines", ""
	if len(lines) == 1 {
		noun = "line"
	}
	var first []string
	for _, line := range lines[:min(len(lines), 3)] {
		first = append(first, tool.Quote(line))
	}
	if len(lines) > len(first) {
		more = " …"
	}
	fmt.Fprintf(w, "tare: %s: %d %s with numbers not read: %s%s\n", name, len(lines), noun, strings.Join(first, ", "),
		more)
}

// parsed is what it prints for a workload.
func parsed(stderr io.Writer, name string, w *workload.Workload, output []byte) (o parsedOutput, err error) {
	values, err := w.Parse(output)
	if err != nil {
		return o, err
	}
	var unread []string
	version := ""
	if t, ok := tool.Get(w.Tool); ok {
		if r, err := t.Read(string(output)); err == nil {
			unread, version = r.Unread(), r.Version
			tellUnread(stderr, name, unread)
		}
	}
	list := []tool.Figure{}
	for _, m := range w.Metrics {
		if v, ok := values[m.Name]; ok {
			list = append(list, tool.Figure{Name: m.Name, Value: v, Unit: m.Unit, Better: m.Better})
		}
	}
	return parsedOutput{Workload: w.Name, Version: version, Metrics: list, Unread: unread}, nil
}

func newGC(o *options) *cobra.Command {
	c := &cobra.Command{
		Use:   "gc",
		Short: "Remove what killed runs left on the host, and nothing else",
		Long: `gc removes what tare processes that no longer exist left behind: control groups with
the processes in them, Xen domains, and files, such as copies of runs that they read.
It touches nothing that a running tare or anybody else uses.`,
		Example: "  tare gc --dry-run\n  tare gc",
	}
	dry := c.Flags().Bool("dry-run", false, "only list what would be removed")
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		layout, err := cgroup.Detect()
		if err != nil {
			return err
		}
		found, unsure := experiment.Leftovers(o.stateDir, layout)
		for _, l := range found {
			fmt.Fprintln(cmd.OutOrStdout(), l)
		}
		abandoned := lab.Abandoned(o.stateDir)
		if abandoned != "" {
			fmt.Fprintln(cmd.OutOrStdout(), "lab", abandoned)
		}
		copies := store.AbandonedCopies()
		for _, dir := range copies {
			fmt.Fprintln(cmd.OutOrStdout(), "copy of a run", dir)
		}
		if *dry || len(found) == 0 && abandoned == "" && len(copies) == 0 {
			return unsure
		}
		if os.Getuid() != 0 {
			return fault.WithRemedy(fault.Hostf("removing control groups needs root"), "sudo tare gc")
		}
		return errors.Join(unsure, instance.Remove(found), lab.Sweep(o.stateDir), store.RemoveAbandonedCopies())
	}
	return c
}

func newSchema(*options) *cobra.Command {
	return &cobra.Command{
		Use:     "schema",
		Short:   "Print the JSON schema of campaign files",
		Example: "  tare schema > tare.schema.json   # for your editor",
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := cmd.OutOrStdout().Write(campaign.Schema())
			return err
		},
	}
}

func jsonFlag(c *cobra.Command) *bool {
	return c.Flags().Bool("json", false, "print JSON")
}

// outFlag adds the flag for the file that a command writes. --output is its older name in some commands.
func outFlag(c *cobra.Command, out *string, usage string) {
	c.Flags().StringVarP(out, "out", "o", "", usage)
	c.Flags().StringVar(out, "output", "", usage)
	if err := c.Flags().MarkHidden("output"); err != nil {
		panic(err)
	}
}
