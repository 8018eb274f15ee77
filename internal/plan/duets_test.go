package plan

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tare-bench/tare/internal/model"
)

// duetsIn counts the duets of a run by workload, and returns the arms of the last one.
func duetsIn(t *testing.T, p *Plan, w world) (n map[string]int, arms []string) {
	t.Helper()
	n = map[string]int{}
	w.start = quickStart
	w.walkThrough(t, p, func(s State, pass Pass) {
		for i, g := range pass.Groups {
			if !g.Duet {
				continue
			}
			if g.Block != n[g.Workload] || g.Warmup != "" || g.Repeat != "" {
				t.Errorf("duet %+v after %d", g, n[g.Workload])
			}
			if i > 0 && slices.ContainsFunc(pass.Groups[i:], func(o Group) bool {
				return o.Workload == g.Workload && !o.Duet
			}) {
				t.Errorf("a duet of %s before other blocks of it", g.Workload)
			}
			n[g.Workload]++
			arms = slices.Sorted(slices.Values(g.Arms))
		}
	})
	return n, arms
}

// TestDuets: workloads that compute have duets from the second pass on, of the arms that are comparable.
func TestDuets(t *testing.T) {
	slow := func(_, arm string) time.Duration {
		if arm == "uml" {
			return time.Second
		}
		return 100 * time.Millisecond
	}
	for _, c := range []struct {
		name, arms, more string
		computes         bool
		want             int
		who              string
	}{
		{"of all arms", "native, lxc, runc", "", true, 6, "lxc native native-control runc"},
		{"asked not to", "native, lxc, runc", "duets: no", true, 0, ""},
		{"of work that waits", "native, lxc", "", false, 0, ""},
		{"half of the time", "native, lxc", "duets: 50%", true, 6, "lxc native native-control"},
		{"an arm far from the baseline", "native, lxc, uml", "", true, 6, "lxc native native-control"},
		{"nobody to compare", "native, uml", "", true, 0, ""},
		{"emulated, and elsewhere", "native, lxc, qemu-tcg, ssh", "", true, 6, "lxc native native-control"},
		{"another flavor", "native, {name: two, system: lxc, flavor: b}, lxc",
			"flavors: {a: {}, b: {vcpus: 2}}\nallow_unequal: true", true, 6, "lxc native native-control"},
		{"all capped alike", "native, lxc", "flavors: {a: {cpu_cap: 50%}}", true, 6, "lxc native native-control"},
		{"other scenarios", "native, lxc", "scenarios: [solo, {name: four, guests: 4}]", true, 6,
			"lxc native native-control"},
	} {
		p := example(t, 1, c.arms, "a", "blocks: 7\n"+c.more)
		p.Computes = map[string]bool{"a": c.computes}
		p.Emulated, p.Elsewhere = map[string]bool{"qemu-tcg": true}, map[string]bool{"ssh": true}
		n, who := duetsIn(t, p, world{trial: slow})
		if n["a"] != c.want || strings.Join(who, " ") != c.who {
			t.Errorf("%s: %d duets of %v, want %d of %s", c.name, n["a"], who, c.want, c.who)
		}
	}
}

// TestDuetShare: with a budget, duets take their share of the time, and a workload that waits leaves it to others.
func TestDuetShare(t *testing.T) {
	p := example(t, 1, "native, lxc", "a, b, waits", "blocks: {min: 3, max: 10000}\nbudget: 300s\nduets: 40%")
	p.Computes = map[string]bool{"a": true, "b": true}
	n, _ := duetsIn(t, p, world{trial: alike, width: wide})
	took := time.Duration(n["a"]+n["b"]) * 300 * time.Millisecond
	if share := took.Seconds() / 300; share < 0.3 || share > 0.5 || n["waits"] > 0 {
		t.Errorf("duets took %.0f %% of the time, want 40 %%: %v", 100*share, n)
	}
	if text := p.Text(p.Estimate(Costs{})); !strings.Contains(text, "40 % of the time") ||
		!strings.Contains(text, "baseline: a, b\n") {
		t.Errorf("the plan says\n%s", text)
	}
}

// TestDuetsOfAShortRun: guests that take time to create take it from the others, not from the duets, and each has few
// of them, so that there are enough guests for a claim.
func TestDuetsOfAShortRun(t *testing.T) {
	p := example(t, 1, "native, lxc", "a", "blocks: {min: 3, max: 10000}\nbudget: 30s\nduets: 60%")
	p.Computes = map[string]bool{"a": true}
	guests, duets := map[int]bool{}, 0
	w := world{trial: alike, start: func(string) time.Duration { return 300 * time.Millisecond }, width: wide}
	end, _ := w.walkThrough(t, p, func(s State, pass Pass) {
		for _, of := range pass.Recreate {
			s.Made[of] = pass.Number
		}
		for _, g := range pass.Groups {
			if g.Duet {
				duets++
				guests[s.Made["native"]] = true
			}
		}
	})
	took := time.Duration(duets) * 300 * time.Millisecond
	if share := took.Seconds() / end.Spent.Seconds(); share < 0.5 || share > 0.65 || len(guests) < 6 {
		t.Errorf("%d duets with %d guests took %.0f %% of the time, want 60 %% and 6 guests at least", duets, len(guests),
			100*share)
	}
}

// TestRemainingDuet: a duet is made once, whole; its blocks are not those of other groups.
func TestRemainingDuet(t *testing.T) {
	g := Group{Workload: "a", Block: 1, Arms: []string{"native", "lxc"}, Duet: true}
	done := func(id model.TrialID) bool {
		return id == model.TrialID{Workload: "a", Block: 1, Arm: "lxc", Duet: true}
	}
	if left := g.Remaining(done); len(left.Arms) != 0 {
		t.Errorf("left of a duet that was made: %v", left)
	}
	g.Duet = false
	if left := g.Remaining(done); len(left.Arms) != 2 {
		t.Errorf("left of a block with the number of a duet: %v", left)
	}
}
