package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/tare-bench/tare/internal/campaign"
	"github.com/tare-bench/tare/internal/experiment"
	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/fleet"
	"github.com/tare-bench/tare/internal/fleet/durable"
	"github.com/tare-bench/tare/internal/fleet/remote"
	"github.com/tare-bench/tare/internal/report"
)

// fleetFlags are those of the commands that log in to machines.
type fleetFlags struct {
	run     string // name of the run on the machines
	program string
	poll    time.Duration
	wait    bool
	reboot  bool // machines are booted as their runs need it
	// patience is how long a machine may be out of reach.
	patience time.Duration
	// unhealthy: machines take part whatever their check of health says.
	unhealthy bool
}

// mostLogins is how many machines are asked at once.
const mostLogins = 16

// remoteFleet is a fleet's file with what is needed to log in.
type remoteFleet struct {
	*fleet.File
	run      string
	campaign []byte
	args     []string        // of tare run
	temporal *durable.Client // nil: over SSH
}

func openRemoteFleet(path string, f fleetFlags) (*remoteFleet, error) {
	file, err := openFleet(path)
	if err != nil {
		return nil, err
	}
	if file.Config != "" {
		if _, err := os.Stat(file.Config); err != nil {
			return nil, fault.Campaignf("%s: ssh_config: %w", path, err)
		}
	}
	r := &remoteFleet{File: file, run: cmp.Or(f.run, file.Name)}
	if strings.ContainsAny(r.run, "/\x00") || strings.HasPrefix(r.run, ".") {
		return nil, fault.Campaignf("--run %q: must be a file name", r.run)
	}
	if file.Campaign != "" {
		if r.campaign, _, err = experiment.Text(file.Campaign); err != nil {
			return nil, err
		}
	}
	if file.Budget > 0 {
		r.args = []string{"--budget", campaign.FormatDuration(file.Budget)}
	}
	return r, nil
}

func (r *remoteFleet) host(m fleet.Member) remote.Host {
	return remote.Host{Destination: m.SSH, Config: r.Config, Dir: r.Dir}
}

// runFile is where the file of a machine's run is here.
func (r *remoteFleet) runFile(m fleet.Member) string {
	return filepath.Join(r.Runs(m.Name), r.run+".tare")
}

// each does something on all machines, and returns what it says in their order. An error of one machine does not keep
// the others from it.
func each[T any](r *remoteFleet, do func(fleet.Member, remote.Host) (T, error)) (said []T, errs []error) {
	said, errs = make([]T, len(r.Machines)), make([]error, len(r.Machines))
	slots := make(chan struct{}, mostLogins)
	var all sync.WaitGroup
	for i, m := range r.Machines {
		all.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			said[i], errs[i] = do(m, r.host(m))
		})
	}
	all.Wait()
	return said, errs
}

func runFlag(c *cobra.Command, f *fleetFlags) *cobra.Command {
	c.Flags().StringVar(&f.run, "run", "", "name of the run on the machines (default: the fleet's)")
	return c
}

func programFlag(c *cobra.Command, f *fleetFlags) *cobra.Command {
	c.Flags().StringVar(&f.program, "program", "/proc/self/exe", "build of tare to copy to the machines")
	return c
}

func newFleetDoctor(o *options) *cobra.Command {
	f := &fleetFlags{}
	c := &cobra.Command{
		Use:   "doctor FLEET.yaml",
		Short: "Report what each machine can measure, and what disturbs it",
		Long: `doctor copies this program to each machine, unless it is already there, and runs tare
doctor on it. If a machine cannot measure the fleet's campaign, because it lacks a system,
a network, a device or a tool, doctor says why and exits with status 3.

With --measure, it also measures each machine against itself: native guests against
identical ones, with trials of the same size on all machines. A machine is offline, so
that tare fleet run leaves it out, if its identical guests differ, if its times differ
from those of its previous check or of the others in its group, each by more than a
margin (docs/fleet.md), if a core was throttled, or if its clock is bad. The last check
decides.

Over Temporal, the machine's worker answers and measures, unless it is measuring already.`,
		Example: "  tare fleet doctor racks.yaml",
	}
	measure := c.Flags().Bool("measure", false, "measure each machine against itself; takes minutes")
	c.Flags().DurationVar(&f.patience, "patience", time.Minute, "how long to keep trying a machine that cannot be reached")
	c.Flags().DurationVar(&f.poll, "poll", 5*time.Second, "how often to ask a machine while waiting for it")
	overSSH := func(cmd *cobra.Command, r *remoteFleet) error {
		p, err := remote.ProgramAt(f.program)
		if err != nil {
			return err
		}
		if *measure {
			return r.measureHealth(cmd.Context(), cmd.OutOrStdout(), p, o, *f)
		}
		if err := r.checkCampaign(cmd.Context(), cmd.OutOrStdout(), o.stateDir); err != nil {
			return err
		}
		said, errs := each(r, func(_ fleet.Member, h remote.Host) (string, error) {
			if err := h.Install(cmd.Context(), p); err != nil {
				return "", err
			}
			out, err := h.Doctor(cmd.Context(), p, r.campaign)
			if err != nil {
				return "", err
			}
			return doctorText(out)
		})
		return r.tell(cmd, said, errs)
	}
	return fleetCommand(programFlag(c, f), f, overSSH, func(cmd *cobra.Command, r *remoteFleet, t *durable.Client) error {
		if *measure {
			return r.measureHealthDurable(cmd.Context(), cmd.OutOrStdout(), t, f, o.stateDir)
		}
		if err := r.checkCampaign(cmd.Context(), cmd.OutOrStdout(), o.stateDir); err != nil {
			return err
		}
		said, errs := r.askDoctors(cmd.Context(), t, f)
		return r.tell(cmd, said, errs)
	})
}

// checkCampaign returns what is wrong with the fleet's campaign on any machine, and says if its image is not here. A
// fleet may have no campaign.
func (r *remoteFleet) checkCampaign(ctx context.Context, w io.Writer, stateDir string) error {
	if r.campaign == nil {
		return nil
	}
	_, err := r.imageHere(ctx, w, stateDir)
	return err
}

// errRefused is the error of a machine that cannot measure the campaign.
var errRefused = errors.New("cannot measure the campaign")

// doctorText is a machine in a few lines, from what tare doctor --json prints there. If the machine cannot measure the
// campaign, the error is errRefused, and the text says why.
func doctorText(out string) (string, error) {
	var d doctorReport
	if err := json.Unmarshal([]byte(out), &d); err != nil {
		return "", fault.Hostf("tare doctor there does not print JSON: %w", err)
	}
	var usable []string
	for _, s := range d.Systems {
		if s.Usable {
			usable = append(usable, s.Name)
		}
	}
	text := "no description"
	if d.Environment != nil {
		text = report.HostLine(d.Environment)
	}
	text += "\n  systems: " + strings.Join(usable, ", ")
	for _, n := range d.Noise {
		text += fmt.Sprintf("\n  %s: %s", n.Severity, n.What)
	}
	if d.Refused == "" {
		return text, nil
	}
	return text + "\n  cannot measure the campaign:\n    " + strings.ReplaceAll(d.Refused, "\n", "\n    "), errRefused
}

// statusText words what became of a run. The last line of its output is part of that while it runs and after it
// failed; that of a complete run names files of the machine.
func statusText(s remote.Status) string {
	resume := ""
	if s.Resumable() {
		resume = " (tare fleet resume continues it)"
		if s.State == remote.Ended && s.Code == fault.ExitCampaign {
			resume = " (tare fleet resume tries again)"
		}
	}
	switch {
	case s.State == remote.Absent:
		return errNoRun.Error()
	case s.Complete() && s.Code == fault.ExitFailed:
		return "complete, but trials failed in their guests"
	case s.Complete():
		return "complete"
	case s.State == remote.Interrupted, s.State == remote.Ended && s.Code == fault.ExitIncomplete:
		return "interrupted" + resume
	case s.State == remote.Ended:
		return fmt.Sprintf("ended with exit status %d%s: %s", s.Code, resume, strings.ReplaceAll(s.Log, "\n", "\n  "))
	case s.Log == "":
		return string(s.State)
	}
	return string(s.State) + ": " + s.Log
}

// answer is what a command says of a run, and errNoRun if the machine has none.
func answer(s remote.Status, err error) (string, error) {
	switch {
	case err != nil:
		return "", err
	case s.State == remote.Absent:
		return statusText(s), errNoRun
	}
	return statusText(s), nil
}

// stopped tells what becomes of runs when their command is interrupted.
func stopped(w io.Writer) error {
	fmt.Fprintln(w, "interrupted: runs that were started go on; tare fleet status says how far they are, "+
		"tare fleet cancel ends them")
	return errIncomplete
}

func newFleetStatus() *cobra.Command {
	f := &fleetFlags{}
	c := &cobra.Command{
		Use:     "status FLEET.yaml",
		Short:   "Report how far the run on each machine is",
		Example: "  tare fleet status racks.yaml",
	}
	return fleetCommand(runFlag(c, f), f, func(cmd *cobra.Command, r *remoteFleet) error {
		off, err := r.unhealthy(cmd.Context())
		if err != nil {
			return err
		}
		said, errs := each(r, func(m fleet.Member, h remote.Host) (string, error) {
			text, err := answer(h.Status(cmd.Context(), r.run))
			if why := off[m.Name]; why != nil && text != "" {
				text += "; " + offLine(why)
			}
			return text, err
		})
		return r.tell(cmd, said, errs)
	}, func(cmd *cobra.Command, r *remoteFleet, t *durable.Client) error { return r.statusDurable(cmd, t) })
}

func newFleetCancel() *cobra.Command {
	f := &fleetFlags{}
	c := &cobra.Command{
		Use:     "cancel FLEET.yaml",
		Short:   "End the run on each machine, as Ctrl-C does",
		Long:    `cancel ends the run on each machine in an orderly way. tare fleet resume continues it.`,
		Example: "  tare fleet cancel racks.yaml",
	}
	return fleetCommand(runFlag(c, f), f, func(cmd *cobra.Command, r *remoteFleet) error {
		said, errs := each(r, func(_ fleet.Member, h remote.Host) (string, error) {
			return answer(h.Cancel(cmd.Context(), r.run))
		})
		return r.tell(cmd, said, errs)
	}, func(cmd *cobra.Command, r *remoteFleet, t *durable.Client) error { return r.cancelDurable(cmd, t) })
}

func newFleetResume(o *options) *cobra.Command {
	f := &fleetFlags{}
	c := &cobra.Command{
		Use:   "resume FLEET.yaml",
		Short: "Continue runs that were cancelled, killed or stopped by the machine",
		Long: `resume continues the run on each machine where it was cancelled, killed, or stopped by a
reboot or a fault of the machine, with the build of tare that began it. Runs that are
complete or in progress are left alone. Machines whose last check of health (tare fleet
doctor --measure) failed are left out.`,
		Example: "  tare fleet resume racks.yaml",
	}
	c.Flags().BoolVar(&f.unhealthy, "even-if-unhealthy", false, "also resume on machines that are offline")
	return fleetCommand(runFlag(c, f), f, func(cmd *cobra.Command, r *remoteFleet) error {
		off, err := r.leftOut(cmd.Context(), f)
		if err != nil {
			return err
		}
		said, errs := each(r, func(m fleet.Member, h remote.Host) (string, error) {
			s, err := h.Status(cmd.Context(), r.run)
			if err == nil && s.Resumable() {
				if why := off[m.Name]; why != nil {
					return "", fault.Hostf("%s", offLine(why))
				}
				s, err = h.Resume(cmd.Context(), r.run, r.campaign, r.args...)
			}
			return answer(s, err)
		})
		return r.tell(cmd, said, errs)
	}, func(cmd *cobra.Command, r *remoteFleet, t *durable.Client) error {
		return r.resumeDurable(cmd, t, f, o.stateDir)
	})
}

func newFleetFetch() *cobra.Command {
	f := &fleetFlags{}
	c := &cobra.Command{
		Use:   "fetch FLEET.yaml",
		Short: "Copy the run files of all machines here",
		Long: `fetch copies the run file of each machine whose run is over into the fleet's folder of
results, where tare fleet show reads it. It checks the hash of each file, and copies no
file that is already here.

If runs go on, or have not begun on some machines, it fetches the others and exits with
status 4.`,
		Example: "  tare fleet fetch racks.yaml",
	}
	return fleetCommand(runFlag(c, f), f, func(cmd *cobra.Command, r *remoteFleet) error {
		said, errs := each(r, func(m fleet.Member, h remote.Host) (string, error) {
			s, err := h.Status(cmd.Context(), r.run)
			switch {
			case err != nil:
				return "", err
			case s.State == remote.Absent:
				return statusText(s), errNeither
			case s.State == remote.Running:
				return notFetched(statusText(s)), errNoFile
			}
			to := r.runFile(m)
			fetched, err := h.Fetch(cmd.Context(), r.run, to)
			if err != nil {
				return "", err
			}
			text := "here already: " + to
			if fetched {
				text = "fetched to " + to
			}
			if !s.Complete() {
				text += "; " + statusText(s)
			}
			return text, nil
		})
		return r.tell(cmd, said, errs)
	}, func(cmd *cobra.Command, r *remoteFleet, t *durable.Client) error { return r.fetchCollected(cmd, t) })
}

// notFetched says that a run has no file to fetch yet, and how far it is.
func notFetched(state string) string { return "not fetched, because its run is not over: " + state }

func newFleetRun(o *options) *cobra.Command {
	f := &fleetFlags{}
	c := &cobra.Command{
		Use:   "run FLEET.yaml",
		Short: "Measure the campaign on all machines",
		Long: `run copies this program and the campaign to each machine and starts the run there. The
runs do not need this command or its connections: it ends when all are started, and
tare fleet status says how far they are. If the fleet's file limits how many machines
are busy at once, it starts a run whenever another one is over, and ends when all are
over. If it is killed, start it again: it does not start a run twice.

It also sends the campaign's userland image to machines that do not have it, if it has
been built here (tare image CAMPAIGN). A machine that cannot be reached gives its place
to the next and is tried again later. A machine whose last check of health (tare fleet
doctor --measure) failed is left out.

With --reboot, it takes machines through the boots that the campaign has, and waits until
their runs are complete.`,
		Example: "  tare fleet run racks.yaml\n  tare fleet run racks.yaml --run second --wait",
	}
	c.Flags().BoolVar(&f.wait, "wait", false, "wait until the runs of all machines are over")
	c.Flags().BoolVar(&f.reboot, "reboot", false,
		"wait, and reboot machines if the campaign has boots; over Temporal, workers always do so")
	c.Flags().BoolVar(&f.unhealthy, "even-if-unhealthy", false, "also measure on machines that are offline")
	c.Flags().DurationVar(&f.patience, "patience", 10*time.Minute,
		"how long to keep trying a machine that cannot be reached")
	c.Flags().DurationVar(&f.poll, "poll", 15*time.Second, "how often to ask a machine while waiting for it")
	return fleetCommand(runFlag(programFlag(c, f), f), f, func(cmd *cobra.Command, r *remoteFleet) error {
		if r.campaign == nil {
			return fault.WithRemedy(fault.Campaignf("%s: the fleet has no campaign to run", cmd.Flags().Arg(0)),
				"campaign: FILE.yaml in %s", cmd.Flags().Arg(0))
		}
		p, err := remote.ProgramAt(f.program)
		if err != nil {
			return err
		}
		b := batch{remoteFleet: r, program: p, flags: *f, out: cmd.OutOrStdout()}
		if b.image, err = r.openImage(cmd.Context(), cmd.OutOrStdout(), o.stateDir); err != nil {
			return err
		}
		if b.offLine, err = r.leftOut(cmd.Context(), f); err != nil {
			return err
		}
		return b.start(cmd.Context())
	}, func(cmd *cobra.Command, r *remoteFleet, t *durable.Client) error {
		return r.startDurable(cmd, t, f, o.stateDir)
	})
}
