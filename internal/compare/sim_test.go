package compare

import (
	"math/rand/v2"
	"slices"
	"testing"
)

var seven = []string{"openssl-enc", "dd-write", "untar-kernel", "stress-ng-exec", "fio-randread", "fio-randwrite",
	"sysbench-cpu"}

// many is a campaign's worth of figures: 7 workloads and 2 arms.
func many() truth {
	return truth{workloads: seven, blocks: 40, lives: 5, cv: 0.03, machine: 1,
		cost: map[string]float64{"lxc": 1.01, "runc": 1.04}}
}

// outcome is the outcome of simulated comparisons, as shares of them.
type outcome struct {
	falsely float64 // with a claim of what did not change
	found   float64 // in which what changed was claimed, and rightly
	covered float64 // of all intervals: the truth is in it
}

// simulate compares n pairs of sides, on a different machine each time; on the
// second side lxc costs that much more on one workload.
func simulate(t *testing.T, seed uint64, n, runs int, of truth, more float64) (o outcome) {
	t.Helper()
	random := rand.New(rand.NewPCG(seed, 1))
	const changed, arm = "openssl-enc", "lxc"
	for range n {
		var sides []Side
		for _, name := range []string{"a", "b"} {
			u := of
			u.name, u.machine = name, 1+0.03*random.NormFloat64()
			if name == "b" {
				u.cost = map[string]float64{"lxc": 1.01, "runc": 1.04, changed + " " + arm: 1 + more}
			}
			sides = append(sides, u.side(t, random, runs))
		}
		changes := compared(t, sides...).Against[0].Changes
		if slices.ContainsFunc(changes, func(ch Change) bool {
			other := ch.Workload != changed || ch.Arm != arm
			return (ch.Verdict == Worse || ch.Verdict == Better) && (other || more == 0)
		}) {
			o.falsely += 1 / float64(n)
		}
		for _, ch := range changes {
			truth := 1.0
			if ch.Workload == changed && ch.Arm == arm {
				truth = 1 + more
				if ch.Verdict == Worse && more > 0 {
					o.found += 1 / float64(n)
				}
			}
			if ch.CILow <= truth && truth <= ch.CIHigh {
				o.covered += 1 / float64(n*len(changes))
			}
		}
	}
	return o
}

// TestSimulations has the rows of the table in the package comment, with fewer
// comparisons each: false claims are bounded from above, and power from below, so
// that a rule that claims nothing fails as well.
func TestSimulations(t *testing.T) {
	for _, c := range []struct {
		name                   string
		n, runs                int
		set                    func(*truth)
		more                   float64
		falsely, found, covers float64 // bounds: at most, at least, at least
	}{
		{"8 guests", 80, 1, func(*truth) {}, 0.05, 0.11, 0.8, 0.93},
		{"8 guests, sd 1 %", 80, 1, func(u *truth) { u.guest = 0.01 }, 0.05, 0.11, 0.6, 0.93},
		{"8 guests, sd 1 % for all workloads", 80, 1, func(u *truth) { u.shared = 0.01 }, 0.05, 0.11, 0.55, 0.93},
		{"1 guest", 60, 1, func(u *truth) { u.lives = 0 }, 0.05, 0.11, 0.8, 0.93},
		{"1 guest, sd 1 %", 60, 1, func(u *truth) { u.lives = 0; u.guest = 0.01 }, 0.05, 0.25, 0.05, 0.88},
		{"2 runs", 30, 2, func(u *truth) { u.guest = 0.01 }, 0.05, 0.15, 0.9, 0.93},
		{"3 boots, sd 0.3 %", 25, 3, func(u *truth) { u.boot = 0.003 }, 0.08, 0.15, 0.7, 0.93},
		{"5 boots, sd 0.3 %", 15, 5, func(u *truth) { u.boot = 0.003 }, 0.05, 0.2, 0.8, 0.9},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			u := many()
			c.set(&u)
			o := simulate(t, 1, c.n, c.runs, u, c.more)
			t.Logf("false claims %.2f, %v %% found %.2f, coverage %.3f", o.falsely, 100*c.more, o.found, o.covered)
			if o.falsely > c.falsely || o.found < c.found || o.covered < c.covers {
				t.Errorf("bounds are %.2f, %.2f, %.2f", c.falsely, c.found, c.covers)
			}
		})
	}
}
