package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/fleet"
	"github.com/tare-bench/tare/internal/fleet/collect"
	"github.com/tare-bench/tare/internal/fleet/durable"
	"github.com/tare-bench/tare/internal/fleet/remote"
	"github.com/tare-bench/tare/internal/view"
)

// fleetCommand makes c a command on a fleet's file: it does its work over SSH or, if the file says so, over Temporal.
func fleetCommand(c *cobra.Command, f *fleetFlags, overSSH func(*cobra.Command, *remoteFleet) error,
	overTemporal func(*cobra.Command, *remoteFleet, *durable.Client) error) *cobra.Command {
	c.Args = cobra.ExactArgs(1)
	c.RunE = func(cmd *cobra.Command, args []string) error {
		r, err := openRemoteFleet(args[0], *f)
		if err != nil {
			return err
		}
		if r.Temporal.Address == "" {
			return overSSH(cmd, r)
		}
		t, err := durable.Dial(cmd.Context(), r.Temporal, func() {
			fmt.Fprintf(cmd.ErrOrStderr(), "no tare fleet serve of this build is connected to Temporal; waiting for it, up to "+
				"%.0f s\n", durable.Reconnection.Seconds())
		})
		if err != nil {
			return err
		}
		defer t.Close()
		r.temporal = t
		return overTemporal(cmd, r, t)
	}
	return c
}

// order is what a run of the fleet is to do.
func (r *remoteFleet) order() (durable.Order, error) {
	o := durable.Order{Fleet: r.Name, Run: r.run, Campaign: r.campaign, Args: r.args, Busy: r.Busy}
	for _, m := range r.Machines {
		if err := (collect.Name{Fleet: r.Name, Machine: m.Name, Run: r.run}).Check(); err != nil {
			return o, err
		}
		o.Machines = append(o.Machines, m.Name)
	}
	if r.campaign == nil {
		return o, fault.Campaignf("fleet %s has no campaign to run", r.Name)
	}
	p, err := remote.ProgramAt("/proc/self/exe") // what fleet worker and fleet serve must be, too
	o.Build = p.Hash
	return o, err
}

// sendImage brings the userland image of an order to the collector if it is built here.
func (r *remoteFleet) sendImage(ctx context.Context, w io.Writer, o *durable.Order, stateDir string) error {
	img, err := r.openImage(ctx, w, stateDir)
	if err != nil || img == nil {
		return err
	}
	c, err := durable.Collector(r.Temporal)
	if err != nil {
		return err
	}
	sent, err := c.SendImage(ctx, img.index, img.Send)
	if err != nil {
		return err
	}
	if sent > 0 {
		fmt.Fprintf(w, "%d of %d chunks of the userland image were sent to the collector\n", sent, len(img.index.Chunks))
	}
	o.Image = img.index.ID()
	return nil
}

// without takes offline machines out of an order, unless they are done.
func without(o *durable.Order, off map[string][]string, known map[string]durable.Result) {
	o.Machines = slices.DeleteFunc(o.Machines, func(m string) bool {
		return off[m] != nil && known[m].State != durable.Done
	})
}

// missing is the error that machines do not take part in an order.
func (r *remoteFleet) missing(o durable.Order) error {
	errs := make([]error, len(r.Machines))
	for i, m := range r.Machines {
		if !slices.Contains(o.Machines, m.Name) {
			errs[i] = errors.New("offline")
		}
	}
	return failedOn(r.Machines, errs)
}

func (r *remoteFleet) startDurable(cmd *cobra.Command, t *durable.Client, f *fleetFlags, stateDir string) error {
	o, err := r.order()
	if err != nil {
		return err
	}
	off, err := r.leftOut(cmd.Context(), f)
	if err != nil {
		return err
	}
	without(&o, off, nil)
	r.tellOffLine(cmd.OutOrStdout(), off)
	if len(o.Machines) == 0 {
		return r.missing(o)
	}
	if err := r.sendImage(cmd.Context(), cmd.OutOrStdout(), &o, stateDir); err != nil {
		return err
	}
	if err := t.Start(cmd.Context(), o); err != nil {
		return err
	}
	fmt.Fprintf(cmd.OutOrStdout(), "run %s on %s is in progress\n", r.run, fleet.Count(len(o.Machines), "machine"))
	if !f.wait {
		return r.missing(o)
	}
	return r.waitDurable(cmd.Context(), cmd.OutOrStdout(), t, f.poll, off)
}

// waitDurable waits until a run is over, and says how it ended on each machine that is not offline. A coordinator or a
// Temporal that is restarted meanwhile is waited for.
func (r *remoteFleet) waitDurable(ctx context.Context, w io.Writer, t *durable.Client, poll time.Duration,
	off map[string][]string) error {
	said := map[string]bool{}
	for m := range off {
		said[m] = true
	}
	for {
		s, err := t.Status(ctx, r.Name, r.run)
		if ctx.Err() != nil {
			return stopped(w)
		}
		if fault.KindOf(err) == fault.Campaign {
			return err
		}
		if err == nil {
			for _, m := range r.Machines {
				if res := s.Machines[m.Name]; res.Over() && !said[m.Name] {
					said[m.Name] = true
					fmt.Fprintf(w, "%s: %s\n", m.Name, view.Visible(durableText(s, m.Name, nil)))
				}
			}
			if !s.Running {
				return r.failedOf(s)
			}
		}
		select {
		case <-ctx.Done():
		case <-time.After(poll):
		}
	}
}

// failedOf is the error of a run that is not complete on all machines.
func (r *remoteFleet) failedOf(s *durable.Status) error {
	errs := make([]error, len(r.Machines))
	for i, m := range r.Machines {
		if s.Machines[m.Name].State != durable.Done {
			errs[i] = errors.New(durableText(s, m.Name, nil))
		}
	}
	return failedOn(r.Machines, errs)
}

func (r *remoteFleet) statusDurable(cmd *cobra.Command, t *durable.Client) error {
	s, err := t.Status(cmd.Context(), r.Name, r.run)
	if err != nil {
		return r.orNoSuchRun(cmd.Context(), err)
	}
	off, err := r.unhealthy(cmd.Context())
	if err != nil {
		return err
	}
	r.tellStatus(cmd.OutOrStdout(), s, off)
	return nil
}

// orNoSuchRun is err, or, if it says that Temporal does not have the run, one that names the runs which it has.
func (r *remoteFleet) orNoSuchRun(ctx context.Context, err error) error {
	if !errors.Is(err, durable.ErrNoRun) {
		return err
	}
	return r.noSuchRun(ctx)
}

func (r *remoteFleet) tellStatus(w io.Writer, s *durable.Status, off map[string][]string) {
	for _, m := range r.Machines {
		fmt.Fprintf(w, "%s: %s\n", m.Name, view.Visible(durableText(s, m.Name, off[m.Name])))
	}
}

// durableText words how far a machine is, and why it is offline, if it is.
func durableText(s *durable.Status, machine string, off []string) string {
	res, ok := s.Machines[machine]
	text := string(res.State)
	switch {
	case !ok && off != nil:
		return offLine(off)
	case !ok:
		text = "not part of this run: it is newer, or was offline"
	case res.State == durable.Failed:
		text += ": " + res.Error
	case res.State == durable.Measuring:
		text += ": " + progressText(s.Progress[machine])
	case res.State == durable.Done && res.Code != 0:
		text += fmt.Sprintf(" with exit status %d: %d trials", res.Code, res.Trials)
	case res.State == durable.Done:
		text += fmt.Sprintf(": %d trials", res.Trials)
	}
	if res.Note != "" {
		text += "; " + res.Note
	}
	if off != nil {
		text += "; " + offLine(off)
	}
	return text
}

// progressText words how far a run is. Attempts beyond its trials were void or interrupted, or one is being made.
func progressText(p durable.Progress) string {
	text := fmt.Sprintf("%d trials", p.Trials)
	if p.Block > 0 {
		text = fmt.Sprintf("block %d: %d trials of %d attempts", p.Block, p.Trials, p.Attempts)
	}
	return text + ": " + p.Log
}

func (r *remoteFleet) resumeDurable(cmd *cobra.Command, t *durable.Client, f *fleetFlags, stateDir string) error {
	o, err := r.order()
	if err != nil {
		return err
	}
	s, err := t.Status(cmd.Context(), r.Name, r.run)
	if err != nil {
		return r.orNoSuchRun(cmd.Context(), err)
	}
	off, err := r.unhealthy(cmd.Context())
	if err != nil {
		return err
	}
	if !s.Running && !f.unhealthy { // what runs goes on as it is
		without(&o, off, s.Machines)
	}
	if !s.Running && len(o.Machines) > 0 {
		if err := r.sendImage(cmd.Context(), cmd.OutOrStdout(), &o, stateDir); err != nil {
			return err
		}
		if err := t.Resume(cmd.Context(), o, s); err != nil {
			return err
		}
		if s, err = t.Status(cmd.Context(), r.Name, r.run); err != nil {
			return err
		}
	}
	r.tellStatus(cmd.OutOrStdout(), s, off)
	return r.missing(o)
}

// askDoctors asks the workers of all machines what they can measure, and whether they can measure the campaign.
func (r *remoteFleet) askDoctors(ctx context.Context, t *durable.Client, f *fleetFlags) (said []string, errs []error) {
	p, err := remote.ProgramAt("/proc/self/exe")
	return each(r, func(m fleet.Member, _ remote.Host) (string, error) {
		if err != nil {
			return "", err
		}
		out, err := t.Doctor(ctx, durable.Order{Fleet: r.Name, Build: p.Hash, Machines: []string{m.Name},
			Campaign: r.campaign, Patience: f.patience})
		if err != nil {
			return "", err
		}
		return doctorText(out)
	})
}

func (r *remoteFleet) cancelDurable(cmd *cobra.Command, t *durable.Client) error {
	if err := t.Cancel(cmd.Context(), r.Name, r.run); err != nil {
		return r.orNoSuchRun(cmd.Context(), err)
	}
	fmt.Fprintln(cmd.OutOrStdout(), "the machines are ending their trials; tare fleet status says when they are done")
	return nil
}

// fetchCollected copies the run files from the collector. Temporal says why a file is not there; without an answer of
// it, what is there is fetched.
func (r *remoteFleet) fetchCollected(cmd *cobra.Command, t *durable.Client) error {
	c, err := durable.Collector(r.Temporal)
	if err != nil {
		return err
	}
	s, statusErr := t.Status(cmd.Context(), r.Name, r.run)
	said, errs := each(r, func(m fleet.Member, _ remote.Host) (string, error) {
		to := r.runFile(m)
		fetched, err := c.Fetch(cmd.Context(), collect.Name{Fleet: r.Name, Machine: m.Name, Run: r.run}, to)
		none := errors.Is(err, fs.ErrNotExist)
		if err != nil && !none {
			return "", err
		}
		text := "here already: " + to
		if fetched {
			text = "fetched to " + to
		}
		return collected(s, statusErr, m.Name, text, none)
	})
	return r.tell(cmd, said, errs)
}

// collected is what fetch says of a machine, whose run file the collector may not have. fetched says where it is here.
func collected(s *durable.Status, statusErr error, machine, fetched string, none bool) (string, error) {
	if statusErr != nil { // such a run may have been forgotten since
		switch {
		case !none:
			return fetched, nil
		case fault.KindOf(statusErr) == fault.Campaign:
			return errNoRun.Error(), errNeither
		}
		return "", statusErr
	}
	res, ok := s.Machines[machine]
	state := durableText(s, machine, nil)
	switch {
	case ok && !res.Over():
		if !none { // of the run before it was resumed
			return fetched + "; its run is not over: " + state, errNoFile
		}
		return notFetched(state), errNoFile
	case none && ok:
		return "", fault.Hostf("there is no run file: %s", state)
	case none:
		return state, errNeither
	case ok && res.State != durable.Done:
		return fetched + "; " + state, nil
	}
	return fetched, nil
}
