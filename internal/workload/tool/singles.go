package tool

import (
	"math"
	"strings"

	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/histogram"
)

// Singles says which figures of a tool are the counts of its histogram of single latencies: those named Before, a
// latency, After, such as "latencies of 0.123 ms".
type Singles struct {
	Before, After string
	Unit          string // of the latencies
	// Width is the width of the ranges in Unit if the tool prints their lower ends; 0: it prints their middles.
	Width float64
	// Word is the word of the report that is the encoded histogram; then there are no such figures.
	Word string
	// Count is the figure with the number of all latencies.
	Count string
	// Beyond is the figure with the longest latency if the histogram ends somewhere: all that are longer count as the
	// longest. "": it has all latencies.
	Beyond string
}

// Histogram returns the single latencies in a report. It is an error if the counts do not add up to the number that the
// tool prints.
func (r *Report) Histogram(s Singles) (*histogram.Histogram, error) {
	if s.Word != "" {
		return histogram.Decode([]byte(r.Words[s.Word]))
	}
	h := &histogram.Histogram{}
	for _, f := range r.Figures {
		latency, ok := strings.CutPrefix(strings.TrimSpace(f.Name), s.Before)
		if !ok {
			continue
		}
		if latency, ok = strings.CutSuffix(latency, s.After); !ok {
			continue
		}
		v := r.number(latency)
		ns := 1e9 * Figure{Value: v + s.Width/2, Unit: s.Unit}.In("s")
		if f.Value != math.Trunc(f.Value) || f.Value > histogram.MaxCount || ns > histogram.Highest {
			return nil, fault.Guestf("the histogram of %s counts %v latencies of %v ns", r.Tool, f.Value, ns)
		}
		if err := h.Add(int64(math.Round(ns)), int64(f.Value)); err != nil {
			return nil, fault.Guestf("the histogram of %s: %w", r.Tool, err)
		}
	}
	all, err := r.One(s.Count)
	if err != nil {
		return nil, err
	}
	if beyond := all.Value - float64(h.Count()); s.Beyond != "" && beyond > 0 {
		longest, err := r.One(s.Beyond)
		if err != nil {
			return nil, err
		}
		if err := h.Add(int64(1e9*min(longest.In("s"), histogram.Highest/1e9)), int64(beyond)); err != nil {
			return nil, fault.Guestf("the histogram of %s: %w", r.Tool, err)
		}
	}
	if float64(h.Count()) != all.Value {
		return nil, Contradiction("the histogram of %s has %d latencies of %.0f", r.Tool, h.Count(), all.Value)
	}
	return h, nil
}
