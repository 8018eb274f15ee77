package httprate

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"sync/atomic"
	"time"

	vegeta "github.com/tsenart/vegeta/v12/lib"

	"github.com/tare-bench/tare/internal/histogram"
)

// Search says how to find the largest rate at which a server answers 99 % of the requests in time.
type Search struct {
	URL         string
	Connections int           // at once, at most
	Within      time.Duration // a request is in time if it is answered so soon after it was due
	Window      time.Duration // for which a rate is tried, and longer if few requests are due in it
}

const (
	// leastTried is how many requests a rate is tried with, unless that takes slowestTry windows.
	leastTried = 200
	slowestTry = 10
	// The rates are tried from firstRate of the busy server's rate on. One above tooHigh of it is not tried, and one
	// below tooLow of it is no use to anybody.
	firstRate, tooHigh, tooLow = 0.8, 1.1, 0.01
	// searchStep is how close the largest rate in time is to the least one that is not.
	searchStep = 1.05
	// overtime is how long a search waits for an answer after it was late.
	overtime = 5 * time.Second
)

// Largest finds the largest rate, and returns what became of its requests. It begins with the rate at which the server
// answers while each connection sends a request as soon as the one before it is answered. A rate is too high if its
// requests are late twice in a row: once may be a stall of the host. The error says that the server does not answer, or
// that no rate is in time.
func Largest(ctx context.Context, s Search) (*Result, error) {
	if s.Within <= 0 || s.Window <= 0 || s.Connections < 1 {
		return nil, fmt.Errorf("within %v, in windows of %v, on %d connections: none of them may be 0", s.Within, s.Window,
			s.Connections)
	}
	return s.largest(ctx, s.plan().transport(new(atomic.Int64)))
}

func (s Search) plan() Plan {
	return Plan{URL: s.URL, Connections: s.Connections, Timeout: s.Within + overtime}
}

func (s Search) largest(ctx context.Context, over http.RoundTripper) (*Result, error) {
	busy, err := s.busy(ctx, over)
	if err != nil {
		return nil, err
	}
	var best *Result
	high, tries := min(MaxRate, tooHigh*busy), 0
	for rate := max(1, int(firstRate*busy)); ; {
		r, tried, err := s.try(ctx, over, rate)
		if err != nil {
			return nil, err
		}
		tries += tried
		if r != nil {
			best = r
		} else {
			high = float64(rate)
		}
		next := max(1, rate/4)
		switch {
		case best != nil:
			low := float64(best.StatedRate)
			next = int(math.Round(math.Sqrt(low * high)))
			if high <= searchStep*low || next <= best.StatedRate || float64(next) >= high {
				best.Within, best.Tries = s.Within.Seconds(), tries
				return best, nil
			}
		case next == rate || float64(next) < tooLow*busy:
			return nil, fmt.Errorf("99 %% of the requests are not answered within %v at any rate: the server answers %.4g "+
				"a second when it is busy, and is too slow for %d", s.Within, busy, rate)
		}
		rate = next
	}
}

// busy is the rate at which the server answers while every connection has a request.
func (s Search) busy(ctx context.Context, over http.RoundTripper) (float64, error) {
	p, n := s.plan(), uint64(s.Connections)
	attacker := vegeta.NewAttacker(p.client(over), vegeta.Workers(n), vegeta.MaxWorkers(n))
	defer context.AfterFunc(ctx, func() { attacker.Stop() })()
	began, answered, first := time.Now(), 0, ""
	end := began
	for r := range attacker.Attack(p.target(), vegeta.ConstantPacer{}, s.Window, "") {
		failure := failureOf(r)
		if failure == "" {
			answered++
		} else if first == "" {
			first = failure
		}
		if e := r.Timestamp.Add(r.Latency); e.After(end) {
			end = e
		}
	}
	if err := context.Cause(ctx); err != nil {
		return 0, err
	}
	if answered == 0 {
		return 0, unanswered{first}
	}
	return float64(answered) / end.Sub(began).Seconds(), nil
}

// try requests the page at a rate, once more if that is not in time. It returns what became of the requests, nil if
// they were not in time, and how often it tried.
func (s Search) try(ctx context.Context, over http.RoundTripper, rate int) (r *Result, tried int, err error) {
	p, windows := s.plan(), s.Window.Seconds()*float64(rate)
	p.Rate = rate
	p.Requests = max(1, int(max(windows, min(leastTried, slowestTry*windows))))
	for tried < 2 {
		tried++
		r, err := p.run(ctx, over)
		if errors.As(err, new(unanswered)) {
			continue
		}
		if err != nil {
			return nil, tried, err
		}
		if in, err := r.inTime(s.Within); in || err != nil {
			return r, tried, err
		}
	}
	return nil, tried, nil
}

// inTime reports whether 99 % of the requests were answered within d.
func (r *Result) inTime(d time.Duration) (bool, error) {
	h, err := histogram.Decode([]byte(r.Latencies))
	if err != nil {
		return false, err
	}
	return r.Failed+h.AtLeast(d) <= r.Requests/100, nil
}
