package tool

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/tare-bench/tare/internal/fault"
)

// nuttcpStart is how the lines of results begin: in brief, with -fparse, and with -v.
var nuttcpStart = regexp.MustCompile(
	`^ *\d+\.\d+ MB / |^megabytes=|^nuttcp-[tr]: .*(?: real seconds = | CPU seconds = |I/O calls|user )`)

const nuttcpNumber = `([\d.]+)`

// nuttcpBrief are a line in brief and with -fparse. An interval has no shares of CPU. UDP has losses instead of
// retransmits.
var (
	nuttcpColumns = []column{{"transferred", "MiB", ""}, {"time", "s", Lower}, {"throughput", "10^6 bit/s", Higher}}
	nuttcpHosts   = []column{{"transmitter's CPU", "%", Lower}, {"receiver's CPU", "%", Lower}}
	nuttcpRest    = []column{{"retransmits", "1", Lower}, {"congestion window", "KB", ""}, {"dropped", "1", Lower},
		{"packets", "1", ""}, {"loss", "%", Lower}, {"round trip", "ms", Lower}}
	nuttcpTotal = []figureLine{
		row(`^ *`+nuttcpNumber+` MB / +`+nuttcpNumber+` sec = +`+
			nuttcpNumber+` Mbps (\d+) %TX (\d+) %RX(?: (\d+) (?:host-)?retrans)?(?: +(\d+) KB-cwnd)?`+
			`(?: +(\d+) / +(\d+) drop/pkt `+nuttcpNumber+` %loss)?(?: `+nuttcpNumber+` msRTT)?$`, nuttcpAll()...),
		row(`^megabytes=`+nuttcpNumber+` real_seconds=`+nuttcpNumber+` rate_Mbps=`+nuttcpNumber+` tx_cpu=(\d+) rx_cpu=(\d+)`+
			`(?: retrans=(\d+))?(?: cwnd=(\d+))?(?: drop=(\d+) pkt=(\d+) data_loss=`+nuttcpNumber+`)?(?: rtt_ms=`+
			nuttcpNumber+`)?$`,
			nuttcpAll()...),
	}
	nuttcpInterval = []figureLine{
		row(`^ *`+nuttcpNumber+` MB / +`+nuttcpNumber+` sec = +`+
			nuttcpNumber+` Mbps(?: +(\d+) (?:host-)?retrans)?(?: +(\d+) KB-cwnd)?`+
			`(?: +(\d+) / +(\d+) ~drop/pkt `+nuttcpNumber+` ~%loss)?(?: Tot: .*)?$`,
			append(nuttcpColumns, nuttcpRest[:5]...)...),
		row(`^megabytes=`+nuttcpNumber+` real_sec=`+nuttcpNumber+` rate_Mbps=`+
			nuttcpNumber+`(?: retrans=(\d+))?(?: cwnd=(\d+))?`+
			`(?: drop=(\d+) pkt=(\d+) data_loss=`+nuttcpNumber+`)?$`, append(nuttcpColumns, nuttcpRest[:5]...)...),
		row(` Tot: +`+nuttcpNumber+` MB / +`+nuttcpNumber+` sec = +`+
			nuttcpNumber+` Mbps(?: +(\d+) (?:host-)?retrans)?(?: +(\d+) KB-cwnd)?`+
			`(?: +(\d+) / +(\d+) ~drop/pkt `+nuttcpNumber+` ~%loss)?$`, nuttcpSoFar()...),
	}
	// nuttcpVerbose are the lines of -v, of one of the hosts.
	nuttcpVerbose = append([]figureLine{
		row(`: `+nuttcpNumber+` MB in `+nuttcpNumber+` real seconds = `+nuttcpNumber+` KB/sec = `+nuttcpNumber+` Mbps$`,
			column{"transferred", "MiB", ""}, column{"time", "s", Lower}, column{"throughput", "KB/s", Higher},
			column{"throughput", "10^6 bit/s", Higher}),
		row(`: [\d.]+ MB in `+nuttcpNumber+` CPU seconds = `+nuttcpNumber+` KB/cpu sec$`, column{"CPU time", "s", Lower},
			column{"throughput of CPU time", "KB/s", Higher}),
		figures(`: retrans = (\d+)`, "retransmits", "1", Lower),
		figures(` RTT=`+nuttcpNumber+` ms`, "round trip", "ms", Lower),
		row(`: (\d+) / (\d+) drop/pkt,? `+nuttcpNumber+`% data loss`, nuttcpRest[2], nuttcpRest[3], nuttcpRest[4]),
	}, ttcpFigures("transferred")...)
)

func nuttcpAll() []column {
	return append(append(append([]column{}, nuttcpColumns...), nuttcpHosts...), nuttcpRest...)
}

// nuttcpSoFar are the columns of the running total.
func nuttcpSoFar() []column {
	var all []column
	for _, c := range append(append([]column{}, nuttcpColumns...), nuttcpRest[:5]...) {
		all = append(all, column{"so far: " + c.name, c.unit, c.better})
	}
	return all
}

// readNuttcp reads the output of nuttcp in brief, with -fparse and with -v, and that of ttcp.
func readNuttcp(text string, r *Report) error {
	if err := r.refused(text); err != nil {
		return err
	}
	r.expect("throughput", "… MB / … sec = … Mbps")
	if strings.Contains(text, "ttcp-t: ") != strings.Contains(text, "ttcp-r: ") && !strings.Contains(text, "nuttcp-") {
		return lines(lineTool{nil, ttcpFigures("transferred"), streamed("throughput", "transferred", "time")})(text, r)
	}
	intervals := 0
	read := func(line, prefix string, kinds []figureLine) (bool, error) {
		one := &Report{}
		err := addFigures(one, line, kinds)
		r.include(prefix, one)
		return len(one.Figures) > 0, err
	}
	for line := range strings.SplitSeq(text, "\n") {
		if side, ok := map[string]string{"nuttcp-t": "transmitter: ", "nuttcp-r": "receiver: "}[strings.Split(line,
			":")[0]]; ok {
			if found, err := read(line, side, nuttcpVerbose); err != nil || !found && nuttcpStart.MatchString(line) {
				return damaged("nuttcp", line)
			}
			continue
		}
		if !nuttcpStart.MatchString(line) {
			continue
		}
		found, err := read(line, "", nuttcpTotal)
		if !found && err == nil {
			intervals++
			found, err = read(line, fmt.Sprintf("interval %d: ", intervals), nuttcpInterval)
		}
		if err != nil || !found {
			return damaged("nuttcp", line)
		}
	}
	if len(r.All("throughput")) == 0 && (intervals > 0 || len(r.Figures) > 0 &&
		(len(r.All("transmitter: user time")) == 0 || len(r.All("receiver: user time")) == 0)) {
		if err := r.doubt(fault.Guestf("the output of nuttcp has no line of the whole transfer: it is cut off")); err != nil {
			return err
		}
	}
	return streamed("throughput", "transferred", "time")(r)
}
