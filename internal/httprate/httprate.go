// Package httprate requests a page at a constant rate, however slowly the server answers. A client that waits for each
// answer sends nothing while the server stalls, and so measures one slow request where many users would have waited
// (coordinated omission). Here each latency counts from when its request was due. The requests are sent by vegeta,
// whose own latencies begin when a request is sent.
package httprate

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"net"
	"net/http"
	"net/url"
	"sync/atomic"
	"time"

	vegeta "github.com/tsenart/vegeta/v12/lib"

	"github.com/tare-bench/tare/internal/histogram"
)

// LateBy is how long after its time a request may be sent without being late.
const LateBy = time.Millisecond

// maxUnanswered is how many requests may be without an answer at once. Further ones are sent late, but count from when
// they were due, too. It limits the memory that the queue of an overloaded server takes.
const maxUnanswered = 5000

// Plan says what to request.
type Plan struct {
	URL         string
	Rate        int           // requests a second
	Requests    int           // in all
	Connections int           // at once, at most; a request for which none is free waits, and its time runs
	Reconnect   bool          // a connection of its own for each request, instead of connections that are kept
	Timeout     time.Duration // of a request
}

// Limits of a Plan.
const (
	MaxRate     = 1_000_000
	MaxRequests = 10_000_000
)

// Result is what became of the requests. It is what tare-http prints.
type Result struct {
	Tool        string  `json:"tool"` // "tare-http"
	URL         string  `json:"url"`
	StatedRate  int     `json:"stated_rate"` // requests a second
	Connections int     `json:"connections"` // at once, at most
	Opened      int64   `json:"opened"`      // connections in all; net/http replaces one whose writer lags by 50 ms
	Requests    int64   `json:"requests"`
	Answered    int64   `json:"answered"` // with status 200 and a whole body
	Failed      int64   `json:"failed"`
	Late        int64   `json:"late"`  // sent more than LateBy after they were due, because this program was late
	Bytes       int64   `json:"bytes"` // of bodies
	Seconds     float64 `json:"seconds"`
	Rate        float64 `json:"rate"` // answers a second
	Mean        float64 `json:"mean"` // s; of the latencies of answered requests, as is the next
	Max         float64 `json:"max"`
	// Latencies is the histogram of the latencies of answered requests, see histogram.Encode.
	Latencies  string `json:"latencies"`
	FirstError string `json:"first_error,omitempty"`

	// Of a search: StatedRate is the largest of the Tries at which 99 % of the requests were answered Within s.
	Within float64 `json:"within,omitempty"`
	Tries  int     `json:"tries,omitempty"`
}

// Run makes the requests. When ctx is done it stops and returns an error, as it does for an impossible plan. Requests
// that failed are no error.
func Run(ctx context.Context, p Plan) (*Result, error) {
	var opened atomic.Int64
	r, err := p.run(ctx, p.transport(&opened))
	if err != nil {
		return nil, err
	}
	r.Opened = opened.Load()
	return r, nil
}

// transport sends requests over connections, which it counts.
func (p Plan) transport(opened *atomic.Int64) http.RoundTripper {
	return &http.Transport{
		MaxConnsPerHost: p.Connections, MaxIdleConnsPerHost: p.Connections, DisableCompression: true,
		DisableKeepAlives: p.Reconnect,
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := new(net.Dialer).DialContext(ctx, network, address)
			if err == nil {
				opened.Add(1)
			}
			return conn, err
		},
	}
}

// Dial opens a connection to the server of a URL and closes it. The error says why that is not possible.
func Dial(ctx context.Context, to string) error {
	u, err := url.Parse(to)
	if err != nil {
		return err
	}
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), "80")))
	if err != nil {
		return err
	}
	return conn.Close()
}

// client sends requests, and follows no redirection.
func (p Plan) client(over http.RoundTripper) func(*vegeta.Attacker) {
	return vegeta.Client(&http.Client{Transport: over, Timeout: p.Timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }})
}

// target is what each request asks for.
func (p Plan) target() vegeta.Targeter {
	return vegeta.NewStaticTargeter(vegeta.Target{Method: http.MethodGet, URL: p.URL})
}

// failureOf is why a request failed; "": it did not.
func failureOf(r *vegeta.Result) string {
	if r.Error == "" && r.Code != http.StatusOK {
		return fmt.Sprintf("status %d", r.Code)
	}
	return r.Error
}

func (p Plan) run(ctx context.Context, over http.RoundTripper) (*Result, error) {
	if p.Rate < 1 || p.Rate > MaxRate || p.Requests < 1 || p.Requests > MaxRequests || p.Connections < 1 {
		return nil, fmt.Errorf("%d requests, %d a second, on %d connections: the limits are 1 … %d requests, "+
			"1 … %d a second, 1 connection at least", p.Requests, p.Rate, p.Connections, MaxRequests, MaxRate)
	}
	attacker := vegeta.NewAttacker(p.client(over), vegeta.Workers(1), vegeta.MaxWorkers(maxUnanswered))
	defer context.AfterFunc(ctx, func() { attacker.Stop() })()
	s := &schedule{rate: p.Rate, requests: uint64(p.Requests)}
	all := make([]answer, 0, p.Requests)
	for r := range attacker.Attack(p.target(), s, 0, "") {
		s.answered.Add(1)
		all = append(all, answer{seq: r.Seq, sent: r.Timestamp, ended: r.Timestamp.Add(r.Latency), bytes: int64(r.BytesIn),
			failure: failureOf(r)})
	}
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	if len(all) != p.Requests {
		return nil, fmt.Errorf("%d requests were sent instead of %d", len(all), p.Requests)
	}
	return p.result(s, all)
}

// schedule says when each request is due. vegeta asks it before it sends one, always from the same goroutine.
type schedule struct {
	rate     int
	requests uint64
	answered atomic.Int64

	began time.Time // when the first request was due
	// full is the first request for which there was no room beside the unanswered ones; 0: there always was.
	full uint64
}

// due is when a request is due, after the first.
func (s *schedule) due(seq uint64) time.Duration {
	return time.Duration(seq) * time.Second / time.Duration(s.rate)
}

// Pace implements vegeta.Pacer. vegeta does not tell when it began, but how long ago that was; the shortest time
// between its look at the clock and this one is the most exact.
func (s *schedule) Pace(elapsed time.Duration, hits uint64) (wait time.Duration, stop bool) {
	if began := time.Now().Add(-elapsed); s.began.IsZero() || began.Before(s.began) {
		s.began = began
	}
	if s.full == 0 && int64(hits)-s.answered.Load() >= maxUnanswered-1 {
		s.full = hits
	}
	return s.due(hits) - elapsed, hits >= s.requests
}

// Rate implements vegeta.Pacer.
func (s *schedule) Rate(time.Duration) float64 { return float64(s.rate) }

// answer is what became of one request.
type answer struct {
	seq         uint64
	sent, ended time.Time
	bytes       int64
	failure     string // "": none
}

// unanswered is the error if no request was answered with status 200. It says what became of the first.
type unanswered struct{ first string }

func (u unanswered) Error() string { return "no request was answered with status 200: " + u.first }

// result adds up what became of all requests.
func (p Plan) result(s *schedule, all []answer) (*Result, error) {
	r := &Result{Tool: "tare-http", URL: p.URL, StatedRate: p.Rate, Connections: p.Connections, Requests: int64(len(all))}
	h := &histogram.Histogram{}
	// The time of the last request is its interval, as if another one followed.
	end, sum := s.due(uint64(len(all))), 0.
	for _, a := range all {
		due := s.began.Add(s.due(a.seq))
		end = max(end, a.ended.Sub(s.began))
		if a.sent.Sub(due) > LateBy && (s.full == 0 || a.seq < s.full) {
			r.Late++
		}
		if a.failure != "" {
			r.Failed++
			if r.FirstError == "" {
				r.FirstError = a.failure
			}
			continue
		}
		latency := max(0, a.ended.Sub(due))
		if err := h.Add(latency.Nanoseconds(), 1); err != nil {
			return nil, err
		}
		r.Answered++
		r.Bytes += a.bytes
		sum += latency.Seconds()
		r.Max = math.Max(r.Max, latency.Seconds())
	}
	if r.Answered == 0 {
		return nil, unanswered{r.FirstError}
	}
	r.Seconds = end.Seconds()
	r.Rate = float64(r.Answered) / r.Seconds
	r.Mean = sum / float64(r.Answered)
	encoded, err := h.Encode()
	if err != nil {
		return nil, err
	}
	r.Latencies = string(encoded)
	return r, nil
}
