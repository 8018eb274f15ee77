package tool

import (
	"encoding/json"
	"math"

	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/histogram"
)

// readTareHTTP reads the line of tare-http. The word "latencies" is the histogram of the single latencies.
func readTareHTTP(text string, r *Report) error {
	objects, text, err := jsonObjects("tare-http", text)
	if err != nil {
		return err
	}
	switch {
	case len(objects) == 0:
		return fault.Guestf("the output has no result of tare-http: %s", Quote(text))
	case len(objects) > 1:
		return fault.Guestf("the output has %d results of tare-http instead of one", len(objects))
	}
	var doc struct {
		Tool, URL, Latencies                                                  string
		FirstError                                                            string  `json:"first_error"`
		StatedRate                                                            float64 `json:"stated_rate"`
		Rate, Connections, Requests, Answered, Failed, Late, Bytes, Mean, Max float64
		Seconds                                                               float64
		Opened                                                                *float64 // nil: an older tare-http
		Within, Tries                                                         float64  // of a search; 0: none
	}
	if err := json.Unmarshal([]byte(objects[0]), &doc); err != nil || doc.Tool != "tare-http" {
		return fault.Guestf("this is not the result of tare-http: %s", Quote(objects[0]))
	}
	h, err := histogram.Decode([]byte(doc.Latencies))
	if err != nil {
		return fault.Guestf("the histogram of tare-http: %w", err)
	}
	switch {
	case doc.Answered+doc.Failed != doc.Requests || doc.Late > doc.Requests:
		if err := r.doubt(Contradiction("of %.0f requests, %.0f were answered, %.0f failed and %.0f were late", doc.Requests,
			doc.Answered, doc.Failed, doc.Late)); err != nil {
			return err
		}
	case float64(h.Count()) != doc.Answered:
		if err := r.doubt(Contradiction("the histogram of tare-http has %d latencies of %.0f", h.Count(),
			doc.Answered)); err != nil {
			return err
		}
	case math.Abs(doc.Rate*doc.Seconds-doc.Answered) > 1e-6*doc.Answered || doc.Rate > doc.StatedRate*(1+1e-6):
		if err := r.doubt(Contradiction("%.0f answers in %v s are not %v/s, or more than the stated %v/s", doc.Answered,
			doc.Seconds,
			doc.Rate, doc.StatedRate)); err != nil {
			return err
		}
	case doc.Mean > doc.Max:
		if err := r.doubt(Contradiction("the mean latency %v s is longer than the longest, %v s", doc.Mean,
			doc.Max)); err != nil {
			return err
		}
	}
	r.add("stated rate", doc.StatedRate, "1/s", "")
	r.add("connections", doc.Connections, "1", "")
	if doc.Within > 0 {
		r.add("within", doc.Within, "s", "")
		r.add("tries", doc.Tries, "1", "")
	}
	if doc.Opened != nil {
		r.add("opened", *doc.Opened, "1", "")
	}
	r.add("requests", doc.Requests, "1", "")
	r.add("answered", doc.Answered, "1", Higher)
	r.add("failed", doc.Failed, "1", Lower)
	r.add("late", doc.Late, "1", Lower)
	r.add("transferred", doc.Bytes, "B", "")
	r.seconds("time", doc.Seconds)
	r.add("rate", doc.Rate, "1/s", Higher)
	r.add("mean latency", doc.Mean, "s", Lower)
	r.add("max latency", doc.Max, "s", Lower)
	r.say("url", doc.URL)
	r.say("latencies", doc.Latencies)
	if doc.FirstError != "" {
		r.say("first error", doc.FirstError)
	}
	return nil
}
