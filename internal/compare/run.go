package compare

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tare-bench/tare/internal/analyze"
	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/host"
	"github.com/tare-bench/tare/internal/report"
	"github.com/tare-bench/tare/internal/store"
)

// Run is what a comparison needs of a run. The file is not needed afterwards.
type Run struct {
	Name   string // of its file
	Result *analyze.Result

	arms     []string
	of       map[string]analyze.Arm // by name, each with its baseline
	controls map[string]bool
	metrics  []analyze.Metric
	blocks   map[seriesKey]map[int32]*block
	sizes    map[string]int64
	facts    [][2]string
}

type seriesKey struct{ workload, metric, arm string }

// block is the mean logarithm of the values of one block, and the guest that gave them.
type block struct {
	sum   float64
	n     int
	guest int32
}

// Read reads and analyzes a run.
func Read(r *store.Run) (*Run, error) {
	in, err := analyze.FromRun(r)
	if err != nil {
		return nil, err
	}
	run, err := fromInput(filepath.Base(r.Path()), in)
	if err != nil {
		return nil, err
	}
	sizes, err := r.Sizes()
	if err != nil {
		return nil, err
	}
	for _, s := range sizes {
		run.sizes[s.Workload] = s.Size
	}
	return run, run.readFacts(r)
}

// fromInput analyzes the values of a run, and gathers them by block.
func fromInput(name string, in analyze.Input) (*Run, error) {
	run := &Run{Name: name, metrics: in.Metrics, controls: map[string]bool{}, of: map[string]analyze.Arm{},
		blocks: map[seriesKey]map[int32]*block{}, sizes: map[string]int64{}}
	var err error
	if run.Result, err = analyze.Analyze(in); err != nil {
		return nil, err
	}
	for _, a := range in.Arms {
		run.arms = append(run.arms, a.Name)
		if a.Baseline == "" {
			a.Baseline = in.Baseline
		}
		run.of[a.Name] = a
	}
	for control := range in.Controls {
		run.controls[control] = true
	}
	for o, err := range in.Observations {
		if err != nil {
			return nil, err
		}
		run.observe(in.Metrics[o.Metric], in.Arms[o.Arm].Name, o)
	}
	return run, nil
}

func (r *Run) observe(m analyze.Metric, arm string, o analyze.Observation) {
	if !(o.Value > 0) {
		return // no ratio exists; analyze has a finding on it
	}
	k := seriesKey{m.Workload, m.Name, arm}
	if r.blocks[k] == nil {
		r.blocks[k] = map[int32]*block{}
	}
	b := r.blocks[k][o.Block]
	if b == nil {
		b = &block{guest: o.Epoch}
		r.blocks[k][o.Block] = b
	}
	b.sum += math.Log(o.Value)
	b.n++
}

// native returns the independent logarithms of a baseline's values.
func (r *Run) native(m analyze.Metric, baseline string) []float64 {
	s := r.blocks[seriesKey{m.Workload, m.Name, baseline}]
	return independent(s, func(_ int32, b *block) (float64, [2]int32, bool) {
		return b.sum / float64(b.n), [2]int32{b.guest}, true
	})
}

// overhead returns the independent ln ratios of an arm to its baseline, which is
// in the same company, paired by block; above 0 costs more.
func (r *Run) overhead(m analyze.Metric, arm string) []float64 {
	base := r.blocks[seriesKey{m.Workload, m.Name, r.of[arm].Baseline}]
	return independent(r.blocks[seriesKey{m.Workload, m.Name, arm}], func(at int32, b *block) (float64, [2]int32, bool) {
		of := base[at]
		if of == nil {
			return 0, [2]int32{}, false
		}
		d := b.sum/float64(b.n) - of.sum/float64(of.n)
		if m.Better == "higher" {
			d = -d
		}
		return d, [2]int32{of.guest, b.guest}, true
	})
}

// minIncarnations is from how many on incarnations of guests, not blocks, are
// the independent units; see package analyze.
const minIncarnations = 3

// independent returns the values of blocks or, where there are enough
// incarnations, the means over them.
func independent(s map[int32]*block, value func(at int32, b *block) (float64, [2]int32, bool)) []float64 {
	var values []float64
	var order [][2]int32
	groups := map[[2]int32][]float64{}
	for _, at := range slices.Sorted(maps.Keys(s)) {
		v, guests, ok := value(at, s[at])
		if !ok {
			continue
		}
		values = append(values, v)
		if groups[guests] == nil {
			order = append(order, guests)
		}
		groups[guests] = append(groups[guests], v)
	}
	if len(order) < minIncarnations || len(order) == len(values) {
		return values
	}
	means := make([]float64, len(order))
	for i, g := range order {
		for _, v := range groups[g] {
			means[i] += v / float64(len(groups[g]))
		}
	}
	return means
}

// floor is the noise floor of a figure, in the company of its arm, in percent; 0: unknown.
func (r *Run) floor(ch *Change) float64 {
	for _, f := range r.Result.TrialSpread {
		if f.Workload == ch.Workload && f.Metric == ch.Metric && f.Scenario == r.of[ch.Arm].Scenario {
			return max(f.Percent, 1e-9)
		}
	}
	return 0
}

// doubt says why a figure of this run cannot be used; "": it can.
func (r *Run) doubt(ch *Change) string {
	if r.of[ch.Arm].Emulated {
		return "emulated: its times say nothing about real hardware"
	}
	for _, c := range r.Result.Comparisons {
		if c.Workload != ch.Workload || c.Metric != ch.Metric || ch.Kind == Overhead && c.Arm != ch.Arm {
			continue
		}
		for _, f := range report.Doubts(r.Result, c) {
			if ch.Kind == Overhead || f.Arm == "" || f.Arm == ch.Arm {
				return r.Name + ": a serious finding, " + f.ID
			}
		}
	}
	return ""
}

// readFacts reads what may explain a change.
func (r *Run) readFacts(s *store.Run) error {
	var env host.Environment
	var userland struct{ Key string }
	for name, into := range map[string]any{store.DocEnvironment: &env, store.DocUserland: &userland} {
		body, err := s.Document(name)
		if err != nil && fault.KindOf(err) == fault.Campaign {
			continue // it is not in the run
		}
		if err != nil {
			return err
		}
		if err := json.Unmarshal(body, into); err != nil {
			return fault.Campaignf("%s: %s: %w", s.Path(), name, err)
		}
	}
	sessions, err := s.Sessions()
	if err != nil {
		return err
	}
	var versions, boots []string
	for _, x := range sessions {
		if !slices.Contains(versions, x.Version) {
			versions = append(versions, x.Version)
		}
		if !slices.Contains(boots, x.BootID) {
			boots = append(boots, x.BootID)
		}
	}
	governors := ""
	for _, p := range env.CPU.Policies {
		governors += p.Governor + " "
	}
	var mitigations []string
	for k, v := range env.CPU.Mitigations {
		mitigations = append(mitigations, k+": "+v)
	}
	slices.Sort(mitigations)
	r.facts = [][2]string{
		{"machine", env.HostID}, {"boot", strings.Join(boots, ", ")}, {"CPU", env.CPU.Model}, {"CPUs", fmt.Sprint(env.CPU.Threads)}, {"microcode", env.CPU.Microcode},
		{"governor", strings.TrimSpace(governors)}, {"kernel", env.Kernel.Release}, {"kernel's command line", env.Kernel.Cmdline},
		{"mitigations", strings.Join(mitigations, "; ")}, {"clock source", env.Clock.Source}, {"system", env.OS.Pretty},
		{"userland image", userland.Key}, {"tare", strings.Join(versions, ", ")}, {"baseline", r.Result.Baseline},
	}
	return nil
}

// differences lists what two runs do not have in common.
func differences(before, after *Run) []Difference {
	var out []Difference
	add := func(what, b, a string) {
		if a != b {
			out = append(out, Difference{after.Name, what, b, a})
		}
	}
	for i, f := range before.facts {
		add(f[0], f[1], after.facts[i][1])
	}
	for _, m := range before.metrics {
		if m.Primary {
			if b, a := before.sizes[m.Workload], after.sizes[m.Workload]; b != 0 && a != 0 {
				add("work of a trial of "+m.Workload, fmt.Sprint(b), fmt.Sprint(a))
			}
		}
	}
	plain := func(r *Run) string {
		return strings.Join(slices.DeleteFunc(slices.Clone(r.arms), func(a string) bool { return r.controls[a] }), ", ")
	}
	add("arms", plain(before), plain(after))
	return out
}
