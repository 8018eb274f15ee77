// Package redisrate sends requests to a Redis server at a constant rate until it is stopped, and reports the latencies
// of those in a window when it is asked to. As in package httprate, a latency counts from when the request was due: a
// client that waits for each answer would send nothing while the server, or the guest, stalls. All requests go over one
// connection, without waiting for the answers to those before.
package redisrate

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"strconv"
	"time"

	"github.com/tare-bench/tare/internal/histogram"
)

// Plan says what to request.
type Plan struct {
	Rate     int // requests a second
	Requests int // of a window
	// Patience is how long to wait for answers after the last request of a window was due.
	Patience time.Duration
}

// Limits of a Plan.
const (
	MaxRate     = 100_000
	MaxRequests = 1_000_000
)

// Report is what became of the requests of a window. It is what tare-redis prints.
type Report struct {
	Requests int64 `json:"requests"`
	// Unanswered had no answer when the window was over. They count with the time since they were due.
	Unanswered int64 `json:"unanswered"`
	// Latencies is the histogram of the latencies of all requests, see histogram.Encode.
	Latencies string `json:"latencies"`
}

// key is what each request counts up, so that the answers show that none is missing.
const key = "served"

var request = fmt.Appendf(nil, "*2\r\n$4\r\nINCR\r\n$%d\r\n%s\r\n", len(key), key)

// mostAtOnce is how many requests are sent together if many are overdue.
const mostAtOnce = 1000

// Run sends requests until ctx is done, which is no error, and closes the connection. Each time begin receives
// something, a window begins with the next request, and a window that is open is given up. report is called with each
// whole window.
func (p Plan) Run(ctx context.Context, server net.Conn, begin <-chan os.Signal, report func(Report) error) error {
	defer server.Close()
	if p.Rate < 1 || p.Rate > MaxRate || p.Requests < 1 || p.Requests > MaxRequests || p.Patience < 0 {
		return fmt.Errorf("windows of %d requests, %d a second, with %v of patience: the limits are 1 … %d requests, "+
			"1 … %d a second, 0 s", p.Requests, p.Rate, p.Patience, MaxRequests, MaxRate)
	}
	// Sending to a server that reads nothing would wait beyond the end of ctx.
	defer context.AfterFunc(ctx, func() { server.Close() })()
	if err := p.run(ctx, server, begin, report); ctx.Err() == nil {
		return err
	}
	return nil
}

func (p Plan) run(ctx context.Context, server net.Conn, begin <-chan os.Signal, report func(Report) error) error {
	c := client{Plan: p, began: time.Now()}
	over := make(chan struct{})
	defer close(over)
	answers := make(chan answer, mostAtOnce)
	go read(server, answers, over)
	next := time.NewTimer(0)
	defer next.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-begin:
			c.window = &window{first: c.sent}
		case a := <-answers:
			if err := c.answered(a); err != nil {
				return err
			}
		case <-next.C:
			if _, err := server.Write(bytes.Repeat(request, c.take(time.Now()))); err != nil {
				return err
			}
			next.Reset(time.Until(c.due(c.sent)))
		}
		if c.complete(time.Now()) {
			r, err := c.close(time.Now())
			if err == nil {
				err = report(r)
			}
			if err != nil {
				return err
			}
		}
	}
}

// client is what was sent and answered.
type client struct {
	Plan
	began      time.Time // when the first request was due
	sent, have int       // requests; those before have are answered
	window     *window   // nil: none is open
}

// window is an open window.
type window struct {
	first     int // request
	latencies histogram.Histogram
}

// answer is one of the server.
type answer struct {
	at    time.Time
	count int // of requests, by the server
	err   error
}

// read reads answers until one is an error, or until over is closed.
func read(server net.Conn, answers chan<- answer, over <-chan struct{}) {
	lines := bufio.NewReader(server)
	for {
		line, err := lines.ReadString('\n')
		a := answer{at: time.Now(), err: err}
		if err == nil {
			if a.count, err = strconv.Atoi(line[1:max(1, len(line)-2)]); err != nil || line[0] != ':' {
				a.err = fmt.Errorf("the server answers %q", line)
			}
		}
		select {
		case answers <- a:
		case <-over:
			return
		}
		if a.err != nil {
			return
		}
	}
}

// due is when a request is due.
func (c *client) due(n int) time.Time {
	return c.began.Add(time.Duration(n) * time.Second / time.Duration(c.Rate))
}

// take returns how many requests are due and not sent, and counts them as sent.
func (c *client) take(now time.Time) (n int) {
	for n < mostAtOnce && !c.due(c.sent).After(now) {
		c.sent++
		n++
	}
	return n
}

// answered notes the answer to the first request that has none.
func (c *client) answered(a answer) error {
	if a.err != nil {
		return a.err
	}
	latency := a.at.Sub(c.due(c.have))
	c.have++
	if a.count != c.have {
		return fmt.Errorf("the server has counted %d requests instead of %d", a.count, c.have)
	}
	if w := c.window; w != nil && c.have > w.first && c.have <= w.first+c.Requests {
		return w.latencies.Add(max(0, latency).Nanoseconds(), 1)
	}
	return nil
}

// complete reports whether a window is open of which nothing more is to be expected.
func (c *client) complete(now time.Time) bool {
	if c.window == nil {
		return false
	}
	end := c.window.first + c.Requests
	return c.have >= end || now.After(c.due(end-1).Add(c.Patience))
}

// close closes the window.
func (c *client) close(now time.Time) (Report, error) {
	w := c.window
	c.window = nil
	r := Report{Requests: int64(c.Requests), Unanswered: int64(c.Requests) - w.latencies.Count()}
	for n := max(w.first, c.have); n < w.first+c.Requests; n++ {
		if err := w.latencies.Add(max(0, now.Sub(c.due(n))).Nanoseconds(), 1); err != nil {
			return r, err
		}
	}
	encoded, err := w.latencies.Encode()
	r.Latencies = string(encoded)
	return r, err
}
