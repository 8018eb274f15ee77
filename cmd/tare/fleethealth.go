package main

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/fleet"
	"github.com/tare-bench/tare/internal/fleet/collect"
	"github.com/tare-bench/tare/internal/fleet/durable"
	"github.com/tare-bench/tare/internal/fleet/remote"
	"github.com/tare-bench/tare/internal/view"
)

// checkTime is the name of a check of health, which sorts by time.
const checkTime = "20060102T150405Z"

// healthRun begins the names of checks of health on machines that are logged in to.
const healthRun = "health-"

// checks is the folder with the run files of a machine's checks of health.
func (r *remoteFleet) checks(machine string) string {
	return filepath.Join(r.Results, "health", machine)
}

// healthCheck is the fleet with a campaign that measures each machine against itself. Its run has the check's name.
func (r *remoteFleet) healthCheck() *remoteFleet {
	file := *r.File
	file.Campaign = "" // none that has a file
	return &remoteFleet{File: &file, campaign: fleet.HealthCampaign, run: time.Now().UTC().Format(checkTime)}
}

// measureHealth measures each machine against itself, brings the run files here, and says what they show.
func (r *remoteFleet) measureHealth(ctx context.Context, w io.Writer, p remote.Program, o *options,
	f fleetFlags) (err error) {
	check := r.healthCheck()
	name := check.run
	check.run = healthRun + name
	f.wait = true
	b := batch{remoteFleet: check, program: p, flags: f, out: w}
	if b.image, err = check.openImage(ctx, w, o.stateDir); err != nil {
		return err
	}
	startErr := b.start(ctx)
	if ctx.Err() != nil {
		return startErr
	}
	_, fetchErr := each(check, func(m fleet.Member, h remote.Host) (string, error) {
		_, err := h.Fetch(ctx, check.run, filepath.Join(r.checks(m.Name), name+".tare"))
		return "", err
	})
	if err := r.tellHealth(ctx, w, fetchErr); err != nil {
		return err
	}
	return startErr
}

// measureHealthDurable does so over Temporal. The collector keeps the checks as runs of another fleet, so that they
// are not pooled with the fleet's own.
func (r *remoteFleet) measureHealthDurable(ctx context.Context, w io.Writer, t *durable.Client, f *fleetFlags,
	stateDir string) error {
	check := r.healthCheck()
	check.Name += ".health"
	o, err := check.order()
	if err != nil {
		return err
	}
	silent := map[string][]string{}                // machines that are off, or measure
	asked := remoteFleet{File: r.File, run: r.run} // whether they answer, not about the fleet's campaign
	_, errs := asked.askDoctors(ctx, t, f)
	for i, m := range r.Machines {
		if errs[i] != nil {
			silent[m.Name] = []string{errs[i].Error()}
		}
	}
	without(&o, silent, nil)
	var runErr error
	if len(o.Machines) > 0 {
		if err := check.sendImage(ctx, w, &o, stateDir); err != nil {
			return err
		}
		if err := t.Start(ctx, o); err != nil {
			return err
		}
		if runErr = check.waitDurable(ctx, w, t, f.poll, silent); ctx.Err() != nil {
			return runErr
		}
	}
	c, err := durable.Collector(r.Temporal)
	if err != nil {
		return err
	}
	for i, m := range r.Machines {
		if errs[i] == nil {
			_, errs[i] = c.Fetch(ctx, collect.Name{Fleet: check.Name, Machine: m.Name, Run: check.run},
				filepath.Join(r.checks(m.Name), check.run+".tare"))
		}
	}
	if err := r.tellHealth(ctx, w, errs); err != nil {
		return err
	}
	return runErr
}

// tellHealth says what the last checks show. notMeasured has the errors of machines that have no new one.
func (r *remoteFleet) tellHealth(ctx context.Context, w io.Writer, notMeasured []error) error {
	off, err := r.unhealthy(ctx)
	if err != nil {
		return err
	}
	for i, m := range r.Machines {
		text := "healthy"
		switch {
		case notMeasured[i] != nil:
			text = "not measured: " + notMeasured[i].Error()
		case off[m.Name] != nil:
			text = offLine(off[m.Name])
		}
		fmt.Fprintf(w, "%s: %s\n", m.Name, view.Visible(text))
	}
	return failedOn(r.Machines, notMeasured)
}

// offLine words why a machine does not take part.
func offLine(reasons []string) string {
	return "offline: " + strings.Join(reasons, "; ") +
		"\n  tare fleet doctor --measure checks it again; run and resume --even-if-unhealthy measure on it nevertheless"
}

// leftOut are the offline machines, and why, unless they are to take part nevertheless.
func (r *remoteFleet) leftOut(ctx context.Context, f *fleetFlags) (map[string][]string, error) {
	if f.unhealthy {
		return nil, nil
	}
	return r.unhealthy(ctx)
}

// tellOffLine names the machines that are offline, with the reasons.
func (r *remoteFleet) tellOffLine(w io.Writer, off map[string][]string) {
	for _, m := range r.Machines {
		if why := off[m.Name]; why != nil {
			fmt.Fprintf(w, "%s: %s\n", m.Name, view.Visible(offLine(why)))
		}
	}
}

// unhealthy returns the reasons, by machine, that the last checks of health give. Machines that were never checked are
// not in it.
func (r *remoteFleet) unhealthy(ctx context.Context) (map[string][]string, error) {
	var checks []fleet.Check
	for _, m := range r.Machines {
		files, err := filepath.Glob(filepath.Join(escapeGlob(r.checks(m.Name)), "*.tare"))
		if err != nil {
			return nil, fault.Hostf("%w", err)
		}
		slices.Sort(files)
		if len(files) == 0 {
			continue
		}
		c := fleet.Check{Machine: m.Name, Group: m.Group}
		if c.Run, err = readFleetRun(ctx, files[len(files)-1]); err != nil {
			return nil, err
		}
		if len(files) > 1 {
			if c.Earlier, err = readFleetRun(ctx, files[len(files)-2]); err != nil {
				return nil, err
			}
		}
		checks = append(checks, c)
	}
	return fleet.Unhealthy(checks), nil
}

// escapeGlob makes a path mean itself in a pattern.
func escapeGlob(path string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(path)
}
