package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/fleet"
	"github.com/tare-bench/tare/internal/report/page"
	"github.com/tare-bench/tare/internal/store"
)

func newFleet(o *options) *cobra.Command {
	c := &cobra.Command{
		Use:   "fleet",
		Short: "The same question over many machines",
		Long: `fleet measures on many machines over SSH, and says what a system costs on machines of
a kind: on average, on the next machine, and on which machines something is odd.
docs/fleet.md explains the figures, and what tare leaves on the machines.`,
		Example: `  tare fleet doctor racks.yaml
  tare fleet run racks.yaml
  tare fleet status racks.yaml
  tare fleet fetch racks.yaml
  tare fleet show racks.yaml`,
	}
	c.AddCommand(newFleetShow(), newFleetDoctor(), newFleetRun(o), newFleetStatus(), newFleetResume(), newFleetFetch(),
		newFleetCancel())
	return c
}

func newFleetShow() *cobra.Command {
	var all, machines, asJSON bool
	var html string
	c := &cobra.Command{
		Use:   "show FLEET.yaml|RUN|FOLDER…",
		Short: "Pool the runs of many machines",
		Long: `show pools what each system costs over the machines of a group: the pooled cost, the
spread between machines, where the cost on the next machine lies, where the variance
comes from, and which machines are odd, with what else is different about them.

A fleet file says which machines form a group. Runs and folders are grouped by the
machine's CPU. In a folder, each folder has the runs of a machine, and each run file
beside them is that of the host in it. Groups are never pooled, and what is not
comparable within a group is left out with the reason.`,
		Example: `  tare fleet show racks.yaml
  tare fleet show node1.tare node2.tare node3.tare --machines
  tare fleet show racks/ --html racks.html`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if html != "" && asJSON {
				return fault.Campaignf("--html and --json: choose one")
			}
			name, members, err := readFleet(cmd.Context(), args)
			if err != nil {
				return err
			}
			res, err := fleet.Analyze(name, members, all)
			if err != nil {
				return err
			}
			switch {
			case asJSON:
				return fleet.JSON(cmd.OutOrStdout(), res)
			case html == "-":
				return page.WriteFleet(cmd.OutOrStdout(), res)
			case html != "":
				err := writeWhole(html, func(f *os.File) error {
					w := bufio.NewWriter(f)
					if err := page.WriteFleet(w, res); err != nil {
						return err
					}
					return w.Flush()
				})
				if err == nil {
					fmt.Fprintln(cmd.ErrOrStderr(), "written to", html)
				}
				return err
			}
			return fleet.Text(cmd.OutOrStdout(), res, machines)
		},
	}
	c.Flags().BoolVar(&all, "all", false, "pool all metrics, not only the primary one of each workload")
	c.Flags().BoolVar(&machines, "machines", false, "list what each machine says")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	c.Flags().StringVar(&html, "html", "", `write an HTML page to this file, "-" for standard output`)
	return c
}

// readFleet reads the runs of a fleet's file, or of run files and folders.
func readFleet(ctx context.Context, args []string) (name string, machines []fleet.Machine, err error) {
	r := fleetReader{ctx: ctx, byHost: map[string]int{}}
	if len(args) == 1 && isYAML(args[0]) {
		f, err := openFleet(args[0])
		if err != nil {
			return "", nil, err
		}
		for _, m := range f.Machines {
			files, err := runsIn(f.Runs(m.Name))
			if err != nil {
				return "", nil, fault.WithRemedy(err, "tare fleet fetch %s, or remove %s from it", args[0], m.Name)
			}
			if err := r.machine(m.Name, m.Group, files); err != nil {
				return "", nil, err
			}
		}
		return f.Name, r.machines, nil
	}
	for _, path := range args {
		if isYAML(path) {
			return "", nil, fault.Campaignf("%s: a fleet file must be the only argument", path)
		}
		if err := r.path(path); err != nil {
			return "", nil, err
		}
	}
	return "", r.machines, nil
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

func (r *fleetReader) read(path string) (run *fleet.Run, err error) {
	err = readRun(r.ctx, path, func(s *store.Run) error {
		run, err = fleet.Read(s)
		return err
	})
	return run, err
}
