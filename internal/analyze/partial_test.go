package analyze

import (
	"math/rand/v2"
	"testing"

	"github.com/tare-bench/tare/internal/dataset"
)

// TestAnyPart: a run that was killed anywhere, or that lost any trials, is
// analysed as far as it came.
func TestAnyPart(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 9))
	for seed := range uint64(40) {
		in := newFake(seed, 0.05, 6).input()
		var all []dataset.Observation
		for o, err := range in.Observations {
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, o)
		}
		r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		for _, n := range []int{0, 1, 2, 3, 5, 8, 13, 21, len(all) / 2} {
			in.Observations = stream(all[:min(n, len(all))])
			if _, err := Analyze(in); err != nil {
				t.Fatalf("%d of %d values: %v", n, len(all), err)
			}
		}
	}
}
