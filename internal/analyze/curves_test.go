package analyze

import (
	"math"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/tare-bench/tare/internal/dataset"
	"github.com/tare-bench/tare/internal/model"
)

// withCurve adds a curve over 10 lengths of messages to a fake: kvm costs 60 % with the shortest, half as much with
// each next length, jail gains 30 % everywhere, lxc costs nothing.
func withCurve(f *fake, cv float64, blocks int) dataset.Set {
	in := f.input()
	r := rand.New(rand.NewPCG(7, 7))
	var obs []dataset.Observation
	for i := range 10 {
		at := math.Pow(2, float64(i))
		in.Points = append(in.Points, dataset.Metric{Workload: "cpu", Unit: "bit/s", Better: "higher",
			Name: model.Point{Curve: "rate", Parameter: "length", At: at, Unit: "B"}.String()})
		for block := range blocks {
			drift := math.Exp(0.02 * r.NormFloat64())
			for arm, cost := range []float64{1, 1, 1 + 0.6/at, 1, 0.7} {
				obs = append(obs, dataset.Observation{Metric: int32(i), Arm: int32(arm), Block: int32(block),
					Guest: int32(block / 3), Value: 1e6 * at / cost * drift * math.Exp(cv*r.NormFloat64())})
			}
		}
	}
	in.PointObservations = stream(obs)
	return in
}

func TestCurves(t *testing.T) {
	f := newFake(3, 0.01, 30)
	without, err := Analyze(f.input())
	if err != nil {
		t.Fatal(err)
	}
	res, err := Analyze(withCurve(f, 0.01, 30))
	if err != nil {
		t.Fatal(err)
	}
	of := map[string]Curve{}
	for _, c := range res.Curves {
		of[c.Arm] = c
		if c.Workload != "cpu" || c.Name != "rate" || c.Parameter != "length" || c.In != "B" || !c.Within ||
			len(c.Points) != 10 {
			t.Errorf("%+v", c)
		}
		for i, p := range c.Points {
			// The interval has 95 %, and there are 40 of them.
			if want := math.Pow(2, float64(i)); p.At != want || p.N != 30 || !(p.Low < p.Value && p.Value < p.High) ||
				p.High > 1.05*p.Low {
				t.Errorf("%s at %v: %+v", c.Arm, want, p)
			}
			if (p.Cost == nil) != (c.Baseline == "") {
				t.Errorf("%s at %v: cost %+v", c.Arm, p.At, p.Cost)
			}
		}
	}
	if len(of) != 4 || of["native"].Baseline != "" || of["native"].Agreement != nil {
		t.Fatalf("%d curves: %+v", len(of), of)
	}
	if v := of["native"].Points[3].Value; math.Abs(v/8e6-1) > 0.02 {
		t.Errorf("the baseline's rate at 8 B is %v", v)
	}
	// 60, 30, 15, 7.5, 3.8 %: from 16 B on, kvm is within 5 %.
	if a := of["kvm"].Agreement; a == nil || a.From != 16 || a.After != 8 || a.Latest < 16 || a.Latest > 32 {
		t.Errorf("kvm: %+v", a)
	}
	for i, percent := range []float64{60, 30, 15, 7.5} {
		cost := of["kvm"].Points[i].Cost
		if low, high := cost.Percents(); cost.Verdict != Costs || low > percent || high < percent || cost.Units != 10 {
			t.Errorf("kvm at %v costs %+v", of["kvm"].Points[i].At, cost)
		}
	}
	if a := of["lxc"].Agreement; a == nil || a.From != 1 || a.After != 0 || a.Latest != 1 {
		t.Errorf("lxc: %+v", a)
	}
	for _, p := range of["lxc"].Points {
		if p.Cost.Verdict == Costs || p.Cost.Verdict == Gains {
			t.Errorf("lxc at %v: %+v", p.At, p.Cost)
		}
	}
	if a := of["jail"].Agreement; a == nil || a.From != 0 || a.After != 512 || a.Latest != 0 {
		t.Errorf("jail: %+v", a)
	}
	// Hundreds of points neither weaken the claims of a run nor are findings.
	if !reflect.DeepEqual(res.Comparisons, without.Comparisons) || !reflect.DeepEqual(res.Findings, without.Findings) ||
		!reflect.DeepEqual(res.Arms, without.Arms) {
		t.Error("a curve changes what is said of other metrics")
	}
}

// TestCurveOfFewPoints: two points are no curve of which is said from where on it agrees, and one is none at all.
func TestCurveOfFewPoints(t *testing.T) {
	f := newFake(3, 0.01, 12)
	for points, want := range map[int]int{0: 0, 1: 0, 2: 4} {
		in := withCurve(f, 0.01, 12)
		all := in.PointObservations
		in.Points = in.Points[:points]
		in.PointObservations = func(yield func(dataset.Observation, error) bool) {
			for o, err := range all {
				if int(o.Metric) < points && !yield(o, err) {
					return
				}
			}
		}
		res, err := Analyze(in)
		if err != nil || len(res.Curves) != want {
			t.Fatalf("%d points: %d curves, %v", points, len(res.Curves), err)
		}
		for _, c := range res.Curves {
			if c.Agreement != nil {
				t.Errorf("%d points: %+v", points, c)
			}
		}
	}
}
