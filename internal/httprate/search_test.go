package httprate

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// oneByOne answers one request at a time, each in that long.
func oneByOne(each time.Duration) server {
	turn := make(chan struct{}, 1)
	return func(int, time.Duration) {
		turn <- struct{}{}
		time.Sleep(each)
		<-turn
	}
}

// largest searches in a bubble.
func largest(t *testing.T, within time.Duration, make func() server) (r *Result, err error) {
	t.Helper()
	s := Search{URL: "http://server/", Connections: 8, Within: within, Window: 500 * time.Millisecond}
	synctest.Test(t, func(t *testing.T) { r, err = s.largest(t.Context(), make().transport()) })
	return r, err
}

// TestLargest: a server that takes 10 ms for each request and serves one at a time answers 100 a second at most. With
// 8 connections it takes 80 ms for each when it is busy, but 10 ms at any rate below.
func TestLargest(t *testing.T) {
	r, err := largest(t, 25*time.Millisecond, func() server { return oneByOne(10 * time.Millisecond) })
	if err != nil {
		t.Fatal(err)
	}
	if r.StatedRate < 95 || r.StatedRate > 101 || r.Within != 0.025 || r.Tries < 3 || r.Failed != 0 {
		t.Errorf("%+v", r)
	}
}

// TestLargestStall: a stall that comes once is not taken for the limit of the server.
func TestLargestStall(t *testing.T) {
	var stalled atomic.Bool
	r, err := largest(t, 25*time.Millisecond, func() server {
		one := oneByOne(10 * time.Millisecond)
		return func(n int, since time.Duration) {
			if since > time.Second && stalled.CompareAndSwap(false, true) {
				time.Sleep(300 * time.Millisecond)
			}
			one(n, since)
		}
	})
	if err != nil || !stalled.Load() || r.StatedRate < 95 || r.StatedRate > 101 {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestLargestFails: a server that fails above a rate is not in time there, though its errors are fast.
func TestLargestFails(t *testing.T) {
	over := func() http.RoundTripper {
		var mu sync.Mutex
		var until time.Time
		return roundTripper(func(*http.Request) (*http.Response, error) {
			mu.Lock()
			defer mu.Unlock()
			// A bucket of 20 requests, refilled 50 times a second.
			now := time.Now()
			if until.Before(now) {
				until = now
			}
			until = until.Add(20 * time.Millisecond)
			code := http.StatusOK
			if until.Sub(now) > 400*time.Millisecond {
				code = http.StatusServiceUnavailable
			}
			return &http.Response{StatusCode: code, Body: io.NopCloser(strings.NewReader("page"))}, nil
		})
	}
	s := Search{URL: "http://server/", Connections: 1, Within: time.Second, Window: 500 * time.Millisecond}
	synctest.Test(t, func(t *testing.T) {
		p := s.plan()
		p.Rate, p.Requests = 60, 400
		if r, err := p.run(t.Context(), over()); err != nil || r.Failed == 0 {
			t.Errorf("%+v, %v", r, err)
		}
		p.Rate = 45
		if r, err := p.run(t.Context(), over()); err != nil || r.Failed != 0 {
			t.Errorf("%+v, %v", r, err)
		}
		rate, _, err := s.try(t.Context(), over(), 200)
		if rate != nil || err != nil {
			t.Errorf("%+v, %v", rate, err)
		}
		if rate, tried, err := s.try(t.Context(), over(), 45); rate == nil || tried != 1 || err != nil {
			t.Errorf("%+v, %v", rate, err)
		}
	})
}

// TestNoneInTime: a server that is always too slow has no largest rate.
func TestNoneInTime(t *testing.T) {
	_, err := largest(t, 20*time.Millisecond, func() server { return oneByOne(50 * time.Millisecond) })
	if err == nil || !strings.Contains(err.Error(), "not answered within 20ms at any rate") {
		t.Error(err)
	}
}

// TestLargestOfServer searches for the rate of a real server, which fails for a wrong path.
func TestLargestOfServer(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/page" {
			http.Error(w, "no", http.StatusInternalServerError)
		}
	}))
	defer srv.Close()
	s := Search{URL: srv.URL + "/page", Connections: 2, Within: time.Minute, Window: 20 * time.Millisecond}
	if r, err := Largest(t.Context(), s); err != nil || r.StatedRate < 1 || r.Answered != r.Requests {
		t.Errorf("%+v, %v", r, err)
	}
	if err := Dial(t.Context(), s.URL); err != nil {
		t.Error(err)
	}
	s.URL = srv.URL + "/other"
	if _, err := Largest(t.Context(), s); !errors.As(err, new(unanswered)) || !strings.Contains(err.Error(), "500") {
		t.Error(err)
	}
	if _, err := Largest(t.Context(), Search{URL: s.URL}); err == nil {
		t.Error("a search without a limit")
	}
	srv.Close()
	if err := Dial(t.Context(), s.URL); err == nil || !strings.Contains(err.Error(), "refused") {
		t.Error(err)
	}
}
