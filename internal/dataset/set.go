package dataset

import (
	"iter"
	"maps"
	"slices"

	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/histogram"
	"github.com/tare-bench/tare/internal/model"
	"github.com/tare-bench/tare/internal/store"
)

// Set is everything about a run that the analysis reads.
type Set struct {
	Baseline string            // name of the arm that the others are compared with
	Controls map[string]string // control arm -> the arm that it is the same thing as (A/A)
	Arms     []Arm
	Metrics  []Metric
	// Observations yields the metric values of all trials, in any order. An
	// error ends the analysis. Values must be finite.
	Observations iter.Seq2[Observation, error]

	// Points are the metrics that are points of curves, by the names of model.Point; no other part has them.
	// PointObservations is as Observations, but Metric indexes Points.
	Points            []Metric
	PointObservations iter.Seq2[Observation, error]

	Probes            []Probe
	ProbeObservations iter.Seq2[Observation, error] // as Observations, Metric indexes Probes
	// Duets yields the CPU times of trials that arms made at once, as ProbeObservations. Their blocks are counted apart.
	Duets iter.Seq2[Observation, error]

	// Latencies are the single latencies of trials, in any order.
	Latencies []Latencies

	Cold     []string // workloads that ask for a cold page cache at the start of a guest
	Guests   []Guest  // controls' left out
	Failures []Failure
	// NeighbourFailures are failures of neighbours; Member is the neighbour's number in the trial.
	NeighbourFailures []Failure
	Events            []Event
	Attacks           []model.Attack // of guests on their limits
	Sizes             []store.Size   // of the workloads
	Planned           int            // blocks that the plan holds; 0 when unknown

	// Precision is the requested half-width, relative (0.02 is ± 2 %), which decided the
	// number of blocks; 0: none.
	Precision float64

	// Boots: the host was rebooted for each generation of guests, so that boots, not
	// guests, are independent.
	Boots bool

	Delta       float64 // what is too small to matter, relative; 0 means DefaultDelta
	Alpha       float64 // of the whole report's claims; 0 means DefaultAlpha
	SpreadLimit float64 // P95/P5 above which a mean is not quoted alone; 0 means DefaultSpreadLimit
}

// The defaults that replace zero values of a Set.
const (
	DefaultDelta       = 0.02
	DefaultAlpha       = 0.05
	DefaultSpreadLimit = 4.0
)

// Arm is one system in one flavor under one scenario.
type Arm struct {
	Name     string
	Of       string // without its scenario
	System   string
	Flavor   string
	Scenario string
	// Baseline replaces Set.Baseline for this arm: the one of its scenario.
	Baseline string
	// Alone is the same arm with no other guests, for its isolation; "": there is none.
	Alone string
	// Members are the guests that run the workload at once, by their number in the
	// trial; nil: one. Neighbours are the resources that others stress meanwhile.
	Members    []Member
	Neighbours []string
	// FirstNeighbour is the number in the trial of the first of Neighbours; the others follow.
	FirstNeighbour int
	// SlowdownLimit is the largest slowdown of guests that fit; 0: no limit.
	SlowdownLimit float64
	MemoryLimit   float64      // B that the host must have left if guests fit; 0: no limit
	Emulated      bool         // timings of an emulated machine say nothing about real hardware
	CapRatio      float64      // CPU cap as a share of the vCPUs; 0: no cap
	Paired        bool         // it exchanges data with a partner over the network
	Size          model.Flavor // what its guests were given; zero: not known
	Parity        Parity
	Machine       Machine
}

// Uniform reports whether all guests that run the workload have the arm's flavor.
func (a Arm) Uniform() bool {
	return !slices.ContainsFunc(a.Members, func(m Member) bool { return m.Flavor != a.Flavor })
}

// Shared reports whether other guests run at the same time.
func (a Arm) Shared() bool { return len(a.Members) > 1 || len(a.Neighbours) > 0 }

// Solo reports whether the arm's guest has the host to itself.
func (a Arm) Solo() bool { return a.Scenario == "" || a.Scenario == model.Solo }

// Member is one of several guests that run the workload at once.
type Member struct {
	Flavor string
	Share  float64 // CPUs' worth of time that it may use: its cap, or its vCPUs
}

// Metric is one quantity of one workload.
type Metric struct {
	Workload string
	Name     string
	Unit     string
	Better   string // "lower" or "higher"
	Primary  bool   // decides how many blocks are needed
}

// Observation is one value of one trial. A parallel scenario may give several
// for one arm and block: they are averaged (geometrically) before pairing.
type Observation struct {
	Metric int32 // index into Set.Metrics, or Set.Probes
	Arm    int32 // index into Set.Arms
	Block  int32 // from 0
	Guest  int32 // which guest of the arm gave it
	Member int32 // index into the arm's Members; 0 if there are none
	// Position is the trial's place within its group (block and workload), from 0.
	Position int32
	// Repeat: the trial was repeated right after the arm's trial of the same block,
	// without freezing in between. It only shows what a thaw costs.
	Repeat bool
	Value  float64
}

// Latencies are the single latencies of one trial, of a metric that describes them with
// one number. The other fields are those of Observation.
type Latencies struct {
	Metric, Arm, Block, Guest, Member int32
	*histogram.Histogram
}

// Probe is a named series of what the host (or the agent) saw during the
// trials of one workload.
type Probe struct {
	Workload string
	Name     string // one of model's, or that of a probe of another version of tare
	Unit     string
}

// Guest is a guest that was created.
type Guest struct {
	Arm    string // without its scenario
	System string
	Flavor model.Flavor
	Start  float64            // s until its agent answered
	Values map[string]float64 // what was measured outside of trials: store.Memory…
}

// Failure is a trial without a result.
type Failure struct {
	Workload string
	Arm      string
	Block    int
	Member   int // index into the arm's Members
	Fault    fault.Kind
	Text     string
	Cause    string // kind of the event that explains it, or ""
}

// Event is something that happened to the host or a guest during a trial of Workload on
// Arm; both are "" if it happened between trials.
type Event struct {
	Kind, Text, Workload, Arm string
}

// Prepare checks the set, fills in its defaults, and indexes its arms by name.
func (in *Set) Prepare() (map[string]int, error) {
	arms := make(map[string]int, len(in.Arms))
	for i, a := range in.Arms {
		if _, twice := arms[a.Name]; twice || a.Name == "" {
			return nil, fault.Campaignf("arm %q: names must be unique and not empty", a.Name)
		}
		arms[a.Name] = i
	}
	if err := in.checkNames(arms); err != nil {
		return nil, err
	}
	for _, m := range slices.Concat(in.Metrics, in.Points) {
		if m.Better != "lower" && m.Better != "higher" {
			return nil, fault.Campaignf("metric %s of %s: better is %q, must be lower or higher", m.Name, m.Workload, m.Better)
		}
	}
	setDefault(&in.Delta, DefaultDelta)
	setDefault(&in.Alpha, DefaultAlpha)
	setDefault(&in.SpreadLimit, DefaultSpreadLimit)
	if !(in.Alpha < 1 && in.Delta > 0 && in.Alpha > 0 && in.SpreadLimit > 1 && in.Precision >= 0) {
		return nil, fault.Campaignf("alpha %v, delta %v, spread limit %v or precision %v is out of range",
			in.Alpha, in.Delta, in.SpreadLimit, in.Precision)
	}
	return arms, nil
}

// checkNames returns an error if the set names an arm that it does not have, or an impossible control.
func (in *Set) checkNames(arms map[string]int) error {
	known := func(name, role string) error {
		if _, ok := arms[name]; !ok {
			return fault.Campaignf("%s %q is not an arm of this run", role, name)
		}
		return nil
	}
	if err := known(in.Baseline, "baseline"); err != nil {
		return err
	}
	for _, control := range slices.Sorted(maps.Keys(in.Controls)) {
		if err := known(control, "control"); err != nil {
			return err
		}
		if err := known(in.Controls[control], "control's counterpart"); err != nil {
			return err
		}
		if control == in.Controls[control] || control == in.Baseline {
			return fault.Campaignf("control %q cannot be the baseline or its own counterpart", control)
		}
	}
	for _, a := range in.Arms {
		if a.Baseline != "" {
			if err := known(a.Baseline, "baseline of "+a.Name); err != nil {
				return err
			}
		}
		if a.Alone != "" {
			if err := known(a.Alone, "arm "+a.Name+" alone"); err != nil {
				return err
			}
		}
	}
	return nil
}

func setDefault(v *float64, def float64) {
	if *v == 0 {
		*v = def
	}
}

// BaselineOf returns which arm an arm is compared with, "" for a baseline, and whether
// the arm is its control.
func (in *Set) BaselineOf(a Arm) (name string, control bool) {
	if same, ok := in.Controls[a.Name]; ok {
		return same, true
	}
	name = in.Baseline
	if a.Baseline != "" {
		name = a.Baseline
	}
	if name == a.Name {
		name = ""
	}
	return name, false
}

// Machine is what an arm's guests say of the machine that they see. What is not known is zero.
type Machine struct {
	Clocksource string  // of the first guest's kernel
	ClockReadNS float64 // how long a reading of the clock takes, at best in all guests
	// CPUFlags are those of the first guest's CPU, as its kernel lists them.
	CPUFlags []string
	// Mitigations is what the first guest's kernel does, by vulnerability.
	Mitigations map[string]string
}

// Parity is how an arm's guests differ from those of the other arms. Its zero value means that they
// do not.
type Parity struct {
	OwnUserland bool   // the guests run their own programs, not those of the image
	Unfrozen    bool   // they are not frozen while others are measured
	Size        string // the size that they have, if it differs from the flavor; or ""
	// Confinement is what confines the first of them that runs the workload; nil: not known, or they
	// have a kernel of their own.
	Confinement *model.Confinement
}
