package analyze

import (
	"fmt"
	"math"
	"reflect"
	"testing"

	"github.com/tare-bench/tare/internal/dataset"
	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/model"
	"github.com/tare-bench/tare/internal/store"
)

// TestDensity: of slowdowns of 1.2, 1.6, 2 and 3.2 with two to sixteen guests,
// four fit within two times, sixteen do not, and of eight it is not said; a
// lost guest is too many.
func TestDensity(t *testing.T) {
	in := dataset.Set{
		Baseline: "native", Metrics: []dataset.Metric{{Workload: "cpu", Name: "time", Unit: "s", Better: "lower",
			Primary: true}},
		Arms: []dataset.Arm{{Name: "native", System: "native", Scenario: "solo"}},
	}
	values := map[string]float64{"native": 1}
	for n, slower := range map[int]float64{2: 1.2, 4: 1.6, 8: 2, 16: 3.2} {
		name := fmt.Sprintf("native@fit-%d", n)
		in.Arms = append(in.Arms, dataset.Arm{Name: name, System: "native", Scenario: fmt.Sprintf("fit-%d", n),
			Baseline: name, Alone: "native",
			Members: make([]dataset.Member, n), SlowdownLimit: 2})
		for i := range n {
			in.Arms[len(in.Arms)-1].Members[i] = dataset.Member{Share: 1}
		}
		values[name] = slower
	}
	in.Observations = func(yield func(dataset.Observation, error) bool) {
		for ai, arm := range in.Arms {
			for b := range 6 {
				for m := range max(len(arm.Members), 1) {
					noise := math.Exp(0.01 * math.Sin(float64(7*b+3*ai+b*b)))
					if !yield(dataset.Observation{Arm: int32(ai), Block: int32(b), Member: int32(m), Value: values[arm.Name] * noise},
						nil) {
						return
					}
				}
			}
		}
	}
	res, err := Analyze(in)
	if err != nil || len(res.Density) != 1 {
		t.Fatalf("%+v, %v", res, err)
	}
	want := Density{Workload: "cpu", Metric: "time", Arm: "native", Limit: 2, Tried: []int{2, 4, 8, 16}, Fits: 4,
		Breaks: 16, Broke: BrokeSlowdown, Slowdown: 3.2}
	got := res.Density[0]
	if math.Abs(got.Slowdown-3.2) > 0.1 {
		t.Errorf("slowdown %v", got.Slowdown)
	}
	if got.Slowdown = 3.2; !reflect.DeepEqual(got, want) {
		t.Errorf("%+v", got)
	}
	in.Failures = []dataset.Failure{{Workload: "cpu", Arm: "native@fit-4", Member: 2, Fault: fault.Guest, Text: "killed"}}
	res, err = Analyze(in)
	if err != nil {
		t.Fatal(err)
	}
	if got := res.Density[0]; got.Fits != 2 || got.Breaks != 4 || got.Lost != 1 || got.Broke != BrokeLost {
		t.Errorf("with a lost guest: %+v", got)
	}

	// Of memory, eight leave less than the limit, and sixteen are not all made.
	for i := range in.Arms[1:] {
		in.Arms[i+1].SlowdownLimit, in.Arms[i+1].MemoryLimit = 0, 100
	}
	in.Probes = []dataset.Probe{{Workload: "cpu", Name: model.ProbeMemoryLeft, Unit: "B"}}
	in.ProbeObservations = func(yield func(dataset.Observation, error) bool) {
		for ai, arm := range in.Arms {
			for b := range 6 {
				if left := float64(170 - 10*len(arm.Members) + b); len(arm.Members) > 0 &&
					!yield(dataset.Observation{Arm: int32(ai), Block: int32(b), Value: left}, nil) {
					return
				}
			}
		}
	}
	for _, tc := range []struct {
		failures []dataset.Failure
		want     Density
	}{
		{nil, Density{Workload: "cpu", Metric: "time", Arm: "native", MemoryLimit: 100, Tried: []int{2, 4, 8, 16}, Fits: 4,
			Breaks: 8, Broke: BrokeMemory, MemoryLeft: 90}},
		{[]dataset.Failure{{Workload: "cpu", Arm: "native@fit-4", Fault: fault.Guest, Text: "not made",
			Cause: store.EventMemoryLimit}},
			Density{Workload: "cpu", Metric: "time", Arm: "native", MemoryLimit: 100, Tried: []int{2, 4, 8, 16}, Fits: 2,
				Breaks: 4, Broke: BrokeMemory, MemoryLeft: 130, Lost: 1}},
	} {
		in.Failures = tc.failures
		res, err := Analyze(in)
		if err != nil {
			t.Fatal(err)
		}
		got := res.Density[0]
		got.Slowdown = 0
		if !reflect.DeepEqual(got, tc.want) {
			t.Errorf("got  %+v\nwant %+v", got, tc.want)
		}
		for _, f := range res.Findings {
			if f.ID == "failures" {
				t.Errorf("%+v", f)
			}
		}
	}
}
