package analyze

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/tare-bench/tare/internal/dataset"
	"github.com/tare-bench/tare/internal/store"
)

// TestSweptCurves: the values of a parameter, the sizes of a workload and the numbers of guests at once are curves, of
// comparisons that the run makes anyway.
func TestSweptCurves(t *testing.T) {
	in := dataset.Set{Baseline: "native", Controls: map[string]string{"native-control": "native"},
		Sizes: []store.Size{{Workload: "dd[block=4,size=100]", Unit: "MiB"}}}
	crowd := func(n int) []dataset.Member {
		members := make([]dataset.Member, n)
		for i := range members {
			members[i].Flavor = "f"
		}
		return members
	}
	in.Arms = []dataset.Arm{{Name: "native", Of: "native", System: "native", Flavor: "f"},
		{Name: "native-control", Of: "native-control", System: "native", Flavor: "f"},
		{Name: "lxc", Of: "lxc", System: "lxc", Flavor: "f"}}
	for _, n := range []int{2, 4} {
		scenario := fmt.Sprint("n", n)
		for _, of := range []string{"native", "lxc"} {
			in.Arms = append(in.Arms, dataset.Arm{Name: of + "@" + scenario, Of: of, System: of, Flavor: "f", Scenario: scenario,
				Baseline: "native@" + scenario, Alone: of, Members: crowd(n)})
		}
	}
	// The rate of oltp rises with its threads, and lxc costs 2 % for each of them.
	value := map[string]func(lxc bool) float64{}
	for _, threads := range []float64{1, 2, 4, 8} {
		value[fmt.Sprintf("oltp[threads=%g,mode=ro]", threads)] = func(lxc bool) float64 {
			if lxc {
				return 100 * threads / (1 + 0.02*threads)
			}
			return 100 * threads
		}
	}
	for _, size := range []float64{100, 300} {
		value[fmt.Sprintf("dd[block=4,size=%g]", size)] = func(bool) float64 { return 50 }
	}
	value["cpu"] = func(bool) float64 { return 10 }
	r := rand.New(rand.NewPCG(4, 4))
	var obs []dataset.Observation
	for _, name := range []string{"oltp[threads=1,mode=ro]", "oltp[threads=2,mode=ro]", "oltp[threads=4,mode=ro]",
		"oltp[threads=8,mode=ro]", "dd[block=4,size=100]", "dd[block=4,size=300]", "cpu"} {
		metric := int32(len(in.Metrics))
		in.Metrics = append(in.Metrics, dataset.Metric{Workload: name, Name: "rate", Unit: "1/s", Better: "higher",
			Primary: true})
		for block := range 16 {
			for arm, a := range in.Arms {
				for member := range max(1, len(a.Members)) {
					if len(a.Members) == 0 || name == "cpu" {
						obs = append(obs, dataset.Observation{Metric: metric, Arm: int32(arm), Block: int32(block),
							Guest: int32(block/2*10 + member), Member: int32(member),
							Value: value[name](a.Of == "lxc") / float64(max(1, len(a.Members))) * math.Exp(0.003*r.NormFloat64())})
					}
				}
			}
		}
	}
	in.Observations = stream(obs)
	res, err := Analyze(in)
	if err != nil {
		t.Fatal(err)
	}
	of := map[string]Curve{}
	for _, c := range res.Curves {
		of[c.Workload+" by "+c.Parameter+": "+c.Arm] = c
		if c.Within || c.Name != "rate" || !c.Primary {
			t.Errorf("%+v", c)
		}
	}
	if len(of) != 6 || len(res.Curves) != 6 {
		t.Fatalf("%d curves: %+v", len(res.Curves), res.Curves)
	}
	oltp := of["oltp[mode=ro] by threads: lxc"]
	if len(oltp.Points) != 4 || oltp.Baseline != "native" || oltp.Agreement == nil || oltp.Agreement.From != 0 ||
		oltp.Agreement.After != 8 {
		t.Errorf("%+v, %+v", oltp, oltp.Agreement)
	}
	for i, p := range oltp.Points {
		threads := math.Exp2(float64(i))
		c := res.find("rate", "lxc")
		for j, other := range res.Comparisons {
			if other.Workload == fmt.Sprintf("oltp[threads=%g,mode=ro]", threads) && other.Arm == "lxc" {
				c = &res.Comparisons[j]
			}
		}
		if p.At != threads || math.Abs(p.Value/(100*threads/(1+0.02*threads))-1) > 0.01 || p.Cost == nil ||
			p.Cost.Ratio != c.Ratio || p.Cost.Verdict != c.Verdict || p.Cost.PHolm != c.PHolm {
			t.Errorf("at %v: %+v, %+v, but the comparison says %+v", threads, p, p.Cost, c)
		}
	}
	dd := of["dd[block=4] by size: native"]
	if len(dd.Points) != 2 || dd.In != "MiB" || dd.Points[1].At != 300 || dd.Baseline != "" || dd.Agreement != nil {
		t.Errorf("%+v", dd)
	}
	guests := of["cpu by guests: lxc"]
	if len(guests.Points) != 3 || guests.Points[2].At != 4 || math.Abs(guests.Points[2].Value-2.5) > 0.05 ||
		guests.Baseline != "native" || guests.Points[2].Cost == nil {
		t.Errorf("%+v", guests)
	}
}
