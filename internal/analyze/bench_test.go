package analyze

import (
	"math"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/tare-bench/tare/internal/dataset"
)

// A million observations: 10 arms, 10 workloads with 2 metrics, 5,000 blocks.
func million() dataset.Set {
	in := dataset.Set{Baseline: "arm-a", Controls: map[string]string{"arm-b": "arm-a"}}
	for a := range 10 {
		in.Arms = append(in.Arms, dataset.Arm{Name: "arm-" + string(rune('a'+a))})
	}
	for m := range 20 {
		in.Metrics = append(in.Metrics, dataset.Metric{Workload: string(rune('A' + m/2)), Name: string(rune('a' + m%2)),
			Better: "lower", Primary: m%2 == 0})
	}
	in.Observations = func(yield func(dataset.Observation, error) bool) {
		r := rand.New(rand.NewPCG(1, 1))
		for b := range int32(5000) {
			for a := range int32(10) {
				for m := range int32(20) {
					o := dataset.Observation{Metric: m, Arm: a, Block: b, Guest: b / 50, Value: math.Exp(0.05 * r.NormFloat64())}
					if !yield(o, nil) {
						return
					}
				}
			}
		}
	}
	return in
}

func BenchmarkMillion(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Analyze(million()); err != nil {
			b.Fatal(err)
		}
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	b.ReportMetric(float64(m.Sys)/1e6, "MB-from-OS")
}
