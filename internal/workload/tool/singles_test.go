package tool

import (
	"errors"
	"math"
	"os"
	"testing"
)

func TestHistogram(t *testing.T) {
	read := func(tool, path string) *Report {
		t.Helper()
		text, err := os.ReadFile("testdata/" + path)
		if err != nil {
			t.Fatal(err)
		}
		r, err := Read(tool, string(text))
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	fio := read("fio", "fio/randrw-jsonplus.txt")
	h, err := fio.Histogram(Singles{Before: "read clat_ns bins ", Unit: "ns", Count: "read operations"})
	if err != nil || h.Count() != int64(fio.Value("read operations")) {
		t.Fatalf("%+v, %v", h, err)
	}
	// fio prints the same percentiles of its own.
	for q, figure := range map[float64]string{0.5: " read clat_ns percentile 50.000000",
		0.99: " read clat_ns percentile 99.000000"} {
		if got, want := h.Quantile(q), fio.Value(figure); want == 0 || math.Abs(got/want-1) > 0.05 {
			t.Errorf("%s: %v, want %v", figure, got, want)
		}
	}
	if _, err := fio.Histogram(Singles{Before: "read clat_ns bins ", Unit: "ns",
		Count: "write operations"}); !errors.Is(err, ErrContradiction) {
		t.Errorf("a histogram with other counts: %v", err)
	}
	page := read("tare-http", "tare-http/static-200.txt")
	h, err = page.Histogram(Singles{Word: "latencies"})
	if err != nil || h.Count() != 160 || h.Quantile(0.5) > 1e9*page.Value("max latency") {
		t.Errorf("%+v, %v", h, err)
	}
	// A histogram that ends at 80 us, and has 5 of 100 latencies.
	short := read("rt-tests", "rt-tests/cyclictest-h-json.txt")
	singles := Singles{Before: "wake-ups of ", After: " us", Unit: "us", Width: 1, Count: "wake-ups"}
	if _, err := short.Histogram(singles); !errors.Is(err, ErrContradiction) {
		t.Errorf("a histogram without the longest latencies: %v", err)
	}
	singles.Beyond = "max wake-up latency"
	h, err = short.Histogram(singles)
	if err != nil || h.Count() != 100 || math.Abs(h.Quantile(0.065)/1753000-1) > 0.02 || h.Quantile(0.045) > 81_000 {
		t.Errorf("%+v, %v", h, err)
	}
	r := &Report{Tool: "sysbench"}
	r.add("latencies of 0.120 ms", 3, "1", "")
	r.add("latencies of 12.000 ms", 1, "1", "")
	r.add("events", 4, "1", "")
	singles = Singles{Before: "latencies of ", After: " ms", Unit: "ms", Count: "events"}
	if h, err := r.Histogram(singles); err != nil || h.Count() != 4 || math.Abs(h.Quantile(0.9)/12e6-1) > 0.01 {
		t.Errorf("%+v, %v", h, err)
	}
	for _, bad := range []struct {
		latency string
		count   float64
	}{{"9e99", 1}, {"99999999999", 1}, {"1", 0.5}, {"1", 1e18}} {
		r := &Report{Tool: "sysbench"}
		r.add("latencies of "+bad.latency+" ms", bad.count, "1", "")
		r.add("events", bad.count, "1", "")
		if h, err := r.Histogram(singles); err == nil {
			t.Errorf("%v: %+v", bad, h)
		}
	}
}
