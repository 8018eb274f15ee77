package report

import (
	"slices"
	"testing"

	"github.com/tare-bench/tare/internal/analyze"
	"github.com/tare-bench/tare/internal/store"
)

func TestSize(t *testing.T) {
	for unit, want := range map[string]string{
		"pieces of a kernel source tree (256 are all of it)": "1 piece of a kernel source tree (256 are all of it)",
		"copies of 32 MiB in each way":                       "1 copy of 32 MiB in each way",
		"processes":                                          "1 process",
		"s of round trips":                                   "1 s of round trips",
		"MiB":                                                "1 MiB",
		"start":                                              "1 start",
		"glass":                                              "1 glass",
		"wake-ups (one each millisecond)":                    "1 wake-up (one each millisecond)",
	} {
		if got := Size(store.Size{Size: 1, Unit: unit}); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if got := Size(store.Size{Size: 2, Unit: "pieces"}); got != "2 pieces" {
		t.Error(got)
	}
}

// TestNoise: what is said of pairs of which there is one, and of pairs that are all alike.
func TestNoise(t *testing.T) {
	for want, s := range map[string]analyze.TrialSpread{
		"single trials of native and its identical control differ by up to 5.0 % (24 pairs)": {Percent: 5, Pairs: 24},
		"single trials of native and its identical control differ by 5.0 % (1 pair)":         {Percent: 5, Pairs: 1},
		"single trials of native and its identical control do not differ (1 pair)":           {Pairs: 1},
	} {
		res := &analyze.Result{Baseline: "native", TrialSpread: []analyze.TrialSpread{s}}
		if got := NoiseTexts(res, "", "", nil); !slices.Equal(got, []string{want}) {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
