package compare

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/tare-bench/tare/internal/dataset"
	"github.com/tare-bench/tare/internal/model"
	"github.com/tare-bench/tare/internal/store"
	"github.com/tare-bench/tare/internal/workload/builtin"
)

// truth has the true values of a fake run: workloads with trials of a quarter of a
// second natively, on native, its control, lxc and runc.
type truth struct {
	name      string
	workloads []string
	blocks    int
	lives     int                // blocks that a guest lives; 0: all
	cv        float64            // of single trials
	guest     float64            // sd of guests, each workload for itself
	shared    float64            // sd of guests, the same for all workloads
	boot      float64            // sd of what a boot does to an arm on a workload
	machine   float64            // native's time as a multiple of the usual
	size      map[string]int64   // by workload; times are in proportion
	cost      map[string]float64 // by arm, or "workload arm"; 1 where absent
	higher    bool               // the metric is a rate
	emulated  bool               // lxc is
	alone     bool               // there is no control
	several   bool               // and four at once
	boots     []string
	rounds    bool
}

// usual is a run that resolves a few per cent.
func usual(name string) truth {
	return truth{name: name, workloads: []string{"sysbench-cpu"}, blocks: 40, lives: 5, cv: 0.005, machine: 1,
		boots: []string{name}}
}

func (u truth) input(random *rand.Rand) dataset.Set {
	in := dataset.Set{Baseline: "native", Delta: 0.02, Boots: u.rounds,
		Controls: map[string]string{"native-control": "native"}, Arms: []dataset.Arm{
			{Name: "native", System: "native"}, {Name: "native-control", System: "native"},
			{Name: "lxc", System: "lxc", Emulated: u.emulated}, {Name: "runc", System: "runc"}}}
	if u.alone {
		in.Controls = nil
	}
	if u.several {
		for _, a := range in.Arms[:4] {
			in.Arms = append(in.Arms, dataset.Arm{Name: a.Name + "@four", System: a.System, Scenario: "four",
				Baseline: "native@four"})
		}
		in.Controls["native-control@four"] = "native@four"
	}
	for i := range in.Arms {
		in.Arms[i].Size = model.Flavor{Name: "small", VCPUs: 1, MemoryBytes: 512 << 20, DiskBytes: 1 << 30, DiskFS: "ext4"}
	}
	lives := u.lives
	if lives == 0 {
		lives = u.blocks
	}
	shared := map[[2]int]float64{}
	var all []dataset.Observation
	for w, name := range u.workloads {
		m := dataset.Metric{Workload: name, Name: "time", Unit: "s", Better: "lower", Primary: true}
		if u.higher {
			m = dataset.Metric{Workload: name, Name: "rate", Unit: "1/s", Better: "higher", Primary: true}
		}
		in.Metrics = append(in.Metrics, m)
		size := 1.0
		if u.size[name] > 0 {
			size = float64(u.size[name]) / 100
		}
		for i, a := range in.Arms {
			boot := 0.0
			if a.System != "native" {
				boot = u.boot * random.NormFloat64()
			}
			guest := 0.0
			for b := range u.blocks {
				at := [2]int{i, b / lives}
				if b%lives == 0 {
					if w == 0 {
						shared[at] = u.shared * random.NormFloat64()
					}
					guest = shared[at] + u.guest*random.NormFloat64()
				}
				cost := 1.0
				for _, of := range []string{a.Name, name + " " + a.Name} {
					if c, ok := u.cost[of]; ok {
						cost *= c
					}
				}
				v := 0.25 * size * u.machine * cost * math.Exp(boot+guest+u.cv*random.NormFloat64())
				if u.higher {
					v = 1 / v
				}
				all = append(all, dataset.Observation{Metric: int32(w), Arm: int32(i), Block: int32(b),
					Guest: int32(100*(b/lives) + i), Value: v})
			}
		}
	}
	in.Observations = func(yield func(dataset.Observation, error) bool) {
		for _, o := range all {
			if !yield(o, nil) {
				return
			}
		}
	}
	in.ProbeObservations = func(func(dataset.Observation, error) bool) {}
	return in
}

func (u truth) run(t testing.TB, random *rand.Rand) *Run {
	t.Helper()
	r, err := fromInput(u.name, u.input(random))
	if err != nil {
		t.Fatal(err)
	}
	r.boots = u.boots
	for _, name := range u.workloads {
		size := int64(100)
		if u.size[name] > 0 {
			size = u.size[name]
		}
		r.sizes[name] = store.Size{Workload: name, Size: size, Unit: "events (of some kind)"}
		if w, err := builtin.Get(name); err == nil {
			r.workloads[name] = w
		}
	}
	r.facts = [][2]string{{"kernel", "6.1"}, {"tare", "1"}}
	return r
}

// side makes so many runs from the same truth, each in its own boot.
func (u truth) side(t testing.TB, random *rand.Rand, runs int) Side {
	t.Helper()
	s := Side{Name: u.name + "/"}
	for i := range runs {
		one := u
		one.boots = []string{u.name + string(rune('a'+i))}
		s.Runs = append(s.Runs, one.run(t, random))
	}
	return s
}

func compared(t testing.TB, sides ...Side) *Comparison {
	t.Helper()
	c, err := Sides(sides, false)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// of finds the change of an arm on a workload.
func (a Against) of(t testing.TB, workload, arm string) Change {
	t.Helper()
	for _, list := range [][]Change{a.Changes, a.Baselines} {
		for _, ch := range list {
			if ch.Workload == workload && ch.Arm == arm {
				return ch
			}
		}
	}
	t.Fatalf("nothing of %s on %s", arm, workload)
	return Change{}
}
