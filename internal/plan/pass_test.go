package plan

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tare-bench/tare/internal/model"
)

// world is how long things take in a simulated run.
type world struct {
	trial func(workload, arm string) time.Duration
	start func(of string) time.Duration
	width func(workload string, blocks int) Width
}

// walkThrough makes all passes of a plan and calls look with the state before each.
func (w world) walkThrough(t *testing.T, p *Plan, look func(State, Pass)) (State, Reason) {
	t.Helper()
	s := NewState()
	for _, a := range p.Arms {
		s.Start[a.Of] = w.start(a.Of)
		s.Spent += s.Start[a.Of]
	}
	for range 100_000 {
		for _, series := range p.Workloads {
			if w.width != nil {
				s.Width[series] = w.width(series, s.Blocks[series])
			}
		}
		pass, reason := p.NextPass(s)
		if len(pass.Groups) == 0 {
			return s, reason
		}
		if again, _ := p.NextPass(s); fmt.Sprint(again) != fmt.Sprint(pass) {
			t.Fatalf("the same state gives two passes: %v and %v", pass, again)
		}
		look(s, pass)
		for _, of := range pass.Recreate {
			s.Spent += s.Start[of]
		}
		for _, g := range pass.Groups {
			for _, a := range g.Arms {
				d := w.trial(g.Workload, a)
				s.Trial[Cell{g.Workload, a}] = d
				s.Spent += d
				if p.Emulated[p.arm(a).System] {
					s.Emulated += d
				}
			}
		}
		s.Begin(pass)
		if p.Rule.Budget > 0 && s.Spent > p.Rule.Budget {
			return s, ReasonBudget
		}
	}
	t.Fatal("the plan has no end")
	return s, ""
}

func alike(string, string) time.Duration { return 100 * time.Millisecond }
func quickStart(string) time.Duration    { return 50 * time.Millisecond }
func nothing(State, Pass)                {}
func wide(string, int) Width             { return Width{Half: 0.1} }
func reachedAt(n int) func(string, int) Width {
	return func(_ string, blocks int) Width { return Width{Half: 0.1, Reached: blocks >= n} }
}

// TestFixedBlocks: with a fixed number of blocks, every arm makes that number of
// every workload.
func TestFixedBlocks(t *testing.T) {
	p := example(t, 1, "native, lxc, qemu-tcg", "a, b", "blocks: 7")
	p.Emulated = map[string]bool{"qemu-tcg": true}
	slow := world{trial: func(_, arm string) time.Duration {
		if arm == "qemu-tcg" {
			return 10 * time.Second
		}
		return 100 * time.Millisecond
	}, start: quickStart}
	seen := map[model.TrialID]int{}
	s, reason := slow.walkThrough(t, p, func(_ State, pass Pass) {
		for _, g := range pass.Groups {
			for _, id := range g.Trials() {
				seen[id]++
			}
			if !slices.Contains(g.Arms, g.Warmup) || g.Warmup == "qemu-tcg" || g.Repeat == "qemu-tcg" {
				t.Errorf("warm-up by %q, repeat by %q", g.Warmup, g.Repeat)
			}
		}
	})
	if reason != ReasonBlocks || s.Pass != 7 || len(seen) != 7*2*4 {
		t.Errorf("%d trials in %d passes, %s", len(seen), s.Pass, reason)
	}
	for id, n := range seen {
		if n != 1 {
			t.Errorf("%v is made %d times", id, n)
		}
	}
}

// TestOwnPrecision: each workload continues until it reaches the precision itself.
func TestOwnPrecision(t *testing.T) {
	p := example(t, 1, "native, lxc", "a, b, c", "blocks: {min: 10, max: 60}\nprecision: 2%")
	w := world{trial: alike, start: quickStart, width: func(workload string, blocks int) Width {
		return Width{Half: 0.1, Reached: blocks >= map[string]int{"a": 5, "b": 30, "c": 1000}[workload]}
	}}
	s, reason := w.walkThrough(t, p, nothing)
	if s.Blocks["a"] != 10 || s.Blocks["b"] != 30 || s.Blocks["c"] != 60 || reason != ReasonMax {
		t.Errorf("%v, %s", s.Blocks, reason)
	}
	w.width = reachedAt(20)
	if s, reason = w.walkThrough(t, p, nothing); s.Blocks["c"] != 20 || reason != ReasonPrecision {
		t.Errorf("%v, %s", s.Blocks, reason)
	}
}

// TestBudgetGoesWhereItResolves: with a budget, workloads get about the same
// time, those with narrow intervals less, and each gets at least Min blocks.
func TestBudgetGoesWhereItResolves(t *testing.T) {
	p := example(t, 1, "native, lxc", "narrow, wide, dear", "blocks: {min: 3, max: 10000}\nbudget: 100s")
	w := world{start: quickStart, trial: func(workload, _ string) time.Duration {
		if workload == "dear" {
			return 300 * time.Millisecond
		}
		return 100 * time.Millisecond
	}, width: func(workload string, blocks int) Width {
		sd := 0.05
		if workload == "wide" {
			sd = 0.2
		}
		return Width{Half: 2 * sd / math.Sqrt(float64(max(blocks, 1)))}
	}}
	s, reason := w.walkThrough(t, p, nothing)
	if reason != ReasonBudget || 4*s.Blocks["wide"] < 5*s.Blocks["narrow"] || s.Blocks["wide"] > 2*s.Blocks["narrow"] ||
		s.Blocks["dear"] < 20 || s.Blocks["dear"] > s.Blocks["narrow"] {
		t.Errorf("%v, %s", s.Blocks, reason)
	}
	if s.Pass < 2*aimedGuests || s.Pass > 3*aimedGuests {
		t.Errorf("%d passes", s.Pass)
	}
	w.trial = func(workload, _ string) time.Duration {
		if workload == "dear" {
			return 9 * time.Second
		}
		return 100 * time.Millisecond
	}
	if s, _ := w.walkThrough(t, p, nothing); s.Blocks["dear"] < p.Rule.Min {
		t.Errorf("fewer blocks than asked for, with time for them: %v", s.Blocks)
	}
}

// TestEmulatedShare: an emulated arm uses its share of the time, and no more
// than that; if the share is too short for a trial, it makes one.
func TestEmulatedShare(t *testing.T) {
	trial := func(_, arm string) time.Duration {
		if arm == "qemu-tcg" {
			return 2 * time.Second
		}
		return 100 * time.Millisecond
	}
	for _, c := range []struct {
		more string
		most float64
	}{{"", 0.1}, {"emulated_share: 30%", 0.3}} {
		p := example(t, 1, "native, lxc, qemu-tcg", "a, b, c", "blocks: {min: 3, max: 10000}\nbudget: 200s\n"+c.more)
		p.Emulated = map[string]bool{"qemu-tcg": true}
		s, _ := world{trial: trial, start: quickStart, width: wide}.walkThrough(t, p, nothing)
		if share := s.Emulated.Seconds() / 200; share > c.most+0.001 || share < c.most-0.02 {
			t.Errorf("%q: an emulated arm has %.3f of the time", c.more, share)
		}
		p.Rule.Budget = 5 * time.Second
		s, _ = world{trial: trial, start: quickStart, width: wide}.walkThrough(t, p, nothing)
		if s.Emulated != 2*time.Second {
			t.Errorf("an emulated arm has %v of 5 s", s.Emulated)
		}
	}
}

// TestEmulatedArmRunsEverything: if its share of the time allows, an emulated arm
// runs each workload once before it repeats one or runs beside neighbours.
func TestEmulatedArmRunsEverything(t *testing.T) {
	p := example(t, 1, "native, lxc, qemu-tcg", "a, b, c, d",
		"blocks: {min: 3, max: 10000}\nbudget: 200s\nscenarios: [solo, {name: noisy, neighbours: [cpu], every: 4}]")
	p.Emulated = map[string]bool{"qemu-tcg": true}
	w := world{start: quickStart, width: wide, trial: func(workload, arm string) time.Duration {
		native := map[string]time.Duration{"a": 100, "b": 100, "c": 100, "d": 500}[workload] * time.Millisecond
		if strings.HasPrefix(arm, "qemu-tcg") {
			return 13 * native
		}
		return native
	}}
	ran := map[string]int{}
	s, _ := w.walkThrough(t, p, func(_ State, pass Pass) {
		for _, g := range pass.Groups {
			if slices.Contains(g.Arms, "qemu-tcg") {
				ran[g.Workload]++
			}
			if slices.Contains(g.Arms, "qemu-tcg@noisy") && len(ran) < 4 {
				t.Errorf("beside neighbours before %v", ran)
			}
		}
	})
	if len(ran) != 4 || s.Emulated > 21*time.Second {
		t.Errorf("emulated: %v, in %v", ran, s.Emulated)
	}
}

// TestSlowArm: an arm that takes 16 times as long takes part in every fourth block.
func TestSlowArm(t *testing.T) {
	p := example(t, 1, "native, uml", "a", "blocks: {min: 10, max: 41}\nprecision: 1%")
	w := world{start: quickStart, width: wide, trial: func(_, arm string) time.Duration {
		if arm == "uml" {
			return 1600 * time.Millisecond
		}
		return 100 * time.Millisecond
	}}
	n := 0
	w.walkThrough(t, p, func(_ State, pass Pass) {
		for _, g := range pass.Groups {
			if slices.Contains(g.Arms, "uml") {
				n++
			}
		}
	})
	if n != 11 {
		t.Errorf("the slow arm is in %d of 41 blocks, want 11", n)
	}
}

// TestEvery: a scenario takes part only in its own blocks and workloads.
func TestEvery(t *testing.T) {
	p := example(t, 1, "native, lxc", "a, b", "blocks: 12\nscenarios: [solo, {name: noisy, neighbours: [cpu], "+
		"workloads: [b], every: 4}]")
	got := map[string]int{}
	world{trial: alike, start: quickStart}.walkThrough(t, p, func(_ State, pass Pass) {
		for _, g := range pass.Groups {
			for _, a := range g.Arms {
				if strings.Contains(a, "@") {
					got[g.Workload+" "+a]++
				}
			}
		}
	})
	if want := map[string]int{"b native@noisy": 3, "b lxc@noisy": 3,
		"b native-control@noisy": 3}; fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestEnoughGuests: if guests start fast, there are enough of them for an
// interval over guests. Guests that start slowly serve longer, and are
// re-created only when the baseline's are.
func TestEnoughGuests(t *testing.T) {
	p := example(t, 1, "native, lxc, kvm", "a, b", "blocks: {min: 3, max: 10000}\nbudget: 100s")
	w := world{trial: alike, width: wide, start: func(of string) time.Duration {
		if of == "kvm" {
			return 8 * time.Second
		}
		return 50 * time.Millisecond
	}}
	made := map[string]int{"native": 1, "lxc": 1, "kvm": 1}
	w.walkThrough(t, p, func(s State, pass Pass) {
		for _, of := range pass.Recreate {
			made[of]++
		}
		if slices.Contains(pass.Recreate, "kvm") && !slices.Contains(pass.Recreate, "native") {
			t.Errorf("pass %d makes kvm's guests anew and not the baseline's", pass.Number)
		}
		if slices.Contains(pass.Recreate, "native") != slices.Contains(pass.Recreate, "native-control") {
			t.Errorf("pass %d makes %v anew", pass.Number, pass.Recreate)
		}
	})
	if made["native"] < aimedGuests || made["native"] != made["lxc"] || made["kvm"] < 2 ||
		made["kvm"] > made["native"]/2 {
		t.Errorf("guests made: %v", made)
	}
	p.RecreateEvery = 0
	w.walkThrough(t, p, func(_ State, pass Pass) {
		if len(pass.Recreate) > 0 {
			t.Errorf("guests that live as long as the run are made anew: %v", pass)
		}
	})
	p.RecreateEvery = 3
	w.walkThrough(t, p, func(_ State, pass Pass) {
		if got := len(pass.Recreate) > 0; got != (pass.Number > 0 && pass.Number%3 == 0) {
			t.Errorf("pass %d makes %v anew", pass.Number, pass.Recreate)
		}
	})
}

// TestRemaining: trials that are done are not repeated, and the order stays.
func TestRemaining(t *testing.T) {
	g := Group{Workload: "a", Block: 3, Arms: []string{"x", "y", "z"}}
	left := g.Remaining(func(id model.TrialID) bool { return id == model.TrialID{Block: 3, Workload: "a", Arm: "y"} })
	if fmt.Sprint(left.Arms) != "[x z]" || fmt.Sprint(g.Arms) != "[x y z]" {
		t.Errorf("left %v of %v", left.Arms, g.Arms)
	}
}
