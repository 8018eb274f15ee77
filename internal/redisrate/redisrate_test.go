package redisrate

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tare-bench/tare/internal/histogram"
)

// server answers the n-th request, from 1, in the time of a synctest bubble, one after the other. since is how long the
// client has been running.
type server func(n int, since time.Duration) (answer string)

// serve returns a client's connection to the server, which ends with it.
func (s server) serve() net.Conn {
	ours, theirs := net.Pipe()
	began, waiting := time.Now(), make(chan struct{}, 1<<20)
	go func() {
		defer close(waiting)
		for lines := bufio.NewReader(theirs); ; {
			line, err := lines.ReadString('\n')
			if err != nil {
				return
			}
			if strings.TrimSpace(line) == key {
				waiting <- struct{}{}
			}
		}
	}()
	go func() {
		defer theirs.Close()
		n := 0
		for range waiting {
			n++
			if _, err := theirs.Write([]byte(s(n, time.Since(began)))); err != nil {
				return
			}
		}
	}()
	return ours
}

// counted is what Redis answers to the n-th request.
func counted(n int) string { return fmt.Sprintf(":%d\r\n", n) }

// measure makes requests of the server, begins a window after a time, and returns what is reported.
func measure(t *testing.T, p Plan, after time.Duration, s server) (r Report, h *histogram.Histogram, err error) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		begin := make(chan os.Signal, 1)
		time.AfterFunc(after, func() { begin <- syscall.SIGUSR1 })
		err = p.Run(ctx, s.serve(), begin, func(of Report) error {
			r = of
			stop()
			return nil
		})
		time.Sleep(time.Hour) // until the server has ended
	})
	if err == nil {
		if h, err = histogram.Decode([]byte(r.Latencies)); err != nil {
			t.Fatal(err)
		}
	}
	return r, h, err
}

// TestStall: a server that stalls for a second, and then answers one request in each millisecond, holds up all requests
// that are due meanwhile. Those before the window do not count.
func TestStall(t *testing.T) {
	stall := func(from time.Duration) server {
		return func(n int, since time.Duration) string {
			if since >= from && since < from+time.Second {
				time.Sleep(from + time.Second - since)
			}
			time.Sleep(time.Millisecond)
			return counted(n)
		}
	}
	for from, want := range map[time.Duration]int64{6 * time.Second: 55, time.Second: 0} {
		r, h, err := measure(t, Plan{Rate: 100, Requests: 300, Patience: time.Second}, 5*time.Second, stall(from))
		if err != nil || r.Requests != 300 || r.Unanswered != 0 || h.Count() != 300 {
			t.Fatalf("%+v, %v", r, err)
		}
		if got := h.AtLeast(500 * time.Millisecond); got < want-5 || got > want+5 {
			t.Errorf("a stall from %v on: %d requests took half a second or more, want about %d", from, got, want)
		}
		if got := h.AtLeast(990 * time.Microsecond); got != 300 {
			t.Errorf("%d requests took 1 ms or more", got)
		}
	}
}

// TestUnanswered: requests without an answer count with the time for which they have waited.
func TestUnanswered(t *testing.T) {
	r, h, err := measure(t, Plan{Rate: 100, Requests: 300, Patience: 2 * time.Second}, 0,
		func(n int, since time.Duration) string {
			if since >= time.Second {
				time.Sleep(time.Minute)
			}
			return counted(n)
		})
	if err != nil || r.Unanswered < 195 || r.Unanswered > 205 || h.Count() != 300 {
		t.Fatalf("%+v, %v", r, err)
	}
	if got := h.AtLeast(1980 * time.Millisecond); got != r.Unanswered {
		t.Errorf("%d of %d requests without an answer took 2 s or more", got, r.Unanswered)
	}
	if p99 := time.Duration(h.Quantile(0.99)); p99 < 3900*time.Millisecond || p99 > 4100*time.Millisecond {
		t.Errorf("p99 is %v, want about 4 s", p99)
	}
}

// TestRefused: each answer must be the next count, and a plan possible.
func TestRefused(t *testing.T) {
	good := Plan{Rate: 100, Requests: 10, Patience: time.Second}
	for answer, want := range map[string]string{
		":7\r\n": "has counted 7 requests instead of 3", "-ERR no memory\r\n": "no memory", "\n": "answers",
		":x\r\n": "answers",
	} {
		_, _, err := measure(t, good, time.Hour, func(n int, _ time.Duration) string {
			if n == 3 {
				return answer
			}
			return counted(n)
		})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", answer, err)
		}
	}
	for _, change := range []func(*Plan){
		func(p *Plan) { p.Rate = 0 }, func(p *Plan) { p.Rate = MaxRate + 1 }, func(p *Plan) { p.Requests = 0 },
		func(p *Plan) { p.Requests = MaxRequests + 1 }, func(p *Plan) { p.Patience = -1 },
	} {
		p := good
		change(&p)
		_, _, err := measure(t, p, 0, func(n int, _ time.Duration) string { return counted(n) })
		if err == nil || !strings.Contains(err.Error(), "the limits are") {
			t.Errorf("%+v: %v", p, err)
		}
	}
}

// TestGone: a server that hangs up is an error, and being stopped is none.
func TestGone(t *testing.T) {
	ours, theirs := net.Pipe()
	theirs.Close()
	if err := (Plan{Rate: 100, Requests: 1}).Run(t.Context(), ours, nil, nil); err == nil {
		t.Error("no error")
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	ours, _ = net.Pipe()
	if err := (Plan{Rate: 1, Requests: 1}).Run(ctx, ours, nil, nil); err != nil {
		t.Error(err)
	}
}
