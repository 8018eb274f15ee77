package workload

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/histogram"
)

// webSpec is a service as a campaign defines it.
func webSpec(q Requests) Spec {
	return Spec{Name: "web", Server: []string{"/app", "serve"}, Requests: &q, SizeUnit: "requests", MinSize: 100,
		MaxSize: 1000, As: &Process{UID: 1234}}
}

// printed is what tare-http prints of requests that took a millisecond each.
func printed(t *testing.T, rate, requests, failed int, more string) []byte {
	t.Helper()
	h := &histogram.Histogram{}
	if err := h.Add(1e6, int64(requests-failed)); err != nil {
		t.Fatal(err)
	}
	encoded, err := h.Encode()
	if err != nil {
		t.Fatal(err)
	}
	seconds := float64(requests) / float64(rate)
	return fmt.Appendf(nil, `{"tool":"tare-http","url":"http://x/","stated_rate":%d,"connections":32,"opened":1,`+
		`"requests":%d,"answered":%d,"failed":%d,"late":0,"bytes":10,"seconds":%v,"rate":%v,"mean":0.001,"max":0.001,`+
		`"latencies":"%s"%s}`, rate, requests, requests-failed, failed, seconds, float64(requests-failed)/seconds, encoded, more)
}

// requested is a trial in which tare-http printed that.
func requested(w *Workload, size int64, output []byte) []StepResult {
	var all []StepResult
	for _, s := range w.Trial(size, "192.0.2.7") {
		r := StepResult{Name: s.Name, Wall: time.Second, Stopped: s.Background}
		if s.Timed {
			r.Stdout = output
		}
		all = append(all, r)
	}
	return all
}

// TestRequestsAtRate: the service runs as the image says, the load generator does not, and all requests count.
func TestRequestsAtRate(t *testing.T) {
	w := custom(t, webSpec(Requests{Port: 8080, URL: "/x", Rate: 200, Connections: 32}))
	var lines []string
	for _, s := range w.Trial(500, "192.0.2.7") {
		if (s.As != nil) != (s.Name == "service") {
			t.Errorf("%+v", s)
		}
		lines = append(lines, s.Name+": "+strings.Join(append(s.Argv, s.Ready...), " "))
	}
	const program = "/usr/local/bin/tare-http"
	want := "service: /app serve " + program + " -dial http://192.0.2.7:8080/x\n" +
		"check: " + program + " -rate 200 -requests 100 -connections 32 http://192.0.2.7:8080/x\n" +
		"requests: " + program + " -rate 200 -requests 500 -connections 32 http://192.0.2.7:8080/x"
	if got := strings.Join(lines, "\n"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	results := requested(w, 500, printed(t, 200, 500, 0, ""))
	m, err := w.Evaluate(500, results)
	if err != nil || m["latency"] != 0.001 || w.Searches {
		t.Errorf("%v, %v", m, err)
	}
	if h, err := w.Latencies(results); err != nil || h.Count() != 500 {
		t.Errorf("%v, %v", h, err)
	}
	if r, err := w.AtRate(results); err != nil || r.Stated != 200 || r.Achieved != 200 || r.Late != 0 {
		t.Errorf("%+v, %v", r, err)
	}
	m, err = w.Evaluate(500, requested(w, 500, printed(t, 200, 500, 1, `,"first_error":"status 500"`)))
	checkRefused(t, m, err, "1 of 500 requests failed", "status 500")
	m, err = w.Evaluate(500, requested(w, 500, printed(t, 200, 400, 0, "")))
	checkRefused(t, m, err, "400 requests instead of 500")
}

// TestLargestRate: the rate is the metric, and the trial's CPU time is not that of the same work.
func TestLargestRate(t *testing.T) {
	w := custom(t, webSpec(Requests{Port: 80, URL: "/", Within: 20 * time.Millisecond, Connections: 4}))
	steps := w.Trial(1, "192.0.2.7")
	if got := strings.Join(steps[2].Argv[1:], " "); got != "-within 20ms -connections 4 http://192.0.2.7:80/" {
		t.Error(got)
	}
	results := requested(w, 1, printed(t, 930, 400, 1, `,"within":0.02,"tries":7`))
	m, err := w.Evaluate(1, results)
	if err != nil || m[LargestRate] != 930 || !w.Searches || w.Latencies != nil || w.Metrics[0].Better != Higher {
		t.Errorf("%v, %v", m, err)
	}
	if r, err := w.AtRate(results); err != nil || r.Stated != 930 || r.Achieved != 930*399./400 {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestServiceFaults: an error says what the service did, not what its requests then met.
func TestServiceFaults(t *testing.T) {
	w := custom(t, webSpec(Requests{Port: 8080, URL: "/x", Rate: 200, Connections: 32}))
	refused := StepResult{Name: "check", ExitCode: 1, Stderr: []byte("tare-http: connection refused\n")}
	for _, c := range []struct {
		results []StepResult
		says    []string
	}{
		{[]StepResult{refused, {Name: "service", ExitCode: 3, Stderr: []byte("no database\n")}},
			[]string{"the service ended with exit status 3", "no database", "stay in the foreground"}},
		{[]StepResult{{Name: "service", Signal: "SIGSEGV"}, refused}, []string{"the service ended by SIGSEGV"}},
		{[]StepResult{{Name: "service"}, refused}, []string{"the service ended with exit status 0"}},
		{[]StepResult{refused, {Name: "service", Stopped: true}},
			[]string{"listens on port 8080, but a request for /x fails", "connection refused"}},
	} {
		m, err := w.Evaluate(500, c.results)
		checkRefused(t, m, err, c.says...)
		if fault.KindOf(err) != fault.Guest {
			t.Error(err)
		}
	}
}
