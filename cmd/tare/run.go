package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/tare-bench/tare/internal/analyze"
	"github.com/tare-bench/tare/internal/campaign"
	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/host"
	"github.com/tare-bench/tare/internal/instance"
	"github.com/tare-bench/tare/internal/plan"
	"github.com/tare-bench/tare/internal/probe"
	"github.com/tare-bench/tare/internal/run"
	"github.com/tare-bench/tare/internal/store"
	"github.com/tare-bench/tare/internal/system"
	"github.com/tare-bench/tare/internal/workload"
)

// runFlags are the flags of `tare run` that change the campaign or the run.
type runFlags struct {
	seed      uint64
	out       string
	precision string
	budget    time.Duration
	like      string    // a run to take campaign, sizes and image from
	likeness  *likeness // and what was read from it; nil: there is none
	dryRun    bool
	yes       bool
	reboot    bool
	destroy   []string
	generated bool // the campaign is tare's own, and its warnings are nobody's to heed
}

func newRun(o *options) *cobra.Command {
	var f runFlags
	c := &cobra.Command{
		Use:   "run quick|FILE.yaml|--like RUN",
		Short: "Measure: run a campaign, native and guests interleaved",
		Long: `run runs a campaign: "quick", which tare brings along, or a file of your own
(tare schema describes it). Everything measured goes to one run file, from which
tare show and tare export compute their tables.

Interrupt it with Ctrl-C: the current trial ends, the guests go, what is known so
far is shown, and tare resume goes on from there. So it does after a crash.

With --like it makes another run of the same kind, for tare compare: campaign,
sizes of the trials and userland image are those of the run given.`,
		Example: `  tare run quick
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
	c.Flags().StringVar(&f.out, "out", "", "run file to write (default NAME-DATE-TIME.tare)")
	c.Flags().StringVar(&f.precision, "precision", "", `half-width of the intervals to reach, such as 2%`)
	c.Flags().DurationVar(&f.budget, "budget", 0, "time after which no further block begins, such as 10m")
	c.Flags().StringVar(&f.like, "like", "", "take campaign, sizes and image from this run, with another seed")
	c.Flags().BoolVar(&f.dryRun, "dry-run", false, "print the plan and how long it will take, and do nothing")
	c.Flags().BoolVar(&f.yes, "yes", false, "do not ask before a long run")
	c.Flags().BoolVar(&f.reboot, "reboot", false, "reboot this machine, again and again, where the campaign has boots; needs --out")
	addDestroy(c, &f.destroy)
	c.RunE = thenReboot(o, &f.reboot, func([]string) string { return f.out }, inSandbox(o, func(cmd *cobra.Command, args []string) error {
		if f.reboot && f.out == "" {
			return fault.Campaignf("--reboot needs --out, so that the run is found again")
		}
		return runCampaign(cmd, o, f, args)
	}))
	return c
}

func runCampaign(cmd *cobra.Command, o *options, f runFlags, args []string) error {
	if f.like == "" {
		text, file, err := campaignText(args[0])
		if err != nil {
			return err
		}
		return runText(cmd, o, f, text, file)
	}
	like, err := readLikeness(f.like)
	if err != nil {
		return err
	}
	if len(args) > 0 {
		if err := like.same(args[0]); err != nil {
			return err
		}
	}
	f.likeness = like
	return runText(cmd, o, f, like.resolved, "campaign of "+f.like)
}

// runText runs the campaign of that text; file is what errors call it. Flags
// that cmd does not have are as if they were not given.
func runText(cmd *cobra.Command, o *options, f runFlags, text []byte, file string) error {
	ctx := cmd.Context()
	t, err := newTestbed(o)
	if err != nil {
		return err
	}
	defer t.Close()
	t.host.Destroy = f.destroy
	// What systems and image it needs must be known before it can be checked
	// against them; what is wrong with the file is said then.
	draft, err := campaign.Parse(file, text, campaign.Known{Workloads: knownWorkloads(), Systems: t.known(nil, campaign.Host{}).Systems})
	if err == nil && !f.dryRun {
		recipe, err := recipeOf(draft)
		if err != nil {
			return err
		}
		if l := f.likeness; l != nil {
			err = t.needImageOf(ctx, o, l.path, l.image, recipe)
		} else {
			err = t.needImage(ctx, o, recipe)
		}
		if err != nil {
			return err
		}
	}
	env := t.environment()
	status := t.checkFor(ctx, draft, bootOf(env))
	known := t.known(status, campaignHost(env))
	known.Host.Lacks = t.lacks(draft)
	c, err := campaign.Parse(file, text, known)
	if err != nil {
		return err
	}
	if err := f.apply(cmd, c); err != nil {
		return err
	}
	if err := checkDestroy(c, f.destroy, f.reboot); err != nil {
		return err
	}
	w := cmd.OutOrStdout()
	if !f.generated {
		for _, p := range c.Warnings {
			fmt.Fprintln(cmd.ErrOrStderr(), "warning:", p)
		}
	}
	p := t.plan(c, env)
	costs := costs
	costs.CPUs = env.CPU.Threads
	estimate := p.Estimate(costs)
	if f.dryRun {
		fmt.Fprintln(w, strings.TrimRight(p.Text(estimate), "\n"))
		return nil
	}
	if err := confirm(cmd, f.yes, p, estimate); err != nil {
		return err
	}
	workloads, err := t.workloads(c)
	if err != nil {
		return err
	}
	yaml := text
	if f.likeness != nil {
		if err := f.likeness.check(workloads); err != nil {
			return err
		}
		yaml = f.likeness.yaml
	}
	out := f.out
	if out == "" {
		out = c.Name + time.Now().Format("-20060102-150405") + ".tare"
	}
	lock, err := instance.Lock(fmt.Sprintf("campaign %s into %s since %s", c.Name, absolute(out), time.Now().Format(time.DateTime)))
	if err != nil {
		return err
	}
	defer lock.Close()
	for _, a := range c.Active() {
		if _, asked := status[a.System]; !asked {
			status[a.System] = system.Unusable("it is asked when the host is booted as "+a.Boot, "")
		}
	}
	s, err := createRun(out, yaml, c, p, t, env, systemEntries(t, status), workloads)
	if err != nil {
		return err
	}
	defer s.Close()
	fmt.Fprintf(w, "campaign %s, seed %d, into %s\n", c.Name, c.Seed, out)
	if f.likeness != nil {
		if err := f.likeness.reuse(s, c); err != nil {
			return err
		}
		fmt.Fprintf(w, "campaign, sizes and image are those of %s\n", f.like)
	}
	return measure(cmd, t, s, c, p, workloads, env)
}

// campaignText returns the campaign that a name or a file stands for.
func campaignText(name string) (text []byte, file string, err error) {
	if slices.Contains(campaign.BuiltinNames(), name) {
		text, err = campaign.Builtin(name)
		return text, name, err
	}
	text, err = os.ReadFile(name)
	if err != nil {
		return nil, name, fault.WithRemedy(fault.Campaignf("%w", err), "give a campaign file, or one of the campaigns that tare brings along: %s", strings.Join(campaign.BuiltinNames(), ", "))
	}
	return text, name, nil
}

// apply puts the flags over the campaign.
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
			return fault.Campaignf("--precision %s: want something like 2%%", f.precision)
		}
		c.Precision = p
		// Ten blocks at least tell when it is reached, and there must be room to grow.
		c.Blocks.Min = max(c.Blocks.Min, 10)
		c.Blocks.Max = max(c.Blocks.Max, 100)
	}
	return nil
}

// costs are guesses for the expected duration; a run corrects them as it goes.
var costs = plan.Costs{
	Slowdown:  map[string]float64{"qemu-tcg": 15},
	Overhead:  50 * time.Millisecond,
	Create:    map[string]time.Duration{"qemu-tcg": 8 * time.Second, "kvm": 3 * time.Second},
	Calibrate: 2 * time.Second,
}

// longRun is the expected duration above which a terminal is asked first.
const longRun = 30 * time.Minute

func confirm(cmd *cobra.Command, yes bool, p *plan.Plan, e plan.Estimate) error {
	if yes || e.Total < longRun || !isTerminal(os.Stdin) {
		return nil
	}
	fmt.Fprint(cmd.OutOrStdout(), p.Text(e), "\nGo on? [y/N] ")
	answer, _ := bufio.NewReader(cmd.InOrStdin()).ReadString('\n')
	if a := strings.ToLower(strings.TrimSpace(answer)); a != "y" && a != "yes" {
		return fault.Campaignf("not begun")
	}
	return nil
}

func campaignHost(env *host.Environment) campaign.Host {
	var h campaign.Host
	if cpus, err := host.ParseCPUList(env.CPU.Online); err == nil {
		h.CPUs = cpus
	}
	if env.Memory.Total != nil {
		h.Memory = campaign.Bytes(*env.Memory.Total)
	}
	return h
}

// createRun makes the run file with all that describes the run.
func createRun(path string, yaml []byte, c *campaign.Campaign, p *plan.Plan, t *testbed, env *host.Environment, systems []systemEntry, workloads map[string]*workload.Workload) (*store.Run, error) {
	docs := map[string][]byte{store.DocCampaignYAML: yaml, store.DocCampaign: c.Resolved()}
	described := map[string]any{store.DocEnvironment: env, store.DocSystems: systems, store.DocUserland: t.image.Manifest}
	if len(c.Boots) > 0 {
		described[store.EnvironmentOf(bootOf(env))] = env
	}
	for name, v := range described {
		b, err := json.Marshal(v)
		if err != nil {
			return nil, err
		}
		docs[name] = b
	}
	var arms []store.Arm
	for _, a := range p.Arms {
		f, err := run.Flavor(a.Flavor)
		if err != nil {
			return nil, err
		}
		arms = append(arms, store.Arm{
			Name: a.Name, System: a.System, Scenario: a.Scenario, Emulated: env.Virt.Emulated || t.drivers[a.System].Capabilities().Emulated,
			Flavor: run.StoredFlavor(a.Flavor.Name, f), ControlOf: a.Control,
		})
	}
	var metrics []store.Metric
	for _, cw := range c.Workloads {
		series := cw.Series()
		for i, m := range workloads[series].Metrics {
			metrics = append(metrics, store.Metric{Workload: series, Name: m.Name, Unit: m.Unit, Better: string(m.Better), Primary: i == 0})
		}
		for _, u := range probe.Units {
			metrics = append(metrics, store.Metric{Workload: series, Name: u.Name, Unit: u.Unit, Probe: true})
		}
	}
	return store.Create(path, docs, arms, metrics)
}

func absolute(path string) string {
	if a, err := filepath.Abs(path); err == nil {
		return a
	}
	return path
}

// measure runs what is left of a run, and shows what is known then.
func measure(cmd *cobra.Command, t *testbed, s *store.Run, c *campaign.Campaign, p *plan.Plan, workloads map[string]*workload.Workload, env *host.Environment) error {
	ctx := cmd.Context()
	view := newProgress(cmd.ErrOrStderr(), s)
	summary, err := run.Run(ctx, run.Config{
		Campaign: c, Plan: p, Store: s, Host: t.host, Drivers: t.drivers, Workloads: workloads,
		BootID: env.BootID, Boot: bootOf(env), Version: version, Progress: view.event,
		Widths: func() (map[string]plan.Width, error) { return widths(s) },
	})
	view.end()
	// The run's own error comes last, where it is read.
	if e := showRun(cmd, s, false); e != nil && err == nil {
		err = e
	}
	var next *run.OtherBoot
	switch {
	case errors.As(err, &next):
		fmt.Fprintf(cmd.ErrOrStderr(), "\n%v: then tare resume %s\n", err, s.Path())
		return exitOtherBoot
	case errors.Is(err, context.Canceled):
		fmt.Fprintf(cmd.ErrOrStderr(), "\ninterrupted in pass %d; to go on: tare resume %s\n", summary.Passes+1, s.Path())
		return errIncomplete
	case err != nil:
		return fmt.Errorf("%w\n  what was measured is safe; to go on: tare resume %s", err, s.Path())
	case summary.Failed > 0:
		return errFailedTrials
	}
	return nil
}

// widths are how wide the intervals of a run are by now, by workload.
func widths(s *store.Run) (map[string]plan.Width, error) {
	in, err := analyze.FromRun(s)
	if err != nil {
		return nil, err
	}
	all, err := analyze.Widths(in)
	if err != nil {
		return nil, err
	}
	byWorkload := map[string]plan.Width{}
	for _, w := range all {
		byWorkload[w.Workload] = plan.Width{Half: w.Half, Reached: w.Reached}
	}
	return byWorkload, nil
}

// plan plans a campaign on this host.
func (t *testbed) plan(c *campaign.Campaign, env *host.Environment) *plan.Plan {
	p := plan.New(c)
	p.Emulated = map[string]bool{}
	for name, d := range t.drivers {
		if d.Capabilities().Emulated && !env.Virt.Emulated { // else the baseline is emulated, too
			p.Emulated[name] = true
		}
	}
	return p
}

func isTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }
