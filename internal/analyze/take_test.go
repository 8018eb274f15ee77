package analyze

import (
	"math"
	"testing"

	"github.com/tare-bench/tare/internal/claim"
)

// TestTake: each comparison is in one list, and what bounds the lists is the
// farthest end in them; one that is too coarse has no interval.
func TestTake(t *testing.T) {
	ans := Answer{}
	add := func(workload string, v Verdict, far float64, coarse bool) {
		c := &comparison{Comparison: Comparison{Workload: workload, Verdict: v, FartherPercent: far,
			Estimate: claim.Between(1, 0.9, 1.1), Coarse: coarse, Scope: ScopeGuests}}
		c.est.Low, c.est.High = math.Log(0.9), math.Log(1.1)
		ans.take(c)
	}
	add("a", None, 1.2, false)
	add("b", None, -1.9, false)
	add("c", NotResolved, 7.6, false)
	add("d", NotResolved, 40, true)
	add("e", Costs, 90, false)
	add("f", Gains, -80, false)
	if len(ans.None) != 2 || len(ans.Open) != 2 || len(ans.Costs) != 1 || len(ans.Gains) != 1 ||
		ans.NoneAtMostPercent != 1.9 || ans.AtMostPercent != 7.6 {
		t.Errorf("%+v", ans)
	}
	if open := ans.Open[1]; open.Low != 0 || open.High != 0 || ans.Open[0].High == 0 {
		t.Errorf("a coarse one has an interval, or another none: %+v", ans.Open)
	}
}
