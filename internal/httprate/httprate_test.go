package httprate

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tare-bench/tare/internal/histogram"
)

// server answers requests in the time of a synctest bubble, which passes only while everybody waits: the machine's
// load does not matter.
type server func(n int, since time.Duration)

// transport returns a server as a client sees it. The server learns how many requests came before this one, and when.
func (s server) transport() http.RoundTripper {
	began, count := time.Now(), make(chan int, 1)
	count <- 0
	return roundTripper(func(*http.Request) (*http.Response, error) {
		n := <-count
		count <- n + 1
		s(n, time.Since(began))
		return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader("page"))}, nil
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// in runs the plan against the server, in a bubble.
func in(t *testing.T, p Plan, s server) (r *Result, h *histogram.Histogram) {
	t.Helper()
	p.URL, p.Connections, p.Timeout = "http://server/", 1000, time.Hour
	synctest.Test(t, func(t *testing.T) {
		var err error
		if r, err = p.run(t.Context(), s.transport()); err != nil {
			t.Fatal(err)
		}
	})
	h, err := histogram.Decode([]byte(r.Latencies))
	if err != nil {
		t.Fatal(err)
	}
	return r, h
}

// TestStall: a server that stalls for a second from its first second on holds up the requests that are due meanwhile.
// A client that sends a request only after the answer to the one before holds back with it, and sees one slow request.
func TestStall(t *testing.T) {
	stall := server(func(_ int, since time.Duration) {
		if since >= time.Second && since < 2*time.Second {
			time.Sleep(2*time.Second - since)
		}
		time.Sleep(time.Millisecond)
	})
	r, open := in(t, Plan{Rate: 100, Requests: 300}, stall)
	if got := open.AtLeast(500 * time.Millisecond); got < 45 || got > 55 {
		t.Errorf("%d requests took half a second or more, want about 50: %+v", got, r)
	}
	if r.Answered != 300 || r.Failed != 0 || r.Late != 0 || r.Bytes != 4*300 || r.Rate != 100 {
		t.Errorf("%+v", r)
	}
	closed := &histogram.Histogram{}
	synctest.Test(t, func(t *testing.T) {
		over := stall.transport()
		for range 300 {
			sent := time.Now()
			answer, err := over.RoundTrip(nil)
			if err != nil {
				t.Fatal(err)
			}
			answer.Body.Close()
			if err := closed.Add(time.Since(sent).Nanoseconds(), 1); err != nil {
				t.Fatal(err)
			}
			time.Sleep(10*time.Millisecond - time.Since(sent))
		}
	})
	if got := closed.AtLeast(500 * time.Millisecond); got != 1 {
		t.Errorf("the closed loop saw %d requests of half a second or more, want 1", got)
	}
}

// TestDelay: a delay of 20 ms in 1 % of the requests moves p99.5 and leaves p50 as it is.
func TestDelay(t *testing.T) {
	run := func(delay time.Duration) *histogram.Histogram {
		_, h := in(t, Plan{Rate: 200, Requests: 4000}, func(n int, _ time.Duration) {
			time.Sleep(time.Millisecond)
			if n%100 == 50 {
				time.Sleep(delay)
			}
		})
		return h
	}
	without, with := run(0), run(20*time.Millisecond)
	if a, b := without.Quantile(0.5), with.Quantile(0.5); b < 0.99*a || b > 1.01*a {
		t.Errorf("p50: %v ns without the delay, %v ns with it", a, b)
	}
	if ms := (with.Quantile(0.995) - without.Quantile(0.995)) / 1e6; ms < 19.5 || ms > 20.5 {
		t.Errorf("p99.5 moved by %v ms, want 20", ms)
	}
}

// TestOverload: a server that takes 20 ms for each request and serves one at a time cannot answer 100 a second. Each
// request waits for all those before it, and this program is not what was late.
func TestOverload(t *testing.T) {
	var r *Result
	synctest.Test(t, func(t *testing.T) {
		turn := make(chan struct{}, 1)
		busy := server(func(int, time.Duration) {
			turn <- struct{}{}
			time.Sleep(20 * time.Millisecond)
			<-turn
		})
		p := Plan{URL: "http://server/", Rate: 100, Requests: 200, Connections: 8, Timeout: time.Hour}
		var err error
		if r, err = p.run(t.Context(), busy.transport()); err != nil {
			t.Fatal(err)
		}
	})
	if r.Rate != 50 || r.Seconds != 4 || r.Late != 0 || r.Answered != 200 {
		t.Errorf("%+v", r)
	}
	if r.Mean < 0.9 || r.Mean > 1.1 || r.Max < 1.95 || r.Max > 2.05 {
		t.Errorf("mean %v s, longest %v s; want about 1 and 2", r.Mean, r.Max)
	}
}

// TestFull: with more requests unanswered than there is room for, later ones still count from when they were due, and
// are not this program's fault.
func TestFull(t *testing.T) {
	r, h := in(t, Plan{Rate: 1000, Requests: 2 * maxUnanswered}, func(_ int, since time.Duration) {
		if since < 8*time.Second {
			time.Sleep(8*time.Second - since)
		}
	})
	if r.Late != 0 || r.Answered != 2*maxUnanswered {
		t.Errorf("%+v", r)
	}
	if got := h.AtLeast(500 * time.Millisecond); got < 7400 || got > 7600 {
		t.Errorf("%d requests took half a second or more, want about 7500", got)
	}
}

// TestLate: requests that were sent late are counted, and their latencies count from when they were due.
func TestLate(t *testing.T) {
	began := time.Now()
	at := func(ms int) time.Time { return began.Add(time.Duration(ms) * time.Millisecond) }
	s := &schedule{rate: 100, requests: 4, began: began}
	all := []answer{ // as they are answered
		{seq: 0, sent: at(0), ended: at(5)},
		{seq: 2, sent: at(51), ended: at(52)},
		{seq: 1, sent: at(50), ended: at(60)},
		{seq: 3, sent: at(51), ended: at(53), failure: "status 503"},
	}
	r, err := Plan{Rate: 100, Requests: 4}.result(s, all)
	if err != nil {
		t.Fatal(err)
	}
	if r.Late != 3 || r.Answered != 3 || r.Failed != 1 || r.FirstError != "status 503" || r.Max != 0.050 ||
		r.Seconds != 0.060 || r.Rate != 50 {
		t.Errorf("%+v", r)
	}
	s.full = 2
	if r, err = (Plan{Rate: 100, Requests: 4}).result(s, all); err != nil || r.Late != 1 {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestServer makes requests of a real server.
func TestServer(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/page":
			io.WriteString(w, "0123456789")
		case "/moved":
			http.Redirect(w, r, "/page", http.StatusFound)
		default:
			http.NotFound(w, r)
		}
	}))
	defer s.Close()
	p := Plan{URL: s.URL + "/page", Rate: 500, Requests: 100, Connections: 4, Timeout: time.Minute}
	r, err := Run(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	h, err := histogram.Decode([]byte(r.Latencies))
	if err != nil || h.Count() != 100 || r.Answered != 100 || r.Failed != 0 || r.Bytes != 1000 || r.Rate > 500 ||
		r.Mean <= 0 || r.Mean > r.Max || r.Opened >= 100 {
		t.Errorf("%d latencies, %v: %+v", h.Count(), err, r)
	}
	p.Reconnect = true
	if r, err = Run(t.Context(), p); err != nil || r.Answered != 100 || r.Opened != 100 {
		t.Errorf("a connection for each request: %+v, %v", r, err)
	}
	p.Reconnect = false
	for path, says := range map[string]string{"/moved": "status 302", "/none": "404"} {
		p.URL = s.URL + path
		if _, err := Run(t.Context(), p); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", path, err)
		}
	}
	ctx, stop := context.WithCancelCause(t.Context())
	p.URL, p.Requests = s.URL+"/page", MaxRequests
	stopped := errors.New("stopped")
	time.AfterFunc(100*time.Millisecond, func() { stop(stopped) })
	if _, err := Run(ctx, p); !errors.Is(err, stopped) {
		t.Error(err)
	}
}

func TestImpossible(t *testing.T) {
	good := Plan{URL: "http://server/", Rate: 1, Requests: 1, Connections: 1, Timeout: time.Hour}
	for _, change := range []func(*Plan){
		func(p *Plan) { p.Rate = 0 }, func(p *Plan) { p.Rate = MaxRate + 1 }, func(p *Plan) { p.Requests = 0 },
		func(p *Plan) { p.Requests = MaxRequests + 1 }, func(p *Plan) { p.Connections = 0 },
	} {
		p := good
		change(&p)
		if _, err := Run(t.Context(), p); err == nil || !strings.Contains(err.Error(), "the limits are") {
			t.Errorf("%+v: %v", p, err)
		}
	}
}
