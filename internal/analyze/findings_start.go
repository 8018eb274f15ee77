package analyze

import (
	"fmt"
	"math"
	"strings"
)

const (
	startCached = 0.01 // share of the files in the page cache, above which a start is not cold
	warmCached  = 0.99 // share of the files in the page cache, below which a restoration is not warm
	startRest   = 1e-6 // s by which phases may differ from the whole, besides the clock's error
)

// findWarmStart finds starts that found files of the guest in the page cache although it had been dropped.
func findWarmStart(a *analysis) (out []Finding) {
	for _, s := range a.result.Starts {
		what, of := "the image's files that a start reads", "starts"
		if s.Restored != nil {
			what, of = "the saved state", "restorations"
		}
		if s.Cold && s.Cached.Max > startCached {
			out = append(out, Finding{Workload: s.Workload, Arm: s.Arm, Text: fmt.Sprintf(
				"up to %.3g %% of %s was in the page cache, which had just been dropped (mean of %d %s: %.3g %%)",
				100*s.Cached.Max, what, s.Cached.N, of, 100*s.Cached.Mean)})
		}
	}
	return out
}

// findColdRestoration finds restorations that had to read saved state from the disk although the page cache was not
// dropped.
func findColdRestoration(a *analysis) (out []Finding) {
	for _, s := range a.result.Starts {
		if s.Restored != nil && !s.Cold && s.Cached.N > 0 && s.Cached.Min < warmCached {
			out = append(out, Finding{Workload: s.Workload, Arm: s.Arm, Text: fmt.Sprintf(
				"as little as %.3g %% of the saved state was in the page cache (mean of %d restorations: %.3g %%)",
				100*s.Cached.Min, s.Cached.N, 100*s.Cached.Mean)})
		}
	}
	return out
}

func findPhasesDiffer(a *analysis) (out []Finding) {
	for _, s := range a.result.Starts {
		if math.Abs(s.Rest) > startRest+s.Error {
			out = append(out, Finding{Workload: s.Workload, Arm: s.Arm, Text: fmt.Sprintf(
				"a start takes %.4g s on average, its phases add up to %.4g s: the rest of %+.3g s exceeds the error of %.2g s",
				s.Mean, s.Mean-s.Rest, s.Rest, s.Error)})
		}
	}
	return out
}

func findFewStarts(a *analysis) (out []Finding) {
	for _, s := range a.result.Starts {
		var missing []string
		if s.P95 == nil {
			missing = append(missing, "p95")
		}
		if s.P99 == nil {
			missing = append(missing, "p99")
		}
		if s.Control || s.Emulated || len(missing) == 0 {
			continue
		}
		what := strings.Join(missing, " and ")
		units := "starts"
		if s.Method == BlockBootstrap {
			units = "blocks of starts at once"
		}
		out = append(out, Finding{Workload: s.Workload, Arm: s.Arm, Text: fmt.Sprintf(
			"%d %s are too few for an interval of %s", s.Blocks, units, what)})
	}
	return out
}
