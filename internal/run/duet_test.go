package run

import (
	"encoding/json"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tare-bench/tare/internal/analyze"
	"github.com/tare-bench/tare/internal/model"
	"github.com/tare-bench/tare/internal/plan"
	"github.com/tare-bench/tare/internal/store"
	"github.com/tare-bench/tare/internal/system/fake"
)

// duettists is a bench with a recorded pass that has three duets. Which arms take part in further ones would depend on
// how busy this host is.
func duettists(t *testing.T) *bench {
	b := newBench(t, yaml)
	b.config.Plan.DuetShare = 0
	arms := []string{"native", "other", "native-control"}
	pass := plan.Pass{Groups: []plan.Group{{Workload: "count", Arms: arms}}}
	for i := range 3 {
		pass.Groups = append(pass.Groups, plan.Group{Workload: "count", Block: i, Arms: arms, Duet: true})
	}
	body, err := json.Marshal(pass)
	if err == nil {
		err = b.config.Store.AddPass(0, body)
	}
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// duets returns the trials of duets by block, and how many other trials there are by status.
func (b *bench) duets() (made map[int]map[string]*store.Trial, others map[store.Status]int) {
	b.t.Helper()
	made, others = map[int]map[string]*store.Trial{}, map[store.Status]int{}
	for trial, err := range b.config.Store.Trials() {
		if err != nil {
			b.t.Fatal(err)
		}
		if trial.Status != store.Duet {
			others[trial.Status]++
			continue
		}
		if made[trial.Block] == nil {
			made[trial.Block] = map[string]*store.Trial{}
		}
		if made[trial.Block][trial.Arm] != nil {
			b.t.Errorf("duet %d of %s was made twice", trial.Block, trial.Arm)
		}
		made[trial.Block][trial.Arm] = trial
	}
	return made, others
}

// TestDuet: all arms run the work at once, in blocks of their own, and no duration is a result.
func TestDuet(t *testing.T) {
	b := duettists(t)
	// The other arm takes longest: the baseline and its control keep it company meanwhile.
	var company atomic.Int32
	b.other.Behave = func(argv []string) fake.Behaviour {
		does := good(argv)
		does.Took *= 30
		does.CPU = time.Second
		return does
	}
	b.native.Behave = func(argv []string) fake.Behaviour {
		if argv[0] == "count" {
			company.Add(1)
		}
		return good(argv)
	}
	s, err := b.run(t.Context())
	if err != nil || !s.Complete || s.Failed != 0 {
		t.Fatalf("%+v, %v", s, err)
	}
	made, _ := b.duets()
	if len(made) != 3 {
		t.Errorf("%d duets, want 3", len(made))
	}
	for block, arms := range made {
		if len(arms) != 3 {
			t.Errorf("duet %d has %d arms", block, len(arms))
		}
		for arm, trial := range arms {
			if len(trial.Metrics) > 0 || trial.Probes[model.ProbeGuestGroupCPU] <= 0 || len(trial.Steps) != 2 {
				t.Errorf("%+v", trial)
			}
			if _, agreed := trial.Probes[model.ProbeBarrierSkew]; !agreed {
				t.Errorf("%s did not wait for the instant", arm)
			}
			if cpu := trial.Probes[model.ProbeGuestGroupCPU]; arm == "other" && cpu != 1 {
				t.Errorf("%s took %v s of CPU, company included", arm, cpu)
			}
		}
	}
	for _, c := range b.analyzed(t).Comparisons {
		if c.Metric == analyze.CPUTimeAtOnce && (c.N != 3 || c.Arm == "other" && c.Ratio < 10) {
			t.Errorf("%+v", c)
		}
	}
	counted := b.statuses("native")[store.Done] + b.statuses("native-control")[store.Done]
	if int(company.Load()) <= counted+2*len(made) {
		t.Errorf("nobody kept company: %d commands in %d trials and %d duets", company.Load(), counted, len(made))
	}
}

// TestDuetOfOneThatFails: an arm whose work is wrong leaves the others their results.
func TestDuetOfOneThatFails(t *testing.T) {
	b := duettists(t)
	b.other.Behave = func(argv []string) fake.Behaviour {
		does := good(argv)
		if argv[0] == "count" {
			does.Stdout = "wrong\n"
		}
		return does
	}
	if _, err := b.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	made, others := b.duets()
	if len(made) != 3 || others[store.Failed] != 4 {
		t.Errorf("%d duets, other trials %v", len(made), others)
	}
	for _, arms := range made {
		if arms["native"] == nil || arms["native-control"] == nil || arms["other"] != nil {
			t.Errorf("a duet of %v", arms)
		}
	}
}

// TestDuetInterrupted: every duet is made exactly once, however often the run is interrupted.
func TestDuetInterrupted(t *testing.T) {
	b := duettists(t)
	b.interrupted(300, 700)
	made, _ := b.duets()
	if len(made) != 3 {
		t.Errorf("%d duets, want 3", len(made))
	}
	for block, arms := range made {
		if len(arms) != 3 {
			t.Errorf("duet %d: %d arms", block, len(arms))
		}
	}
}
