package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/fleet"
	"github.com/tare-bench/tare/internal/fleet/remote"
	"github.com/tare-bench/tare/internal/view"
)

// tell writes what a command did on all machines.
func (r *remoteFleet) tell(cmd *cobra.Command, said []string, errs []error) error {
	w, interrupted := cmd.OutOrStdout(), cmd.Context().Err() != nil
	for i, m := range r.Machines {
		text := said[i]
		switch {
		case errs[i] != nil && interrupted: // whatever the error is, that is the cause
			text = "has not answered yet"
		case errs[i] != nil && text == "":
			text = errs[i].Error()
		}
		io.WriteString(w, lineOf(m, text))
	}
	if interrupted {
		return stopped(w)
	}
	return r.outcome(cmd, errs)
}

// Errors of a machine that are no failure.
var (
	errNoRun   = errors.New("has no run of this name")
	errNoFile  = errors.New("has no run file yet") // because its run goes on
	errNeither = errors.Join(errNoRun, errNoFile)
)

// outcome is the error of a command from those of the machines. A run that no machine has is probably a slip of the
// pen; if only some have it, the others may not have begun.
func (r *remoteFleet) outcome(cmd *cobra.Command, errs []error) error {
	is := func(what error) func(error) bool { return func(err error) bool { return errors.Is(err, what) } }
	noRun, noFile := is(errNoRun), is(errNoFile)
	if !slices.ContainsFunc(errs, func(err error) bool { return !noRun(err) }) {
		return r.noSuchRun(cmd.Context())
	}
	var open []string
	failed := slices.Clone(errs)
	for i, err := range errs {
		if noFile(err) {
			open = append(open, r.Machines[i].Name)
		}
		if noFile(err) || noRun(err) {
			failed[i] = nil
		}
	}
	if err := failedOn(r.Machines, failed); err != nil || open == nil {
		return err
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "tare: no run file to fetch yet on %d of %d machines: %s\n"+
		"  to fix: fetch again when tare fleet status says that their runs are over\n", len(open), len(errs),
		strings.Join(open, ", "))
	return errIncomplete
}

// noSuchRun is the error that no machine has the run, and says which ones there are, as far as is known.
func (r *remoteFleet) noSuchRun(ctx context.Context) error {
	err, runs, forgotten := fault.Campaignf("no machine of fleet %s has a run %q", r.Name, r.run), []string(nil), ""
	if r.temporal == nil {
		runs = r.runsThere(ctx)
	} else {
		err, runs = fault.Campaignf("Temporal has no run %q of fleet %s", r.run, r.Name), r.temporal.Runs(ctx, r.Name)
		forgotten = "; finished ones are forgotten after the namespace's retention"
	}
	if len(runs) == 0 {
		return fault.WithRemedy(err, "start it with tare fleet run%s", forgotten)
	}
	return fault.WithRemedy(err, "choose one that exists, with --run: %s%s", strings.Join(runs, ", "), forgotten)
}

// runsThere are the names of the runs on the machines that answer, without checks of health.
func (r *remoteFleet) runsThere(ctx context.Context) (names []string) {
	said, _ := each(r, func(_ fleet.Member, h remote.Host) ([]string, error) { return h.Runs(ctx) })
	names = slices.Concat(said...)
	slices.Sort(names)
	return slices.DeleteFunc(slices.Compact(names), func(name string) bool { return strings.HasPrefix(name, healthRun) })
}

// lineOf is a line about a machine, whose name the text may begin with.
func lineOf(m fleet.Member, text string) string {
	return fmt.Sprintf("%s: %s\n", m.Name, view.Visible(strings.TrimPrefix(text, m.Name+": ")))
}

// failedOn is the error of a command that failed on some machines.
func failedOn(machines []fleet.Member, errs []error) error {
	var names []string
	for i, err := range errs {
		if err != nil {
			names = append(names, machines[i].Name)
		}
	}
	if names == nil {
		return nil
	}
	return fault.Hostf("%d of %d machines failed: %s", len(names), len(machines), strings.Join(names, ", "))
}
