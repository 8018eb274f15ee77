package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/tare-bench/tare/internal/campaign"
	"github.com/tare-bench/tare/internal/experiment"
	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/plan"
	"github.com/tare-bench/tare/internal/run"
	"github.com/tare-bench/tare/internal/store"
)

// runFlags are the flags of `tare run` that change the campaign or the run.
type runFlags struct {
	seed      uint64
	out       string
	precision string
	budget    time.Duration
	like      string // a run to take campaign, sizes and image from
	dryRun    bool
	yes       bool
	polite    string // how many CPUs a polite run may use; "auto": the default
	trust     bool
	reboot    bool
	resume    bool
	patience  time.Duration // with another tare that measures
	destroy   []string
	generated bool // tare wrote the campaign itself, so its warnings help nobody
}

func newRun(o *options) *cobra.Command {
	var f runFlags
	c := &cobra.Command{
		Use:   "run quick|sandboxes|FILE.yaml|--like RUN",
		Short: "Run a campaign: measure native and guests, interleaved",
		Long: `run runs a campaign: the built-in "quick" or "sandboxes", or a file of your own (tare
schema describes the format). All measurements go to one run file, from which tare show,
tare report and tare export compute their results.

Press Ctrl-C to interrupt a run: the current trial ends, the guests are removed, the
results so far are shown, and tare resume continues the run. tare resume also works
after a crash.

With --like, it repeats a run, so that tare compare can compare the two: campaign,
trial sizes and userland image are those of the given run.`,
		Example: `  tare run quick
  tare run sandboxes
  tare run web.yaml --dry-run
  tare run web.yaml --precision 2% --budget 1h --out web.tare
  tare run --like monday.tare --out tuesday.tare`,
		Args: func(cmd *cobra.Command, args []string) error {
			if f.like != "" {
				return cobra.MaximumNArgs(1)(cmd, args)
			}
			return cobra.ExactArgs(1)(cmd, args)
		},
	}
	c.Flags().Uint64Var(&f.seed, "seed", 0, "seed of the random order (default: the campaign's, or a random one)")
	outFlag(c, &f.out, "run file to write (default NAME-DATE-TIME.tare)")
	c.Flags().StringVar(&f.precision, "precision", "", `half-width of the intervals to reach, such as 2%`)
	c.Flags().DurationVar(&f.budget, "budget", 0, "time limit, such as 10m: no block begins that would exceed it")
	c.Flags().StringVar(&f.like, "like", "", "take campaign, sizes and image from this run, with another seed")
	c.Flags().BoolVar(&f.dryRun, "dry-run", false, "print the plan and its expected duration, and exit")
	yesFlag(c, &f.yes)
	politeFlag(c, &f.polite)
	c.Flags().BoolVar(&f.trust, "trust", false,
		"with --like: the run may have been made elsewhere; its commands run as root")
	c.Flags().BoolVar(&f.reboot, "reboot", false,
		"reboot this machine as often as the campaign's boots require; needs --out")
	patienceFlag(c, &f.patience)
	c.Flags().BoolVar(&f.resume, "resume", false, "with --out: if the run of that file has begun, resume it")
	addDestroy(c, &f.destroy)
	c.RunE = thenReboot(o, &f.reboot, func([]string) string { return f.out },
		inSandbox(o, func(cmd *cobra.Command, args []string) error {
			if f.reboot && f.out == "" {
				return fault.Campaignf("--reboot needs --out, so that tare finds the run again")
			}
			if f.resume {
				if f.out == "" {
					return fault.Campaignf("--resume needs --out, the run to continue")
				}
				begun, err := store.Begun(f.out)
				if err != nil {
					return err
				}
				if begun {
					return resume(cmd, o, f.out, "", f)
				}
			}
			return runCampaign(cmd, o, f, args)
		}))
	return c
}

func runCampaign(cmd *cobra.Command, o *options, f runFlags, args []string) error {
	if f.like == "" {
		text, file, err := experiment.Text(args[0])
		if err != nil {
			return err
		}
		return runRequest(cmd, o, f, experiment.Request{Text: text, File: file})
	}
	like, err := experiment.ReadLikeness(cmd.Context(), f.like, o.stateDir, f.trust)
	if err != nil {
		return err
	}
	if len(args) > 0 {
		if err := like.Same(args[0]); err != nil {
			return err
		}
	}
	return runRequest(cmd, o, f, experiment.Request{Like: like})
}

// runRequest measures what r asks for; the flags override it. Flags that cmd does not
// have count as not given.
func runRequest(cmd *cobra.Command, o *options, f runFlags, r experiment.Request) error {
	t, err := openTestbed(o)
	if err != nil {
		return err
	}
	defer t.Close()
	t.Host.Destroy = f.destroy
	r.PlanOnly = f.dryRun
	if !f.dryRun {
		if err := await(cmd, t, f.patience); err != nil {
			return err
		}
	}
	r.Change = func(c *campaign.Campaign) error {
		if err := f.apply(cmd, c); err != nil {
			return err
		}
		if err := f.bePolite(c); err != nil {
			return err
		}
		return checkDestroy(c, f.destroy, f.reboot)
	}
	e, err := t.Prepare(cmd.Context(), r)
	if err != nil {
		return err
	}
	defer e.Close()
	w := cmd.OutOrStdout()
	if !f.generated {
		for _, p := range e.Campaign.Warnings {
			fmt.Fprintln(cmd.ErrOrStderr(), "warning:", p)
		}
	}
	estimate := e.Estimate()
	if f.dryRun {
		fmt.Fprintln(w, strings.TrimRight(e.Plan.Text(estimate), "\n"))
		return nil
	}
	if err := consent(cmd, f.yes, e); err != nil {
		return err
	}
	if err := confirm(cmd, f.yes, e.Plan, estimate); err != nil {
		return err
	}
	out := cmp.Or(f.out, e.Campaign.Name+time.Now().Format("-20060102-150405")+".tare")
	if err := e.Create(cmd.Context(), out); err != nil {
		return err
	}
	fmt.Fprintf(w, "campaign %s, seed %d, run file %s\n", e.Campaign.Name, e.Campaign.Seed, out)
	if f.like != "" {
		fmt.Fprintf(w, "campaign, trial sizes and image are those of %s\n", f.like)
	}
	return measure(cmd, e)
}

func patienceFlag(c *cobra.Command, patience *time.Duration) {
	c.Flags().DurationVar(patience, "patience", 0, "how long to wait while another tare measures on this host")
}

// await waits for another tare that measures.
func await(cmd *cobra.Command, t *experiment.Testbed, patience time.Duration) error {
	t.Patience = patience
	t.Waits = func(why error) {
		text, _, _ := strings.Cut(why.Error(), "\n")
		fmt.Fprintln(cmd.ErrOrStderr(), "waiting:", text)
	}
	return t.Await(cmd.Context())
}

// openTestbed prepares this host. It must be called inside a sandbox.
func openTestbed(o *options) (*experiment.Testbed, error) {
	return experiment.Open(o.stateDir, showStep)
}

// apply lets the flags override the campaign.
func (f runFlags) apply(cmd *cobra.Command, c *campaign.Campaign) error {
	if cmd.Flags().Changed("seed") {
		c.Seed = f.seed
	}
	if f.budget < 0 {
		return fault.Campaignf("--budget %v: must be positive", f.budget)
	}
	if cmd.Flags().Changed("budget") {
		c.Budget = f.budget
	}
	if f.precision != "" {
		p, err := campaign.ParsePercent(f.precision)
		if err != nil {
			return fault.Campaignf("--precision: %w", err)
		}
		if p <= 0 || p >= 100 {
			return fault.Campaignf("--precision %s: must be above 0%% and below 100%%, such as 2%%", f.precision)
		}
		c.Precision = p
		// It takes ten blocks to tell whether it is reached, and room for more.
		c.Blocks.Min = max(c.Blocks.Min, 10)
		c.Blocks.Max = max(c.Blocks.Max, 100)
	}
	return nil
}

// politeDefault is the value of --polite without a number.
const politeDefault = "auto"

func politeFlag(c *cobra.Command, polite *string) {
	c.Flags().StringVar(polite, "polite", "",
		"take little from whatever else this host does: this many CPUs (alone: a quarter), idle I/O, no caches dropped")
	c.Flags().Lookup("polite").NoOptDefVal = politeDefault
}

// bePolite makes the run polite if the flag says so.
func (f runFlags) bePolite(c *campaign.Campaign) error {
	if f.polite == "" {
		return nil
	}
	p := campaign.NewPolite(runtime.NumCPU())
	if f.polite != politeDefault {
		n, err := strconv.Atoi(f.polite)
		if err != nil || n < 1 || n > runtime.NumCPU() {
			return fault.Campaignf("--polite=%s: want a number of CPUs from 1 to %d", f.polite, runtime.NumCPU())
		}
		p.CPUs = n
	}
	if c.Polite.Asked() { // the flag changes the CPUs alone
		p.Free, p.Pressure = c.Polite.Free, c.Polite.Pressure
	}
	return c.BePolite(p)
}

// longRun is the expected duration above which tare asks for confirmation on a
// terminal.
const longRun = 30 * time.Minute

func confirm(cmd *cobra.Command, yes bool, p *plan.Plan, e plan.Estimate) error {
	if yes || e.Total < longRun || !isTerminal(os.Stdin) {
		return nil
	}
	return ask(cmd, p.Text(e))
}

func absolute(path string) string {
	if a, err := filepath.Abs(path); err == nil {
		return a
	}
	return path
}

// measure makes the trials that a run lacks, and shows the results.
func measure(cmd *cobra.Command, e *experiment.Experiment) error {
	view := newProgress(cmd.ErrOrStderr(), e.Run)
	summary, err := e.Measure(cmd.Context(), version, view.event)
	view.end()
	// The run's own error comes last, where it is seen.
	if e := showRun(cmd, e.Run, false, "terminal"); e != nil && err == nil {
		err = e
	}
	path := e.Run.Path()
	var next *run.OtherBoot
	switch {
	case errors.As(err, &next):
		fmt.Fprintf(cmd.ErrOrStderr(), "\n%v: then tare resume %s\n", err, path)
		return exitOtherBoot
	case errors.Is(err, context.Canceled):
		fmt.Fprintf(cmd.ErrOrStderr(), "\ninterrupted in pass %d; to continue: tare resume %s\n", summary.Passes+1, path)
		return errIncomplete
	case err != nil:
		return fmt.Errorf("%w\n  the measurements so far are saved; to continue: tare resume %s", err, path)
	case summary.Failed > 0:
		return errFailedTrials
	}
	return nil
}

func isTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }
