package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tare-bench/tare/internal/campaign"
	"github.com/tare-bench/tare/internal/experiment"
	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/host"
	"github.com/tare-bench/tare/internal/paper"
	"github.com/tare-bench/tare/internal/system/all"
	"github.com/tare-bench/tare/internal/view"
)

// paperRunFlags are the flags of `tare paper run`.
type paperRunFlags struct {
	repeat paper.RepeatOptions
	budget time.Duration
	wire   string
	far    campaign.End
	dryRun bool
	yes    bool
	asJSON bool
	out    string
}

func newPaperRun(o *options) *cobra.Command {
	var f paperRunFlags
	c := &cobra.Command{
		Use:   "run NAME|FILE",
		Short: "Repeat an article's measurements here, and print both results side by side",
		Long: `run measures what an article measured, scaled to this machine. It uses the systems
that the article compared if they are usable here, otherwise the most similar ones,
and lists these differences. The measurements are one or more ordinary campaigns,
each with its own run file, which tare show and tare report can also read.

A file of your own needs the key repetition, which says how to measure each figure.

Then run prints the article's tables: the printed figure, the figure measured here,
and what the system costs against the native one, then and now; or the reason why
there is no figure. tare paper show NAME --run RUN prints these tables again.`,
		Example: `  tare paper run habr-truevds-xen-disk --dry-run
  tare paper run abclinuxu-xen-vs-kvm --budget 15m
  tare paper run latgrid-xen-veiktspeja --system lxc,runc --table dd`,
		Args: cobra.ExactArgs(1),
	}
	c.Flags().Float64Var(&f.repeat.Scale, "scale", 0,
		"share of the article's work that a trial does, such as 0.01 (default: so much that it takes a fraction of a second)")
	c.Flags().StringSliceVar(&f.repeat.Systems, "system", nil,
		"systems to compare with the native one, such as lxc,runc (default: those most similar to the article's)")
	c.Flags().StringSliceVar(&f.repeat.Tables, "table", nil, "only the tables whose names have these prefixes")
	c.Flags().StringToStringVar(&f.repeat.Targets, "target", nil,
		"machine of a system whose guests tare does not create, such as vmware-workstation=/vms/debian.vmx")
	c.Flags().StringVar(&f.far.On, "partner", "",
		"other machine for network tests, such as ssh://root@192.0.2.7 (default: this host takes its place)")
	c.Flags().StringVar(&f.far.Address, "partner-address", "", "its address on the network of --uplink")
	c.Flags().StringVar(&f.wire, "uplink", "",
		"interface that leads there, and a free address for this host, such as eth1=10.9.0.100/24")
	c.Flags().DurationVar(&f.budget, "budget", 12*time.Minute,
		"time limit of all campaigns together; each measures at least one block")
	c.Flags().BoolVar(&f.dryRun, "dry-run", false, "print the scaled campaigns and their expected duration, and exit")
	yesFlag(c, &f.yes)
	c.Flags().BoolVar(&f.asJSON, "json", false, "print JSON")
	outFlag(c, &f.out, "run file to write; with several campaigns, the name of each is appended (default NAME-DATE-TIME)")
	c.RunE = inSandbox(o, func(cmd *cobra.Command, args []string) error { return runPaper(cmd, o, f, args[0]) })
	return c
}

func runPaper(cmd *cobra.Command, o *options, f paperRunFlags, name string) error {
	a, err := openPaper(name)
	if err != nil {
		return err
	}
	if f.budget <= 0 {
		return fault.Campaignf("--budget %v: must be positive", f.budget)
	}
	if f.repeat.Partner, f.repeat.Uplink, err = paperPartner(f.far, f.wire); err != nil {
		return err
	}
	m, err := paperMachine(cmd, o, f.repeat)
	if err != nil {
		return err
	}
	rep, err := paper.Repeat(a, m, f.repeat)
	if err != nil {
		return err
	}
	if f.dryRun {
		return planPaper(cmd, o, rep, f.budget)
	}
	runs := paper.NewResults(rep)
	failed := measurePaper(cmd, o, f, rep, runs)
	if failed != nil && len(runs.Paths) == 0 {
		return failed
	}
	w := cmd.OutOrStdout()
	if f.asJSON {
		err = view.PrintJSON(w, runs.JSON())
	} else {
		err = printResults(cmd, runs)
	}
	if err != nil {
		return err
	}
	return failed
}

// measurePaper makes one run after the other and reads each into runs. If one
// cannot be completed, the next is made nevertheless. The error is that of the
// first such run, or errFailedTrials.
func measurePaper(cmd *cobra.Command, o *options, f paperRunFlags, rep *paper.Repetition, runs *paper.Results) error {
	base := strings.TrimSuffix(f.out, ".tare")
	base = cmp.Or(base, rep.Article.Document.Name+time.Now().Format("-20060102-150405"))
	end := time.Now().Add(f.budget)
	var failed error
	for i, s := range rep.Stages {
		path := base + ".tare"
		if len(rep.Stages) > 1 {
			path = base + "-" + s.Name + ".tare"
		}
		budget := max(time.Second, share(rep.Stages[i:], time.Until(end)))
		fmt.Fprintf(cmd.ErrOrStderr(), "%s, campaign %d of %d: %s\n", rep.Article.Document.Name, i+1, len(rep.Stages), s.Name)
		err := quietly(cmd, func() error {
			return runRequest(cmd, o, runFlags{out: path, budget: budget, yes: f.yes || i > 0, generated: true},
				experiment.Request{Text: rep.Campaign(s, budget), File: rep.CampaignName(s)})
		})
		if e := addPaperRun(cmd.Context(), runs, path); err == nil {
			err = e
		}
		if err != nil && !errors.Is(err, errFailedTrials) {
			runs.Ended(s, err)
			fmt.Fprintf(cmd.ErrOrStderr(), "tare: %v\n", err)
		}
		failed = cmp.Or(failed, err)
		if errors.Is(err, errIncomplete) || errors.Is(err, errDeclined) { // the user wants no more
			break
		}
	}
	return failed
}

// share is the part of the remaining time that the first of the stages gets.
func share(left []paper.Stage, in time.Duration) time.Duration {
	weights := 0.0
	for _, s := range left {
		weights += s.Weight
	}
	return time.Duration(float64(in) * left[0].Weight / weights)
}

// quietly discards what work prints to the standard output: the article's tables
// are shown instead.
func quietly(cmd *cobra.Command, work func() error) error {
	w := cmd.OutOrStdout()
	cmd.SetOut(io.Discard)
	defer cmd.SetOut(w)
	return work()
}

// planPaper prints what a repetition would do, and how long it would take.
func planPaper(cmd *cobra.Command, o *options, rep *paper.Repetition, budget time.Duration) error {
	w := cmd.OutOrStdout()
	if err := view.Terminal(w, terminalOptions(), rep.View()); err != nil {
		return err
	}
	left := budget
	for i, s := range rep.Stages {
		part := share(rep.Stages[i:], left)
		left -= part
		text := rep.Campaign(s, part)
		fmt.Fprintf(w, "\nCampaign %d of %d:\n", i+1, len(rep.Stages))
		for line := range strings.Lines(string(text)) {
			fmt.Fprint(w, "  "+line)
		}
		if err := runRequest(cmd, o, runFlags{budget: part, dryRun: true, generated: true},
			experiment.Request{Text: text, File: rep.CampaignName(s)}); err != nil {
			return err
		}
	}
	fmt.Fprintf(w, "\nAll campaigns together: no block begins that would end after %v; time that one campaign leaves "+
		"unused goes to the next.\n", budget)
	return nil
}

// paperMachine describes what this host offers for repeating an article.
func paperMachine(cmd *cobra.Command, o *options, r paper.RepeatOptions) (paper.Machine, error) {
	t, err := openTestbed(o)
	if err != nil {
		return paper.Machine{}, err
	}
	defer t.Close()
	m := machineOf(t.Environment(nil))
	// Checked now, while the testbed exists.
	ask := append(paper.RepeatSystems(), r.Systems...)
	status := t.Check(cmd.Context(), ask)
	why := map[string]string{}
	for _, name := range ask {
		d, st := t.Drivers[name], status[name]
		switch {
		case d == nil:
			why[name] = "this version of tare has no such system"
		case !st.Usable:
			why[name] = strings.ReplaceAll(st.Reason, "\n", " ")
		case d.Capabilities().Target != "" && r.Targets[name] == "":
			why[name] = "it needs a machine of yours: --target " + name + "=…"
		}
	}
	m.Usable = func(name string) string { return why[name] }
	return m, nil
}

// machineOf describes the machine of an environment, except for which systems are
// usable.
func machineOf(env *host.Environment) paper.Machine {
	return paper.Machine{CPUs: env.CPU.Threads, Memory: int64(experiment.HostOf(env).Memory), Supports: supports}
}

// supports reports whether guests of that system can have a network, or a backing of their disk.
func supports(system, what string) bool {
	d := all.ByName()[system]
	if d == nil {
		return false
	}
	c := d.Capabilities()
	return slices.Contains(slices.Concat(c.Networks, c.DiskBackings), what)
}

// paperPartner is the other machine of network tests.
func paperPartner(far campaign.End, wire string) (campaign.End, campaign.Uplink, error) {
	if far.On == "" && far.Address == "" && wire == "" {
		return campaign.End{}, campaign.Uplink{}, nil
	}
	name, address, _ := strings.Cut(wire, "=")
	at, err := netip.ParsePrefix(address)
	if !far.Elsewhere() || far.Address == "" || err != nil {
		return far, campaign.Uplink{}, fault.WithRemedy(
			fault.Campaignf("another machine needs --partner, --partner-address and --uplink"),
			"--partner ssh://root@192.0.2.7 --partner-address 10.9.0.2 --uplink eth1=10.9.0.100/24")
	}
	return far, campaign.Uplink{Interface: name, Address: at}, nil
}
