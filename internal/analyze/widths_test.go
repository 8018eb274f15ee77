package analyze

import (
	"math"
	"testing"

	"github.com/tare-bench/tare/internal/dataset"
)

func TestWidths(t *testing.T) {
	widths := func(blocks int, cv, precision float64) Width {
		t.Helper()
		in := several(4, cv, blocks, map[string][]float64{"kvm": {1.1}, "tcg": {9}}, "kvm", "tcg")
		in.Precision = precision
		all, err := Widths(in)
		if err != nil || len(all) != 1 || all[0].Workload != "w0" || all[0].Blocks != blocks {
			t.Fatalf("%+v, %v", all, err)
		}
		return all[0]
	}
	wide, narrow := widths(30, 0.05, 0.01), widths(120, 0.05, 0.03)
	if wide.Reached || !narrow.Reached || wide.Units != 10 || narrow.Units != 40 {
		t.Errorf("%+v, %+v", wide, narrow)
	}
	// Four times the blocks make an interval about half as wide.
	if ratio := narrow.Half / wide.Half; ratio < 0.3 || ratio > 0.7 {
		t.Errorf("half-widths %v and %v", wide.Half, narrow.Half)
	}
	if got := wide.SD / math.Sqrt(float64(wide.Units)); wide.Half < 1.9*got || wide.Half > 3*got {
		t.Errorf("half-width %v and standard error %v do not agree", wide.Half, got)
	}
	if w := widths(12, 0.001, 0.1); w.Reached {
		t.Errorf("12 blocks, however narrow: %+v", w)
	}
	if w := widths(15, 0.001, 0.1); w.Reached {
		t.Errorf("5 guests, however narrow: %+v", w)
	}
	if w := widths(24, 0.001, 0.1); !w.Reached {
		t.Errorf("8 guests: %+v", w)
	}
	if w := widths(1, 0.01, 0.1); w.Reached || w.Half != 0 {
		t.Errorf("one block: %+v", w)
	}
}

// Batches of one guest may end as well, and an arm that has no value holds
// nobody up; a metric without noise neither.
func TestWidthsOfSome(t *testing.T) {
	f := newFake(5, 0.005, 30)
	f.renew(30)
	f.Precision = 0.05
	f.drop(func(o dataset.Observation) bool { return o.Arm == jail })
	all, err := Widths(f.input())
	if err != nil || !all[0].Reached {
		t.Errorf("%+v, %v", all, err)
	}
	f.each(0, kvm, func(o *dataset.Observation) { o.Value = 3 })
	f.each(0, native, func(o *dataset.Observation) { o.Value = 3 })
	f.each(0, control, func(o *dataset.Observation) { o.Value = 3 })
	f.each(0, lxc, func(o *dataset.Observation) { o.Value = 3 })
	if all, err = Widths(f.input()); err != nil || !all[0].Reached || all[0].Half != 0 {
		t.Errorf("nothing varies: %+v, %v", all, err)
	}
}

// The half-width that a run stops at by Chow & Robbins' rule covers as promised:
// it is looked at every 5 blocks.
func TestSimStopping(t *testing.T) {
	runs := 300
	if testing.Short() || raced {
		runs = 60
	}
	var covered, blocks float64
	for seed := range uint64(runs) {
		in := simRun{workloads: 1, blocks: 120, guests: 24, guestSD: 0.01}.draw(seed, [2]float64{})
		in.Precision = 0.03
		all := in.Observations
		for n := int32(15); ; n += 5 {
			in.Observations = func(yield func(dataset.Observation, error) bool) {
				for o, err := range all {
					if o.Block < n && !yield(o, err) {
						return
					}
				}
			}
			w, err := Widths(in)
			if err != nil {
				t.Fatal(err)
			}
			if !w[0].Reached && n < 120 {
				continue
			}
			r, err := Analyze(in)
			if err != nil {
				t.Fatal(err)
			}
			blocks += float64(n) / float64(runs)
			for _, c := range r.Comparisons {
				if !c.Control && c.CILow <= 1 && c.CIHigh >= 1 {
					covered += 0.5 / float64(runs)
				}
			}
			break
		}
	}
	t.Logf("%.0f blocks on average", blocks)
	within(t, "coverage of intervals at which runs stop", covered, 0.92, 0.985)
}
