package tool

import (
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/tare-bench/tare/internal/fault"
)

// heyLines are those of hey.
var heyLines = lineTool{lines: []figureLine{
	figures(`^ +(Total|Slowest|Fastest|Average):\s+([\d.]+) secs$`, "%1", "s", Lower),
	figures(`^ +Requests/sec:\s+([\d.]+)$`, "requests", "1/s", Higher),
	figures(`^ +Total data:\s+(\d+) bytes$`, "data", "B", ""),
	figures(`^ +Size/request:\s+(\d+) bytes$`, "data of a request", "B", ""),
	figures(`^ +([\d.]+) \[(\d+)\]\s+\|.*$`, "requests within %1 s", "1", ""),
	figures(`^ +(\d+)% in ([\d.]+) secs$`, "percentile %1", "s", Lower),
	row(`^ +([A-Za-z+ ]+):\s+([\d.]+) secs, ([\d.]+) secs, ([\d.]+) secs$`, label, column{"%1: mean", "s", Lower},
		column{"%1: min", "s", Lower}, column{"%1: max", "s", Lower}),
	figures(`^ +\[(\d+)\]\s+(\d+) responses$`, "status %1", "1", ""),
}, check: func(r *Report) error {
	for _, name := range []string{"Total", "Average", "requests"} {
		if _, err := r.One(name); err != nil && len(r.Figures) > 0 {
			return fault.Guestf("this is not the complete output of one run of hey: %w", err)
		}
	}
	status := func(f Figure) bool { return strings.HasPrefix(f.Name, "status ") }
	if len(r.Figures) > 0 && !slices.ContainsFunc(r.Figures, status) {
		return fault.Guestf("the output of hey has no line of \"Status code distribution\": it is cut off")
	}
	return nil
}}

// pingLines are those of ping, of iputils, busybox, BSD and macOS.
var pingLines = lineTool{failed: regexp.MustCompile(`(?m)^(?:ping: .*|.*(?:Unreachable|Request timeout|Time to live exceeded).*)$`),
	lines: []figureLine{
		row(`^(\d+) packets transmitted, (\d+) (?:packets )?received(?:, \+(\d+) duplicates)?(?:, \+(\d+) errors)?, ([\d.]+)% packet loss(?:, time (\d+)ms)?$`,
			column{"transmitted", "1", ""}, column{"received", "1", ""}, column{"duplicates", "1", Lower},
			column{"errors", "1", Lower}, column{"loss", "%", Lower}, column{"time", "ms", ""}),
		row(`^(?:rtt|round-trip) min/avg/max(?:/(?:mdev|stddev))? = ([\d.]+)/([\d.]+)/([\d.]+)(?:/([\d.]+))? ms(?:, pipe (\d+))?(?:, ipg/ewma ([\d.]+)/([\d.]+) ms)?$`,
			column{"min", "ms", Lower}, column{"mean", "ms", Lower}, column{"max", "ms", Lower},
			column{"deviation", "ms", Lower},
			column{"pipe", "1", ""}, column{"interval", "ms", ""}, column{"moving average", "ms", Lower}),
		row(`^(\d+) bytes from .*: (?:icmp_)?seq=(\d+) ttl=(\d+) time[=<]([\d.]+) ms(?: \(DUP!\))?$`, label, label, label,
			column{"packet %2", "ms", Lower}),
	}, check: func(r *Report) error {
		if len(r.All("transmitted")) == 0 && len(r.Figures) > 0 {
			return fault.Guestf("the output of ping has no line \"packets transmitted\": it is cut off")
		}
		if r.Value("received") > 0 && len(r.All("mean")) == 0 {
			return fault.Guestf("the output of ping has no line \"min/avg/max\": it is cut off")
		}
		sent, got, loss := r.Value("transmitted"), r.Value("received"), r.Value("loss")
		if sent > 0 && len(r.All("duplicates")) == 0 && math.Abs(100*(1-got/sent)-loss) > 1 {
			return Contradiction("%v of %v packets received are not a loss of %v %%", got, sent, loss)
		}
		return nil
	}}
