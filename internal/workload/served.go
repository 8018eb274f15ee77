package workload

import (
	"encoding/json"
	"time"

	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/histogram"
	"github.com/tare-bench/tare/internal/workload/tool"
)

// Serving says how requests to the guests of a fill that serve are measured. A client in each of them sends requests
// all the time. When it gets SIGUSR1, it prints one line about its next ones, see Served.Add.
type Serving struct {
	Client   string        // name of its step
	Requests int64         // of which a line tells
	Window   time.Duration // in which they are due
	Patience time.Duration // for which the client then waits for answers
	Grace    time.Duration // for which tare then waits for the line
}

// LeastServed is how many requests there must be for a 99th percentile: 10 are beyond it.
const LeastServed = 1000

// Served has the latencies of requests to the guests of a fill that serve.
type Served struct{ latencies histogram.Histogram }

// Add adds a client's line of JSON, which must be about so many requests. It has the histogram of their latencies; a
// request without an answer counts with the time for which it had waited.
func (s *Served) Add(line []byte, requests int64) error {
	var report struct{ Latencies string }
	if err := json.Unmarshal(line, &report); err != nil {
		return fault.Guestf("this is not what a client says of its requests: %s", tool.Quote(string(line)))
	}
	h, err := histogram.Decode([]byte(report.Latencies))
	if err != nil {
		return fault.Guestf("the histogram of a client: %w", err)
	}
	if h.Count() != requests {
		return fault.Guestf("the histogram of a client has %d latencies instead of %d", h.Count(), requests)
	}
	sum, err := histogram.Merge(&s.latencies, h)
	if err == nil {
		s.latencies = *sum
	}
	return err
}

// Miss adds requests of a client that said nothing of them: they took at least so long.
func (s *Served) Miss(requests int64, least time.Duration) error {
	return s.latencies.Add(least.Nanoseconds(), requests)
}

// Requests is how many there were.
func (s *Served) Requests() int64 { return s.latencies.Count() }

// P99 is the 99th percentile of the latencies.
func (s *Served) P99() time.Duration { return time.Duration(s.latencies.Quantile(0.99)) }
