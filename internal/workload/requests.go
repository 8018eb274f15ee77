package workload

import (
	"cmp"
	"fmt"
	"strconv"
	"time"

	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/workload/tool"
)

// Requests says how a service that a campaign defines is measured: tare-http requests a page of it, either at Rate, or
// at the largest rate at which 99 % of the requests are answered Within that time of when they were due.
type Requests struct {
	Port        int
	URL         string // without the server: "/"
	Rate        int    // requests a second; 0: Within is not 0
	Within      time.Duration
	Connections int // at once, at most
}

// TareHTTP is the load generator of package httprate, as a program and as a tool.
const TareHTTP = "tare-http"

// tareHTTPPath is where images have it. A service's own PATH need not lead there.
const tareHTTPPath = "/usr/local/bin/" + TareHTTP

// LargestRate is the metric of a workload that looks for the largest rate.
const LargestRate = "largest-rate"

const (
	// openWithin is how long a service may take until its port is open.
	openWithin = 30 * time.Second
	// checkedWith is how many requests check a service before its largest rate is looked for.
	checkedWith = 5
)

func (q Requests) url() string { return "http://" + ServerAddress + ":" + strconv.Itoa(q.Port) + q.URL }

// argv is the command line of tare-http.
func (q Requests) argv(flags ...string) []string {
	return append(append([]string{tareHTTPPath}, flags...), q.url())
}

// requested completes the workload of a service. The load generator is no program of the container image, so it runs
// as root with tare's environment.
func (w *Workload) requested(s Spec) *Workload {
	q := *s.Requests
	w.Title = "a service that the campaign defines"
	w.Source = "the campaign's own server; requests by tare-http, a program of tare's on vegeta"
	w.Programs, w.Brings = []string{tareHTTPPath}, []string{TareHTTP}
	w.Serve = func(size int64) []Step {
		return []Step{{Name: "service", Background: true, Argv: s.put(s.Server, size), Ready: q.argv("-dial"), As: s.As,
			Timeout: openWithin}}
	}
	connections := []string{"-connections", strconv.Itoa(q.Connections)}
	at := func(rate int, requests int64) []string {
		return append([]string{"-rate", strconv.Itoa(rate), "-requests", strconv.FormatInt(requests, 10)}, connections...)
	}
	by := Measurement{Step: "requests", Tool: TareHTTP, Accept: AllAnswered}
	var check []string
	var measure func(size int64) []string
	if q.Rate > 0 {
		w.Uneven = "" // their time is given by their rate
		w.Metrics = []Metric{Latency("latency", "mean latency", "mean per request, from when it was due"),
			Time("all requests, which is mostly given by their rate, and the start of tare-http")}
		by.Did, by.SingleOf, by.Singles = "requests", "latency", tool.Singles{Word: "latencies"}
		check = at(q.Rate, w.MinSize)
		measure = func(size int64) []string { return at(q.Rate, size) }
	} else {
		w.Searches, w.SizeUnit = true, "runs of the search"
		w.Metrics = []Metric{Rate(LargestRate, "1/s", "stated rate",
			"the largest rate of requests of which 99 % were answered within "+q.Within.String())}
		by.Accept = nil // 1 % may fail
		check = at(2*checkedWith, checkedWith)
		measure = func(int64) []string { return append([]string{"-within", q.Within.String()}, connections...) }
	}
	w.DefaultSize = w.MinSize
	w.Steps = func(size int64) []Step {
		return []Step{{Name: "check", Argv: q.argv(check...)},
			{Name: by.Step, Argv: q.argv(measure(size)...), Timed: true, Timeout: s.Timeout}}
	}
	w.AtRate = HTTPRates(by.Step)
	w.MeasuredBy(by)
	evaluate := w.Evaluate
	w.Evaluate = func(size int64, results []StepResult) (map[string]float64, error) {
		if err := q.served(results); err != nil {
			return nil, err
		}
		return evaluate(size, results)
	}
	return w
}

// served says what is wrong with the service itself, which is why all that comes after it failed.
func (q Requests) served(results []StepResult) error {
	for _, r := range results {
		if r.Name != "service" || r.Stopped {
			continue
		}
		how := fmt.Sprintf("with exit status %d", r.ExitCode)
		if r.Signal != "" {
			how = "by " + r.Signal
		}
		return fault.Guestf("the service ended %s after %v, before tare stopped it%s; a service must stay in the foreground",
			how, r.Wall.Round(time.Millisecond), r.Said())
	}
	for _, r := range results {
		if err := succeeded(r); err != nil && r.Name == "check" {
			return fault.Guestf("the service listens on port %d, but a request for %s fails: %w", q.Port, q.URL, err)
		}
	}
	return nil
}

// AllAnswered returns an error if tare-http did not get the page for every request.
func AllAnswered(r *tool.Report) error {
	if failed := r.Value("failed"); failed > 0 {
		return fault.Guestf("%.0f of %.0f requests failed; the first error: %s", failed, r.Value("requests"),
			tool.Quote(cmp.Or(r.Words["first error"], "unknown")))
	}
	return nil
}

// HTTPRates reads the rates of requests in what tare-http printed in a step.
func HTTPRates(step string) func(results []StepResult) (Rates, error) {
	return func(results []StepResult) (Rates, error) {
		for _, s := range results {
			if s.Name != step {
				continue
			}
			r, err := tool.Read(TareHTTP, s.Output())
			if err != nil {
				return Rates{}, InStep(step, err)
			}
			rates := Rates{Stated: r.Value("stated rate"), Achieved: r.Value("rate"),
				Late: r.Value("late") / r.Value("requests")}
			if r.Value("within") > 0 { // the windows of a search are so short that waiting for the last answer counts
				rates.Achieved = rates.Stated * r.Value("answered") / r.Value("requests")
			}
			return rates, nil
		}
		return Rates{}, fault.Guestf("the trial has no step %s", step)
	}
}
