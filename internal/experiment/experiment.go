// Package experiment takes a campaign from its text to a complete run: it
// prepares this host, checks the campaign against it, plans, creates or resumes
// the run file, and measures. It asks nobody, and prints only what it cannot clean up.
//
//	t, err := experiment.Open(stateDir, step)        // the host, made ready
//	e, err := t.Prepare(ctx, experiment.Request{…})  // the campaign, checked and planned
//	err = e.Create(path)                             // the run file
//	summary, err := e.Measure(ctx, version, progress)
//
// An interrupted run continues with t.Resume in place of Prepare and Create.
package experiment

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/tare-bench/tare/internal/analyze"
	"github.com/tare-bench/tare/internal/campaign"
	"github.com/tare-bench/tare/internal/dataset"
	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/host"
	"github.com/tare-bench/tare/internal/model"
	"github.com/tare-bench/tare/internal/network"
	"github.com/tare-bench/tare/internal/plan"
	"github.com/tare-bench/tare/internal/prompt"
	"github.com/tare-bench/tare/internal/run"
	"github.com/tare-bench/tare/internal/store"
	"github.com/tare-bench/tare/internal/system"
	"github.com/tare-bench/tare/internal/workload"
)

// Experiment is a campaign on this host, and the run that it becomes.
type Experiment struct {
	Campaign *campaign.Campaign
	Plan     *plan.Plan
	Run      *store.Run // nil until it is created

	bed       *Testbed
	env       *host.Environment
	yaml      []byte // the campaign as it was written
	like      *Likeness
	status    map[string]system.Status // by system
	workloads map[string]*workload.Workload
	changed   []string // since the run began, if it is resumed
	lock      io.Closer
}

// Request says what to measure.
type Request struct {
	Text []byte // the campaign
	File string // what errors call it
	// Like is a run to take campaign, sizes and image from, in place of Text and
	// File; nil: none.
	Like *Likeness
	// Change is called with the campaign once it is read, to change or to refuse
	// it; nil: neither.
	Change func(*campaign.Campaign) error
	// PlanOnly leaves out what only measuring needs: no image is built.
	PlanOnly bool
}

// Prepare reads a campaign, builds the image that it needs, checks it against this
// host, and plans it. The caller closes the experiment.
func (t *Testbed) Prepare(ctx context.Context, r Request) (*Experiment, error) {
	text, yaml, file := r.Text, r.Text, r.File
	if r.Like != nil {
		text, yaml, file = r.Like.resolved, r.Like.yaml, "campaign of "+r.Like.path
	}
	// The campaign says which image and systems it needs, and can be checked only
	// against them. Errors in the file are reported then.
	draft, err := campaign.Parse(file, text,
		campaign.Known{Workloads: knownWorkloads(), Systems: t.Known(nil, campaign.Host{}).Systems})
	if err == nil && !r.PlanOnly {
		if err := t.needImageFor(ctx, draft, r.Like); err != nil {
			return nil, err
		}
	}
	env := t.Environment(draft)
	status := t.checkFor(ctx, draft, BootOf(env))
	known := t.Known(status, HostOf(env))
	known.Host.Lacks = t.Lacks(draft)
	c, err := campaign.Parse(file, text, known)
	if err != nil {
		return nil, err
	}
	if r.Change != nil {
		if err := r.Change(c); err != nil {
			return nil, err
		}
	}
	if err := t.checkArms(c); err != nil {
		return nil, err
	}
	if u := uplinkOf(c); u.Given() && !r.PlanOnly {
		if err := u.Check(); err != nil {
			return nil, err
		}
	}
	if c.Image.OCI != "" && t.Image != nil && t.Image.Manifest.Recipe.Container != nil {
		c.Image.ID = t.Image.Manifest.Recipe.Container.ID // what the name stands for may change
	}
	return &Experiment{Campaign: c, Plan: t.plan(c, c.Planned(), env), bed: t, env: env, yaml: yaml, like: r.Like,
		status: status}, nil
}

// uplinkOf is the campaign's uplink as the run's network has it.
func uplinkOf(c *campaign.Campaign) network.Uplink {
	return network.Uplink{Interface: c.Uplink.Interface, Address: c.Uplink.Address}
}

// Create writes the run file with everything that describes the run. Only one
// tare at a time measures on a host; this one does until the experiment is closed.
func (e *Experiment) Create(ctx context.Context, path string) error {
	var err error
	if e.workloads, err = e.bed.workloads(e.Campaign); err != nil {
		return err
	}
	if e.like != nil {
		if err := e.like.check(e.workloads); err != nil {
			return err
		}
	}
	if err := e.takeHost(ctx, "campaign "+e.Campaign.Name+" into", path); err != nil {
		return err
	}
	for _, a := range e.Campaign.Active() {
		if _, asked := e.status[a.System]; !asked {
			e.status[a.System] = system.Unusable("it is checked when the host is booted as "+a.Boot, "")
		}
	}
	docs := map[string][]byte{store.DocCampaignYAML: e.yaml, store.DocCampaign: e.Campaign.Resolved()}
	described := map[string]any{store.DocArms: e.Plan.Arms, store.DocEnvironment: e.env,
		store.DocSystems: e.bed.Entries(e.status), store.DocUserland: e.bed.Image.Manifest}
	if len(e.Campaign.Boots) > 0 {
		described[store.EnvironmentOf(BootOf(e.env))] = e.env
	}
	for name, v := range described {
		b, err := json.Marshal(v)
		if err != nil {
			return err
		}
		docs[name] = b
	}
	mark, err := seal(e.bed.Host.StateDir, func(name string) ([]byte, error) { return docs[name], nil })
	if err != nil {
		return err
	}
	docs[store.DocSeal] = mark
	arms, err := Arms(e.Plan, e.bed.Drivers, e.env.Virt.Emulated)
	if err != nil {
		return err
	}
	if e.Run, err = store.Create(path, docs, arms, Metrics(e.Plan, e.workloads)); err != nil {
		return err
	}
	if e.like != nil {
		return e.like.reuse(e.Run, e.Campaign)
	}
	return nil
}

// Resumption says which run to continue.
type Resumption struct {
	Path string
	// Booted is the boot in which the host is meant to be; "": any.
	Booted string
	// Trust continues also a run that this tare did not make.
	Trust   bool
	Version string // of this tare
	// Check may refuse the campaign.
	Check func(*campaign.Campaign) error
}

// Resume opens a run file and prepares its campaign as it was. The caller closes the
// experiment.
func (t *Testbed) Resume(ctx context.Context, r Resumption) (_ *Experiment, err error) {
	path, booted := r.Path, r.Booted
	e := &Experiment{bed: t}
	defer func() {
		if err != nil {
			e.Close()
		}
	}()
	if e.Run, err = store.Continue(ctx, path); err != nil {
		return nil, err
	}
	if e.Campaign, err = dataset.CampaignOf(e.Run); err != nil {
		return nil, err
	}
	c := e.Campaign
	if !r.Trust {
		if err := checkSeal(t.Host.StateDir, e.Run, "tare resume --trust "+path); err != nil {
			return nil, err
		}
	}
	if err := r.Check(c); err != nil {
		return nil, err
	}
	source, err := SourceOf(ctx, t.Host.StateDir, c)
	if err != nil {
		return nil, err
	}
	defer source.Close()
	key, err := imageKey(e.Run)
	if err != nil {
		return nil, err
	}
	if err := t.needImageOf(ctx, path, key, source); err != nil {
		return nil, err
	}
	if err := e.takeHost(ctx, "resuming", path); err != nil {
		return nil, err
	}
	e.env = t.Environment(c)
	boot := BootOf(e.env)
	if booted != "" && booted != boot {
		return nil, fault.WithRemedy(fault.Hostf("this host should have booted as %s, but booted as %s", booted, boot),
			"check the campaign's entry of GRUB's menu; boot it by hand, then tare resume %s", path)
	}
	for what, why := range t.Lacks(c) {
		return nil, fault.Hostf("cannot resume the run: %s: %s", what, why)
	}
	arms, err := dataset.ArmsOf(e.Run, c)
	if err != nil {
		return nil, err
	}
	e.Plan = t.plan(c, arms, e.env)
	if !e.Run.Duets() {
		e.Plan.DuetShare = 0
	}
	e.status = t.checkFor(ctx, c, boot)
	if err := e.sameGround(r.Version); err != nil {
		return nil, err
	}
	for _, a := range e.Plan.InBoot(boot) {
		st, known := e.status[a.System]
		if !known {
			return nil, fault.Campaignf("%s: arm %s uses system %q, which this version of tare does not know", path, a.Name,
				a.System)
		}
		if !st.Usable {
			return nil, fault.WithRemedy(fault.Hostf("cannot resume arm %s: %s is no longer usable: %s", a.Name, a.System,
				st.Reason), "%s", st.Remedy)
		}
	}
	e.workloads, err = t.workloads(c)
	return e, err
}

// Measure makes the trials that the run lacks. version is tare's own, which the
// run file records. The error is a *run.OtherBoot if the run goes on in another
// boot of the host, and context.Canceled if it was interrupted; what was
// measured is safe in any case.
func (e *Experiment) Measure(ctx context.Context, version string, progress func(run.Event)) (run.Summary, error) {
	if n := e.Campaign.Polite.CPUs; n > 0 {
		cpus := HostOf(e.env).CPUs
		if err := prompt.Yield(cpus[max(0, len(cpus)-n):]); err != nil {
			return run.Summary{}, err
		}
		e.bed.Host.Polite = true
	}
	for _, cw := range e.Campaign.Workloads {
		w, _, err := workloadOf(cw)
		if err != nil {
			return run.Summary{}, err
		}
		e.bed.Host.AnySwap = e.bed.Host.AnySwap || w.Fill != nil && w.Fill.Swap
	}
	if u := uplinkOf(e.Campaign); u.Given() {
		if err := e.bed.Host.Network.SetUplink(u); err != nil {
			return run.Summary{}, err
		}
	}
	return run.Run(ctx, run.Config{
		Campaign: e.Campaign, Plan: e.Plan, Store: e.Run, Host: e.bed.Host, Drivers: e.bed.Drivers, Workloads: e.workloads,
		BootID: e.env.BootID, Boot: BootOf(e.env), Version: version, Changed: e.changed, Progress: progress,
		Widths: func() (map[string]plan.Width, error) { return widths(e.Run) },
	})
}

// Estimate guesses how long the campaign takes on this host.
func (e *Experiment) Estimate() plan.Estimate {
	c := costs
	c.CPUs = e.env.CPU.Threads
	return e.Plan.Estimate(c)
}

// Close closes the run file and lets other tare processes measure.
func (e *Experiment) Close() {
	if e.Run != nil {
		e.Run.Close()
	}
	if e.lock != nil {
		e.lock.Close()
	}
}

// takeHost keeps other tare processes from measuring meanwhile; they are told what
// this one does with which run file.
func (e *Experiment) takeHost(ctx context.Context, doing, path string) error {
	path, err := filepath.Abs(path)
	if err != nil {
		return fault.Hostf("%w", err)
	}
	lock, err := e.bed.lock(ctx, doing+" "+path)
	if err == nil {
		e.lock = lock
	}
	return err
}

// Text returns the campaign of that name, which tare includes, or in that file.
func Text(name string) (text []byte, file string, err error) {
	if slices.Contains(campaign.BuiltinNames(), name) {
		text, err = campaign.Builtin(name)
		return text, name, err
	}
	text, err = os.ReadFile(name)
	if err != nil {
		return nil, name, fault.WithRemedy(fault.Campaignf("%w", err), "give a campaign file, or a built-in campaign: %s",
			strings.Join(campaign.BuiltinNames(), ", "))
	}
	return text, name, nil
}

// NextBoot returns the boot of the host that the run at path needs next, one
// without a name if it needs none, and how many trials are done.
func NextBoot(ctx context.Context, path string) (next campaign.Boot, done int, err error) {
	s, err := store.Open(ctx, path)
	if err != nil {
		return next, 0, err
	}
	defer s.Close()
	c, err := dataset.CampaignOf(s)
	if err != nil || len(c.Boots) == 0 {
		return next, 0, err
	}
	finished, err := s.Finished()
	if err != nil {
		return next, 0, err
	}
	arms, err := dataset.ArmsOf(s, c)
	if err != nil {
		return next, 0, err
	}
	_, next, _ = plan.New(c, arms).NextInBoots(func(id model.TrialID) bool { return finished[id] })
	return next, len(finished), nil
}

// costs are guesses for the expected duration; a run corrects them as it measures.
var costs = plan.Costs{
	Slowdown:  map[string]float64{"qemu-tcg": 15},
	Overhead:  50 * time.Millisecond,
	Create:    map[string]time.Duration{"qemu-tcg": 8 * time.Second, "kvm": 3 * time.Second},
	Calibrate: 2 * time.Second,
}

// plan plans a campaign with these arms on this host.
func (t *Testbed) plan(c *campaign.Campaign, arms []campaign.PlannedArm, env *host.Environment) *plan.Plan {
	for i := range arms {
		arms[i].Flavor.Among = c.Polite.CPUs
		for j := range arms[i].Guests {
			arms[i].Guests[j].Flavor.Among = c.Polite.CPUs
		}
	}
	p := plan.New(c, arms)
	p.Emulated, p.Elsewhere, p.Computes = map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, cw := range c.Workloads {
		w, _, err := workloadOf(cw) // its errors are reported where it is needed
		p.Computes[cw.Series()] = err == nil && w.Computes()
	}
	for name, d := range t.Drivers {
		p.Elsewhere[name] = d.Capabilities().Remote
		if d.Capabilities().Emulated && !env.Virt.Emulated { // else the baseline is emulated, too
			p.Emulated[name] = true
		}
	}
	return p
}

// widths returns how wide the intervals of a run are so far, by workload.
func widths(s *store.Run) (map[string]plan.Width, error) {
	in, err := dataset.Read(s)
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
