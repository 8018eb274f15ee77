package workload

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/tare-bench/tare/internal/histogram"
)

// said is a client's line about requests that all took as long.
func said(t *testing.T, requests int64, took time.Duration) []byte {
	t.Helper()
	h := &histogram.Histogram{}
	if err := h.Add(took.Nanoseconds(), requests); err != nil {
		t.Fatal(err)
	}
	encoded, err := h.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Appendf(nil, `{"requests":%d,"unanswered":0,"latencies":"%s"}`, requests, encoded)
}

// TestServed: the requests of all clients count alike, and those of a silent one as long ones.
func TestServed(t *testing.T) {
	s := &Served{}
	for range 10 {
		if err := s.Add(said(t, 300, time.Millisecond), 300); err != nil {
			t.Fatal(err)
		}
	}
	if p := s.P99(); s.Requests() != 3000 || p < 990*time.Microsecond || p > 1010*time.Microsecond {
		t.Errorf("%d requests, p99 %v", s.Requests(), p)
	}
	if err := s.Miss(300, 11*time.Second); err != nil {
		t.Fatal(err)
	}
	if p := s.P99(); s.Requests() != 3300 || p < 10900*time.Millisecond || p > 11100*time.Millisecond {
		t.Errorf("%d requests, p99 %v", s.Requests(), p)
	}
	for line, want := range map[string]string{
		"panic: no memory":                       "not what a client says",
		`{"latencies":"HIST"}`:                   "histogram of a client",
		string(said(t, 200, 10*time.Nanosecond)): "200 latencies instead of 300",
	} {
		if err := s.Add([]byte(line), 300); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", line, err)
		}
	}
}
