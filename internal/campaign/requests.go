package campaign

import (
	"strings"
	"time"

	"github.com/tare-bench/tare/internal/strict"
)

// Requests says what is requested of a server: a page at a constant rate, or at the largest rate at which 99 % of the
// requests are answered within a time.
type Requests struct {
	Port        int           // 0: there are none
	URL         string        // without the server
	Rate        int           // requests a second; 0: Within is not 0
	Within      time.Duration // of when a request was due
	Connections int           // at once, at most
}

// Bounds of the number of requests of a trial.
const (
	leastRequests = 20
	mostRequests  = 5_000_000
)

var urlKind = strict.Verbatim("a path such as /health", strict.Schema{"type": "string", "pattern": "^/"},
	strict.Rule(func(s string) bool { return strings.HasPrefix(s, "/") && !strings.ContainsAny(s, " {}\n\x00") },
		"it begins with / and has neither spaces nor braces"), strict.Text)

var requestsKeys = []strict.Key[Requests]{
	strict.Required(strict.Field("port", "TCP port on which the server listens, on all addresses.",
		strict.Whole[int](1, 65535), func(q *Requests) *int { return &q.Port })),
	strict.FieldOr("url", "The page, from / on.", urlKind, func(q *Requests) *string { return &q.URL }, "/"),
	strict.Field("rate", "Requests that are due in a second, whether or not the server keeps up.",
		strict.Whole[int](1, 100_000), func(q *Requests) *int { return &q.Rate }),
	strict.Field("within", "Instead of a rate: the time within which 99 % of the requests must be answered. The largest "+
		"rate at which they are is the result.",
		durationKind, func(q *Requests) *time.Duration { return &q.Within }),
	strict.FieldOr("connections", "Connections at once, at most; a request for which none is free waits, and its time "+
		"runs.",
		strict.Whole[int](1, 1000), func(q *Requests) *int { return &q.Connections }, 32),
}

var requestsKind = strict.Object("requests", requestsKeys)

// checkRequests checks a workload with requests, and fills in its bounds.
func (r *checker) checkRequests(path string, w *Workload) {
	own, q := &w.Own, w.Own.Requests
	if own.Server == nil {
		r.Fail(path+".requests", "requests need a server: give %q one with server: [...]", w.Name)
	}
	if (q.Rate > 0) == (q.Within > 0) {
		r.Fail(path+".requests", "requests have either a rate, or within for the largest rate")
	}
	if r.Has(path+".requests.within") && (q.Within < time.Millisecond || q.Within > time.Minute) {
		r.Fail(path+".requests.within", "within %s is out of range: 1ms to 1m", FormatDuration(q.Within))
	}
	refused := []string{"command", "prepare", "clean", "ready", "files", "expect", "refuse", "metrics"}
	given := *own
	own.SizeUnit, own.MinSize, own.MaxSize = "", 0, 0
	if q.Rate > 0 {
		own.SizeUnit, own.MinSize, own.MaxSize = "requests", max(leastRequests, int64(q.Rate)/2), mostRequests
	}
	if given.SizeUnit != own.SizeUnit || given.MinSize != own.MinSize || given.MaxSize != own.MaxSize {
		refused = append(refused, "size_unit", "min_size", "max_size") // a canonical form has those
	}
	for _, key := range refused {
		if r.Has(path + "." + key) {
			r.Fail(path+"."+key, "%s has no effect on requests", key)
		}
	}
	if q.Rate > 0 {
		return
	}
	w.sizes = sizes{}
	if r.Has(path + ".size") {
		r.Fail(path+".size", "size has no effect: the largest rate is looked for, whatever number of requests that takes")
	}
}
