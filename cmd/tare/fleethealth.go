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
	"github.com/tare-bench/tare/internal/fleet/remote"
	"github.com/tare-bench/tare/internal/report"
)

// checkTime is the name of a check of health, which sorts by time.
const checkTime = "20060102T150405Z"

// checks is the folder with the run files of a machine's checks of health.
func (r *remoteFleet) checks(machine string) string {
	return filepath.Join(r.Results, "health", machine)
}

// measureHealth measures each machine against itself, brings the run files here, and says what they show.
func (r *remoteFleet) measureHealth(ctx context.Context, w io.Writer, p remote.Program, o *options,
	f fleetFlags) error {
	check := *r
	file := *r.File
	check.File = &file
	name := time.Now().UTC().Format(checkTime)
	file.Campaign, check.campaign, check.args, check.run = "health.yaml", fleet.HealthCampaign, nil, "health-"+name
	f.wait = true
	b := batch{remoteFleet: &check, program: p, flags: f, out: w}
	var err error
	if b.image, err = check.openImage(ctx, o.stateDir); err != nil {
		return err
	}
	startErr := b.start(ctx)
	if ctx.Err() != nil {
		return startErr
	}
	_, fetchErr := each(&check, func(m fleet.Member, h remote.Host) (string, error) {
		_, err := h.Fetch(ctx, check.run, filepath.Join(r.checks(m.Name), name+".tare"))
		return "", err
	})
	off, err := r.unhealthy(ctx)
	if err != nil {
		return err
	}
	for i, m := range r.Machines {
		text := "healthy"
		switch {
		case fetchErr[i] != nil:
			text = "not measured: " + fetchErr[i].Error()
		case off[m.Name] != nil:
			text = offLine(off[m.Name])
		}
		fmt.Fprintf(w, "%s: %s\n", m.Name, report.Visible(text))
	}
	if err := failedOn(r.Machines, fetchErr); err != nil {
		return err
	}
	return startErr
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
			fmt.Fprintf(w, "%s: %s\n", m.Name, report.Visible(offLine(why)))
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
