package stats

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"
)

// pastes is the data set of Davies & Goldsmith (Statistical Methods in Research and Production, 4th
// ed., 1972, table 6.5), which R's lme4 has as Pastes: 10 deliveries, 3 casks of each, 2 tests.
var pastes = []float64{
	62.8, 62.6, 60.1, 62.3, 62.7, 63.1, 60.0, 61.4, 57.5, 56.9, 61.1, 58.9, 58.7, 57.5, 63.9, 63.1, 65.4, 63.7,
	57.1, 56.4, 56.9, 58.6, 64.7, 64.5, 55.1, 55.1, 54.7, 54.2, 58.8, 57.5, 63.4, 64.9, 59.3, 58.1, 60.5, 60.0,
	62.5, 62.6, 61.0, 58.7, 56.9, 57.7, 59.2, 59.4, 65.2, 66.0, 64.8, 64.1, 54.8, 54.8, 64.0, 64.0, 57.7, 56.8,
	58.3, 59.3, 59.2, 59.2, 58.9, 56.6,
}

// TestGoldenNested: for balanced values, REML's estimates, which lme4's manual prints (cask 8.434,
// batch 1.657, residual 0.678), are those of the analysis of variance.
func TestGoldenNested(t *testing.T) {
	var path [][]int
	for i := range pastes {
		path = append(path, []int{i / 6, i / 2 % 3})
	}
	got, err := NestedComponents(pastes, path)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []float64{1.657, 8.434, 0.678} {
		if math.Abs(got[i].Variance-want) > 0.0006 || !got[i].Known {
			t.Errorf("level %d: %+v, want %v", i, got[i], want)
		}
	}
	if got[0].DF != 9 || got[1].DF != 20 || got[2].DF != 30 {
		t.Errorf("degrees of freedom: %+v", got)
	}
	same, err := VarianceComponents(pastes, []int{10, 3, 2})
	if err != nil {
		t.Fatal(err)
	}
	for i := range got {
		near(t, "as VarianceComponents", got[i].Variance, same.T2[2-i], 1e-9)
	}
}

// TestNestedUnbalanced: the estimates are right on average however uneven the groups are.
func TestNestedUnbalanced(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 7))
	truth := []float64{4, 1, 2, 0.5}
	sums := make([]float64, len(truth))
	const experiments = 3000
	for range experiments {
		var values []float64
		var path [][]int
		for machine := range 6 {
			a := math.Sqrt(truth[0]) * random.NormFloat64()
			for boot := range 1 + machine%3 {
				b := math.Sqrt(truth[1]) * random.NormFloat64()
				for guest := range 2 + (machine+boot)%3 {
					c := math.Sqrt(truth[2]) * random.NormFloat64()
					for range 1 + (machine+guest)%4 {
						values = append(values, 100+a+b+c+math.Sqrt(truth[3])*random.NormFloat64())
						path = append(path, []int{machine, boot, guest})
					}
				}
			}
		}
		got, err := NestedComponents(values, path)
		if err != nil {
			t.Fatal(err)
		}
		for i, c := range got {
			sums[i] += c.Variance / experiments
		}
	}
	for i, want := range truth {
		if math.Abs(sums[i]-want) > 0.08*want {
			t.Errorf("level %d: %.3f on average, truth %v", i, sums[i], want)
		}
	}
}

// TestNestedConfounded: one boot of each machine cannot be told from the machine.
func TestNestedConfounded(t *testing.T) {
	got, err := NestedComponents([]float64{1, 2, 5, 6}, [][]int{{0, 0}, {0, 0}, {1, 0}, {1, 0}})
	if err != nil || !got[0].Known || got[1].Known || got[1].Variance != 0 || !got[2].Known {
		t.Fatalf("%+v, %v", got, err)
	}
	near(t, "machine and boot", got[0].Variance, 8-0.25, 1e-12)
	near(t, "trial", got[2].Variance, 0.5, 1e-12)
	if _, err := NestedComponents([]float64{1, 2}, [][]int{{0}, {0, 1}}); !errors.Is(err, ErrLengths) {
		t.Error(err)
	}
	if _, err := NestedComponents([]float64{1}, [][]int{{0}}); !errors.Is(err, ErrTooFew) {
		t.Error(err)
	}
}
