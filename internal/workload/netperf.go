package workload

import (
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/tare-bench/tare/internal/fault"
)

// netperf returns one of netperf's tests: TCP_CRR, with transactions as the unit of
// its sizes, or TCP_STREAM, with MiB.
func netperf(test, article string) *Workload {
	w := &Workload{
		Name: "netperf-" + strings.ToLower(test[strings.IndexByte(test, '_')+1:]), ArticleIDs: []string{article},
		Source: "netperf " + test + " (netperf)", Packages: []string{"netperf"}, NonFree: true,
		MaxSize: 1 << 30,
	}
	scale, unit, metric := int64(1), 1.0, rateMetric("rate", "1/s", "transactions per second, as netperf prints it")
	if test == "TCP_CRR" {
		w.Title, w.SizeUnit, w.MinSize, w.DefaultSize = "connections with a request and a response of one byte each, one after the other", "transactions", 500, 20_000
	} else {
		w.Title, w.SizeUnit, w.MinSize, w.DefaultSize = "TCP throughput by netperf", "MiB sent", 128, 4096
		w.MaxSize = 1 << 24
		scale, unit, metric = 1<<20, 1e6, rateMetric("bandwidth", "bit/s", "as netperf prints it")
	}
	w.Metrics = []Metric{metric, wallMetric("the whole test, and the start of netperf"), guestTimeMetric("work / the rate that netperf prints")}
	port := strconv.Itoa(netperfPort)
	return w.netWorkload(netperfPort, []string{"netserver", "-D", "-4", "-L", ServerAddress, "-p", port}, func(size int64) []string {
		// A negative length is an amount of work instead of a time.
		return []string{"netperf", "-4", "-H", ServerAddress, "-p", port, "-t", test, "-l", strconv.FormatInt(-size*scale, 10)}
	}, func(text string) (reading, error) {
		r, err := parseNetperf(text)
		if err == nil && r.test != test && r.test != "" {
			err = fault.Guestf("this is a report of netperf's %s, not of %s", r.test, test)
		}
		if r.seconds == 0 {
			return reading{values: map[string]float64{metric.Name: r.rate * unit}}, err
		}
		return reading{
			values: map[string]float64{metric.Name: r.rate, "time" + GuestSuffix: r.seconds},
			check: func(size int64) error {
				work := float64(size)
				if test == "TCP_STREAM" {
					work *= 8 << 20
				}
				if math.Abs(r.rate*r.seconds-work) > 0.02*work+0.006*r.rate {
					return fault.Guestf("rate × time is not the work: %v/s, %v s, %.0f requested", r.rate, r.seconds, work)
				}
				return nil
			},
		}, err
	})
}

type netperfReport struct {
	test          string  // "": not printed
	seconds, rate float64 // rate: 1/s or bit/s; without seconds (0), it is in netperf's unit
}

var (
	netperfCRR    = regexp.MustCompile(`(?m)^\d+ +\d+ +\d+ +\d+ +(\d+\.\d+) +(\d+\.\d+) *$`)
	netperfStream = regexp.MustCompile(`(?m)^ *\d+ +\d+ +\d+ +(\d+\.\d+) +(\d+\.\d+) *$`)
	netperfOmni   = regexp.MustCompile(`(?m)^(THROUGHPUT|THROUGHPUT_UNITS|ELAPSED_TIME)=(\S+)$`)
	netperfBare   = regexp.MustCompile(`^\s*(\d+\.\d+)\s*$`)
	netperfSays   = regexp.MustCompile(`(?m)^(?:establish.control|send_|recv_|netperf: |catcher: |shutdown_control).*$`)
	netperfTest   = regexp.MustCompile(`(?m)^(?:MIGRATED )?(TCP Connect/Request/Response|TCP STREAM|TCP MAERTS|OMNI Send) TEST from `)
)

// parseNetperf reads one report of netperf's TCP_CRR, TCP_STREAM or TCP_MAERTS, or
// of an omni test in 10^6 bits per second.
func parseNetperf(text string) (netperfReport, error) {
	var r netperfReport
	if err := refused("netperf", text); err != nil {
		return r, err
	}
	if line := netperfSays.FindString(text); line != "" {
		return r, fault.Guestf("netperf failed: %s", quote(line))
	}
	if m := netperfBare.FindStringSubmatch(text); m != nil { // -P 0 -v 0
		f, err := number(m[1])
		if err == nil && f == 0 {
			err = fault.Guestf("netperf reports a result of 0")
		}
		return netperfReport{rate: f}, err
	}
	head := netperfTest.FindAllStringSubmatch(grep(text, "TEST from"), -1)
	if len(head) != 1 {
		return r, fault.Guestf("%d reports of netperf instead of one", len(head))
	}
	line, unit := netperfStream, 1e6
	switch head[0][1] {
	case "TCP Connect/Request/Response":
		r.test, line, unit = "TCP_CRR", netperfCRR, 1
	case "TCP STREAM":
		r.test = "TCP_STREAM"
	case "TCP MAERTS":
		r.test = "TCP_MAERTS"
	default:
		found := map[string]string{}
		for _, m := range netperfOmni.FindAllStringSubmatch(text, -1) {
			found[m[1]] = m[2]
		}
		if found["THROUGHPUT_UNITS"] != "10^6bits/s" {
			return r, fault.Guestf("netperf's throughput is in %s, not in 10^6bits/s", quote(found["THROUGHPUT_UNITS"]))
		}
		r.test = "TCP_STREAM"
		text = "0 0 0 " + found["ELAPSED_TIME"] + " " + found["THROUGHPUT"] + "\n"
	}
	m := line.FindAllStringSubmatch(text, -1)
	if len(m) != 1 {
		return r, fault.Guestf("%d lines with netperf results instead of one", len(m))
	}
	f, err := numbers(m[0][1:]...)
	if err != nil {
		return r, err
	}
	r.seconds, r.rate = f[0], f[1]*unit
	if r.seconds == 0 || r.rate == 0 {
		return r, fault.Guestf("netperf reports no work or no time: %s", quote(m[0][0]))
	}
	return r, nil
}
