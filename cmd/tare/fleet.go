package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/fleet"
	"github.com/tare-bench/tare/internal/store"
	"github.com/tare-bench/tare/internal/view"
)

func newFleet(o *options) *cobra.Command {
	c := &cobra.Command{
		Use:   "fleet",
		Short: "Measure on many machines, and pool their results",
		Long: `fleet measures on many machines over SSH or Temporal, and says what a system costs on
machines of one kind: on average, and on the next machine; and which machines are odd.
docs/fleet.md explains the figures, and what tare leaves on the machines.`,
		Example: `  tare fleet doctor racks.yaml
  tare fleet run racks.yaml
  tare fleet status racks.yaml
  tare fleet fetch racks.yaml
  tare fleet show racks.yaml`,
	}
	return group(c, newFleetShow(), newFleetExport(), newFleetDoctor(o), newFleetRun(o), newFleetStatus(),
		newFleetResume(o), newFleetFetch(), newFleetCancel(), newFleetWorker(o), newFleetServe())
}

func newFleetShow() *cobra.Command {
	var all, machines, asJSON bool
	var out string
	c := &cobra.Command{
		Use:   "show FLEET.yaml|RUN|FOLDER…",
		Short: "Pool the runs of many machines",
		Long: `show pools what each system costs over the machines of a group: what to expect of the
next machine, the pooled cost, the spread between machines, where the variance comes
from, which machines are odd, and in what else they differ from the others.

A fleet file says which machines form a group. Runs and folders are grouped by the
machine's CPU. In a folder, each folder has the runs of one machine; run files
directly in it belong to the machine that they name. Groups are never pooled with each
other. Figures that are not comparable within a group are left out, with the reason.`,
		Example: `  tare fleet show racks.yaml
  tare fleet show node1.tare node2.tare node3.tare --machines
  tare fleet show racks/ -o racks.html`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			res, err := fleetOf(cmd.Context(), args, all)
			if err != nil {
				return err
			}
			switch {
			case asJSON:
				return fleet.JSON(cmd.OutOrStdout(), res)
			case out != "":
				return writeTo(cmd, out, func(w io.Writer) error { return fleet.WritePage(w, res) })
			}
			return fleet.Text(cmd.OutOrStdout(), res, machines)
		},
	}
	c.Flags().BoolVar(&all, "all", false, "pool all metrics, not only the primary one of each workload")
	c.Flags().BoolVar(&machines, "machines", false,
		"list the cost on each machine, and the pooled cost without that machine")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON, which tare compare can also read")
	outFlag(c, &out, `write an HTML page to this file, "-" for standard output`)
	c.MarkFlagsMutuallyExclusive("json", "out")
	return c
}

func newFleetExport() *cobra.Command {
	var all bool
	var format, out string
	c := &cobra.Command{
		Use:   "export FLEET.yaml|RUN|FOLDER…",
		Short: "Export the costs of each machine and the pooled costs as csv, parquet or json",
		Example: `  tare fleet export racks.yaml --format csv -o racks.csv
  tare fleet export racks/ --format parquet --all -o racks.parquet`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			write, ok := map[string]func(io.Writer, *fleet.Result) error{"csv": fleet.CSV, "parquet": fleet.Parquet,
				"json": fleet.JSON}[format]
			if !ok {
				return fault.Campaignf("--format %q: must be csv, parquet or json", format)
			}
			res, err := fleetOf(cmd.Context(), args, all)
			if err != nil {
				return err
			}
			for _, text := range res.Warnings {
				fmt.Fprintln(cmd.ErrOrStderr(), "warning:", view.Visible(text))
			}
			return writeTo(cmd, out, func(w io.Writer) error { return write(w, res) })
		},
	}
	c.Flags().BoolVar(&all, "all", false, "export all metrics, not only the primary one of each workload")
	c.Flags().StringVar(&format, "format", "csv", "csv, parquet or json")
	outFlag(c, &out, "file to write (default: standard output)")
	return c
}

// fleetOf reads and analyzes a fleet.
func fleetOf(ctx context.Context, args []string, all bool) (*fleet.Result, error) {
	name, members, absent, err := readFleet(ctx, args)
	if err != nil {
		return nil, err
	}
	res, err := fleet.Analyze(name, members, all)
	if err == nil && absent != nil {
		res.Warnings = append(res.Warnings, fmt.Sprintf("no run files here of %s, left out: tare fleet fetch %s",
			view.And(absent), args[0]))
	}
	return res, err
}

// isFleet reports whether an argument names a fleet: its file, its JSON, or a folder of folders of runs.
func isFleet(path string) bool {
	if isYAML(path) || strings.HasSuffix(path, ".json") {
		return true
	}
	runs, _ := filepath.Glob(filepath.Join(path, "*.tare"))
	machines, _ := filepath.Glob(filepath.Join(path, "*", "*.tare"))
	return len(runs) == 0 && len(machines) > 0
}

// maxFleetJSON is the size up to which the JSON of a fleet is read: that of 10,000 machines is a few
// ten megabytes.
const maxFleetJSON = 256 << 20

// fleetSide reads one side of a comparison of fleets.
func fleetSide(ctx context.Context, path string, all bool) (*fleet.Result, error) {
	var res *fleet.Result
	var err error
	if strings.HasSuffix(path, ".json") {
		res, err = readFleetJSON(path)
	} else {
		res, err = fleetOf(ctx, []string{path}, all)
	}
	if err != nil {
		return nil, err
	}
	res.Name = path // two fleets often have the same name
	return res, nil
}

func readFleetJSON(path string) (*fleet.Result, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fault.Campaignf("%w", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxFleetJSON+1))
	if err != nil {
		return nil, fault.Campaignf("%w", err)
	}
	if len(text) > maxFleetJSON {
		return nil, fault.Campaignf("%s: too large for the JSON of a fleet: more than %d MiB", path, maxFleetJSON>>20)
	}
	return fleet.ParseJSON(path, text)
}

// readFleet reads the runs of a fleet's file, or of run files and folders. absent are the machines of a fleet's file of
// which there are no runs.
func readFleet(ctx context.Context, args []string) (name string, machines []fleet.Machine, absent []string, err error) {
	r := fleetReader{ctx: ctx, byHost: map[string]int{}}
	if len(args) == 1 && isYAML(args[0]) {
		f, err := openFleet(args[0])
		if err != nil {
			return "", nil, nil, err
		}
		for _, m := range f.Machines {
			files, err := filepath.Glob(filepath.Join(escapeGlob(f.Runs(m.Name)), "*.tare"))
			if err == nil && files == nil {
				absent = append(absent, m.Name)
				continue
			}
			if err := errors.Join(err, r.machine(m.Name, m.Group, files)); err != nil {
				return "", nil, nil, err
			}
		}
		if r.machines == nil {
			return "", nil, nil, fault.WithRemedy(fault.Campaignf("%s: there are no run files of its machines in %s", args[0],
				f.Results), "tare fleet fetch %s", args[0])
		}
		return f.Name, r.machines, absent, nil
	}
	for _, path := range args {
		if isYAML(path) {
			return "", nil, nil, fault.Campaignf("%s: a fleet file must be the only argument", path)
		}
		if err := r.path(path); err != nil {
			return "", nil, nil, err
		}
	}
	return "", r.machines, nil, nil
}

func isYAML(path string) bool {
	return strings.HasSuffix(path, ".yaml") || strings.HasSuffix(path, ".yml")
}

func openFleet(path string) (*fleet.File, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fault.Campaignf("%w", err)
	}
	return fleet.Parse(path, text)
}

// fleetReader collects machines.
type fleetReader struct {
	ctx      context.Context
	machines []fleet.Machine
	byHost   map[string]int // index of the machine with a host id, where files stand for machines
}

// path reads a run, or a folder of runs and of folders of machines.
func (r *fleetReader) path(path string) error {
	if st, err := os.Stat(path); err != nil || !st.IsDir() {
		return r.file(path)
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return fault.Campaignf("%w", err)
	}
	found := false
	for _, e := range entries {
		below := filepath.Join(path, e.Name())
		switch {
		case e.IsDir():
			files, err := filepath.Glob(filepath.Join(below, "*.tare"))
			if err != nil || len(files) == 0 {
				continue // not a machine's
			}
			err = r.machine(e.Name(), "", files)
			if err != nil {
				return err
			}
		case strings.HasSuffix(e.Name(), ".tare"):
			if err := r.file(below); err != nil {
				return err
			}
		default:
			continue
		}
		found = true
	}
	if !found {
		return fault.Campaignf("%s: there is no run in this folder, nor in the folders in it: no file that ends in .tare",
			path)
	}
	return nil
}

// machine reads all runs of a machine.
func (r *fleetReader) machine(name, group string, files []string) error {
	m := fleet.Machine{Name: name, Group: group}
	for _, f := range files {
		run, err := r.read(f)
		if err != nil {
			return err
		}
		m.Runs = append(m.Runs, run)
	}
	r.machines = append(r.machines, m)
	return nil
}

// file reads a run of the machine that its host id names; without one, the file is a machine.
func (r *fleetReader) file(path string) error {
	run, err := r.read(path)
	if err != nil {
		return err
	}
	if i, ok := r.byHost[run.HostID]; ok && run.HostID != "" {
		r.machines[i].Runs = append(r.machines[i].Runs, run)
		return nil
	}
	r.byHost[run.HostID] = len(r.machines)
	name := strings.TrimSuffix(filepath.Base(path), ".tare")
	r.machines = append(r.machines, fleet.Machine{Name: name, Runs: []*fleet.Run{run}})
	return nil
}

func (r *fleetReader) read(path string) (*fleet.Run, error) { return readFleetRun(r.ctx, path) }

func readFleetRun(ctx context.Context, path string) (run *fleet.Run, err error) {
	err = readRun(ctx, path, func(s *store.Run) error {
		run, err = fleet.Read(s)
		return err
	})
	return run, err
}
