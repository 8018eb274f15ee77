package analyze

import (
	"fmt"
	"math"
	"reflect"
	"testing"

	"github.com/tare-bench/tare/internal/fault"
)

// TestDensity: of slowdowns of 1.2, 1.6, 2 and 3.2 with two to sixteen guests,
// four fit within two times, sixteen do not, and of eight it is not said; a
// lost guest is too many.
func TestDensity(t *testing.T) {
	in := Input{
		Baseline: "native", Metrics: []Metric{{"cpu", "time", "s", "lower", true}},
		Arms: []Arm{{Name: "native", System: "native", Scenario: "solo"}},
	}
	values := map[string]float64{"native": 1}
	for n, slower := range map[int]float64{2: 1.2, 4: 1.6, 8: 2, 16: 3.2} {
		name := fmt.Sprintf("native@fit-%d", n)
		in.Arms = append(in.Arms, Arm{Name: name, System: "native", Scenario: fmt.Sprintf("fit-%d", n), Baseline: name, Alone: "native",
			Crew: make([]Member, n), SlowdownLimit: 2})
		for i := range n {
			in.Arms[len(in.Arms)-1].Crew[i] = Member{Share: 1}
		}
		values[name] = slower
	}
	in.Observations = func(yield func(Observation, error) bool) {
		for ai, arm := range in.Arms {
			for b := range 6 {
				for m := range max(len(arm.Crew), 1) {
					noise := math.Exp(0.01 * math.Sin(float64(7*b+3*ai+b*b)))
					if !yield(Observation{Arm: int32(ai), Block: int32(b), Member: int32(m), Value: values[arm.Name] * noise}, nil) {
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
	want := Density{Workload: "cpu", Metric: "time", Arm: "native", Limit: 2, Tried: []int{2, 4, 8, 16}, Fits: 4, Breaks: 16, Slowdown: 3.2}
	got := res.Density[0]
	if math.Abs(got.Slowdown-3.2) > 0.1 {
		t.Errorf("slowdown %v", got.Slowdown)
	}
	if got.Slowdown = 3.2; !reflect.DeepEqual(got, want) {
		t.Errorf("%+v", got)
	}
	in.Failures = []Failure{{Workload: "cpu", Arm: "native@fit-4", Member: 2, Fault: fault.Guest, Text: "killed"}}
	res, err = Analyze(in)
	if err != nil {
		t.Fatal(err)
	}
	if got := res.Density[0]; got.Fits != 2 || got.Breaks != 4 || got.Lost != 1 {
		t.Errorf("with a lost guest: %+v", got)
	}
}
