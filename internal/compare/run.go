package compare

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tare-bench/tare/internal/analyze"
	"github.com/tare-bench/tare/internal/campaign"
	"github.com/tare-bench/tare/internal/dataset"
	"github.com/tare-bench/tare/internal/host"
	"github.com/tare-bench/tare/internal/model"
	"github.com/tare-bench/tare/internal/store"
	"github.com/tare-bench/tare/internal/workload"
	"github.com/tare-bench/tare/internal/workload/builtin"
)

// Run is what a comparison needs from a run. The file is not needed afterwards.
type Run struct {
	Name   string // of its file
	Result *analyze.Result

	arms        map[string]dataset.Arm
	plain       []string // names of the arms that are not controls, in their order
	comparisons map[analyze.CostOf]analyze.Comparison
	workloads   map[string]*workload.Workload // by series; without those that this version of tare does not know
	sizes       map[string]store.Size         // by series
	boots       []string                      // ids of the host's boots during the run
	rounds      bool                          // the host was rebooted for each new guest
	facts       Facts
	packages    map[string]string // of the userland, and their versions
}

// Read reads and analyzes a run.
func Read(r *store.Run) (*Run, error) {
	in, err := dataset.Read(r)
	if err != nil {
		return nil, err
	}
	run, err := fromInput(filepath.Base(r.Path()), in)
	if err != nil {
		return nil, err
	}
	c, err := dataset.CampaignOf(r)
	if err != nil {
		return nil, err
	}
	for _, cw := range c.Workloads {
		if w, err := workloadOf(cw); err == nil {
			run.workloads[cw.Series()] = w
		}
	}
	sizes, err := r.Sizes()
	if err != nil {
		return nil, err
	}
	for _, s := range sizes {
		run.sizes[s.Workload] = s
	}
	return run, run.readFacts(r, c)
}

// workloadOf is the workload of a campaign's entry. It fails for one that this
// version of tare does not know, or that the campaign defines itself.
func workloadOf(cw campaign.Workload) (*workload.Workload, error) {
	w, err := builtin.Get(cw.Name)
	if err != nil {
		return nil, err
	}
	return w.With(cw.Series(), cw.Settings())
}

// fromInput analyzes the values of a run.
func fromInput(name string, in dataset.Set) (*Run, error) {
	run := &Run{Name: name, rounds: in.Boots, arms: map[string]dataset.Arm{},
		comparisons: map[analyze.CostOf]analyze.Comparison{}, workloads: map[string]*workload.Workload{},
		sizes: map[string]store.Size{}}
	var err error
	if run.Result, err = analyze.Analyze(in); err != nil {
		return nil, err
	}
	for _, a := range in.Arms {
		run.arms[a.Name] = a
		if _, control := in.Controls[a.Name]; !control {
			run.plain = append(run.plain, a.Name)
		}
	}
	for _, c := range run.Result.Comparisons {
		run.comparisons[c.Of()] = c
	}
	return run, nil
}

// readFacts reads what may explain a change.
func (r *Run) readFacts(s *store.Run, c *campaign.Campaign) error {
	var env host.Environment
	var userland struct {
		Key      string
		Packages map[string]string
	}
	var systems []struct {
		Name     string
		Versions map[string]string
	}
	for name, into := range map[string]any{store.DocEnvironment: &env, store.DocUserland: &userland,
		store.DocSystems: &systems} {
		if err := s.DecodeIfAny(name, into); err != nil {
			return err
		}
	}
	sessions, err := s.Sessions()
	if err != nil {
		return err
	}
	var versions []string
	for _, x := range sessions {
		versions, r.boots = append(versions, x.Version), append(r.boots, x.BootID)
	}
	slices.Sort(versions)
	slices.Sort(r.boots)
	r.boots = slices.Compact(r.boots)
	r.packages = userland.Packages
	var governors []string
	for _, p := range env.CPU.Policies {
		governors = append(governors, p.Governor)
	}
	cpus, memory := "", ""
	if env.CPU.Threads > 0 {
		cpus = fmt.Sprint(env.CPU.Threads)
	}
	if env.Memory.Total != nil {
		memory = campaign.Bytes(*env.Memory.Total).String()
	}
	r.facts = Facts{
		{"campaign", c.Name}, {"machine", env.HostID}, {"CPU", env.CPU.Model}, {"CPUs", cpus},
		{"memory", memory},
		{"kernel", env.Kernel.Release}, {"kernel's command line", env.Kernel.Cmdline}, {"microcode", env.CPU.Microcode},
		{"mitigations", pairs(env.CPU.Mitigations, ": ")}, {"governor", strings.Join(governors, " ")},
		{"clock source", env.Clock.Source},
		{"operating system", env.OS.Pretty}, {"userland image", userland.Key},
		{"tare", strings.Join(slices.Compact(versions), ", ")},
		{"baseline", r.Result.Baseline},
	}
	for _, sys := range systems {
		if slices.ContainsFunc(c.Active(), func(a campaign.Arm) bool { return a.System == sys.Name }) {
			r.facts = append(r.facts, [2]string{"versions of " + sys.Name, pairs(sys.Versions, " ")})
		}
	}
	return nil
}

// pairs writes a map in the order of its keys.
func pairs(m map[string]string, between string) string {
	var list []string
	for _, k := range slices.Sorted(maps.Keys(m)) {
		list = append(list, k+between+m[k])
	}
	return strings.Join(list, "; ")
}

// FlavorText words the size of a guest; "" if it is not known.
func FlavorText(f model.Flavor) string {
	if f.VCPUs == 0 {
		return ""
	}
	words := []string{fmt.Sprintf("%d vCPUs", f.VCPUs)}
	if f.VCPUs == 1 {
		words[0] = "1 vCPU"
	}
	if f.CPUCap > 0 {
		words = append(words, fmt.Sprintf("capped at %.4g CPUs", f.CPUCap))
	}
	if len(f.CPUs) > 0 {
		words = append(words, "on CPUs "+f.CPUs.String())
	}
	words = append(words, campaign.Bytes(f.MemoryBytes).String()+" of memory",
		campaign.Bytes(f.DiskBytes).String()+" of "+f.DiskFS+" on "+cmp.Or(f.Backing, model.BackingLoop))
	return strings.Join(append(words, campaign.Extras(f)...), ", ")
}

// Facts are what is known of a run's machine and software and may explain a difference: names and
// values. A value is "" if it is not known.
type Facts [][2]string

// Get returns the value of a fact; "" if there is none.
func (f Facts) Get(name string) string {
	i := slices.IndexFunc(f, func(fact [2]string) bool { return fact[0] == name })
	if i < 0 {
		return ""
	}
	return f[i][1]
}

// Facts returns what may explain a difference.
func (r *Run) Facts() Facts { return r.facts }

// Comparison returns a cost of the run; its zero value if there is none.
func (r *Run) Comparison(of analyze.CostOf) analyze.Comparison { return r.comparisons[of] }

// Boots returns the ids of the host's boots during the run.
func (r *Run) Boots() []string { return r.boots }

// Arm returns an arm of the run; its zero value if there is none.
func (r *Run) Arm(name string) dataset.Arm { return r.arms[name] }

// Size is the trial size of a workload; its zero value if it has none yet.
func (r *Run) Size(series string) store.Size { return r.sizes[series] }

// Unlike says why the costs by a metric of two runs cannot be put beside each other, as Sides does;
// "" if they can.
func Unlike(a, b *Run, c analyze.Comparison) string {
	x, y := Side{Runs: []*Run{a}}.figures(c.Of()), Side{Runs: []*Run{b}}.figures(c.Of())
	if len(x) == 0 || len(y) == 0 {
		return "it has no values"
	}
	if was, is := x[0].against(), y[0].against(); was != is {
		return fmt.Sprintf("the baseline is another system: %s, not %s", is, was)
	}
	p := &pairing{before: Side{Runs: []*Run{a}}, after: Side{Runs: []*Run{b}}}
	_, why := p.perUnit(c.Workload, c.Metric)
	return why
}

// Doubt says why nothing may be claimed of a comparison of a run; "" if something may.
func (r *Run) Doubt(c analyze.Comparison) string {
	return doubt([]figure{{Comparison: c, run: r}})
}
