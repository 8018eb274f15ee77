package main

import (
	"fmt"
	"math"

	"github.com/tare-bench/tare/internal/analyze"
	"github.com/tare-bench/tare/internal/stats"
)

// sample collects the results of pairs of identical arms.
type sample struct {
	effects  []float64 // in percent; the truth is 0
	claims   int       // pairs that were claimed to differ
	excludes int       // pairs with an interval that excludes 0
	runs     int       // runs with such pairs
	wrong    int       // runs with any claim
	seconds  float64   // of all runs
}

// addRun adds the comparisons of one metric of a run, if it has any.
func (s *sample) addRun(r Record, chosen func(analyze.Comparison) bool) {
	before, wrong := len(s.effects), false
	for _, c := range r.Run.Comparisons {
		if !chosen(c) || c.Ratio <= 0 {
			continue
		}
		s.effects = append(s.effects, 100*(c.Ratio-1))
		if excludes(c) {
			s.excludes++
		}
		if claimed(c) {
			s.claims++
			wrong = true
		}
	}
	if len(s.effects) > before {
		s.addTime(r, wrong)
	}
}

// addPair adds a result of hyperfine. An interval that excludes 0 counts as a claim.
func (s *sample) addPair(r Record) error {
	percent, excludes, err := r.Pair.effect()
	if err != nil {
		return err
	}
	s.effects = append(s.effects, percent)
	if excludes {
		s.excludes++
		s.claims++
	}
	s.addTime(r, excludes)
	return nil
}

// addCPU adds the user and system time of a result of hyperfine, which claims nothing about it.
func (s *sample) addCPU(r Record) {
	if percent, ok := r.Pair.cpuEffect(); ok {
		s.effects = append(s.effects, percent)
		s.addTime(r, false)
	}
}

func (s *sample) addTime(r Record, wrong bool) {
	s.runs++
	s.seconds += r.Seconds
	if wrong {
		s.wrong++
	}
}

// rms returns the root mean square of the effects, which are all errors, in percent.
func (s *sample) rms() float64 {
	sum := 0.0
	for _, e := range s.effects {
		sum += e * e
	}
	return math.Sqrt(sum / float64(len(s.effects)))
}

// p95 returns the 95th percentile of the absolute effects.
func (s *sample) p95() float64 {
	sizes := make([]float64, len(s.effects))
	for i, e := range s.effects {
		sizes[i] = math.Abs(e)
	}
	return quantile(sizes, 0.95)
}

// quantile returns NaN if there are no values.
func quantile(x []float64, p float64) float64 {
	q, err := stats.Quantile(x, p)
	if err != nil {
		return math.NaN()
	}
	return q
}

func mean(x []float64) float64 {
	sum := 0.0
	for _, v := range x {
		sum += v
	}
	return sum / float64(len(x))
}

// share formats a share: "3 of 500 (0.6 %)".
func share(k, n int) string {
	if n == 0 {
		return "–"
	}
	return fmt.Sprintf("%d of %d (%.1f %%)", k, n, 100*float64(k)/float64(n))
}

// shareIn formats a share with its interval.
func shareIn(k, n int) string {
	if n == 0 {
		return "–"
	}
	_, low, high := stats.Wilson(k, n, 0.05)
	return fmt.Sprintf("%d of %d (%.1f %%; %.1f … %.1f)", k, n, 100*float64(k)/float64(n), 100*low, 100*high)
}

// times formats the ratio of a to b: "12×".
func times(a, b float64) string {
	if !(a > 0 && b > 0) {
		return "–"
	}
	return fmt.Sprintf("%.3g×", a/b)
}
