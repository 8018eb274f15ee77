package builtin

import (
	"regexp"
	"strconv"

	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/workload"
	"github.com/tare-bench/tare/internal/workload/tool"
)

const packetsPort = 25202 // TCP, by which the two sides of iperf3 agree, and UDP

func bytesParam(least int64) workload.Param {
	return workload.Param{Name: "bytes", Default: "64", Min: least, Max: 1472,
		About: "payload of each packet; 1472 is the most that fits into one packet of Ethernet"}
}

// udpPackets sends as many small packets as the sender can.
func udpPackets() *workload.Workload {
	streams := workload.Param{Name: "streams", Default: "1", Min: 1, Max: 64,
		About: "flows that share the packets; one thread of iperf3 sends them all"}
	params := []workload.Param{bytesParam(16), streams}
	return workload.WithParams(params, func(set workload.Settings) *workload.Workload {
		w := &workload.Workload{Name: "udp-packets", Title: "small UDP packets, as many as the sender can send",
			Source: "iperf3 (iperf3)", MinSize: 10_000, MaxSize: 1 << 30, DefaultSize: 200_000}
		return udp(w, set["bytes"], set["streams"], 0)
	})
}

// udpLoss sends small packets at a constant rate, whether or not they arrive.
func udpLoss() *workload.Workload {
	rate := workload.Param{Name: "rate", Default: "10000", Min: 1, Max: 100_000_000,
		About: "packets a second that are sent"}
	params := []workload.Param{rate, bytesParam(16)}
	return workload.WithParams(params, func(set workload.Settings) *workload.Workload {
		w := &workload.Workload{Name: "udp-loss", Title: "loss of UDP packets that are sent at a constant rate",
			Source: "iperf3 (iperf3)", MinSize: 500, MaxSize: 1 << 30}
		w.DefaultSize = max(w.MinSize, 2*int64(set.Int("rate")))
		return udp(w, set["bytes"], "1", set.Int("rate"))
	})
}

// udp completes a workload in which iperf3 sends UDP packets. rate is in packets a second; 0: as many as it can.
func udp(w *workload.Workload, bytes, streams string, rate int) *workload.Workload {
	payload, err := strconv.Atoi(bytes)
	if err != nil {
		panic("workload: bytes is " + bytes) // checked by With
	}
	counts := func(r *tool.Report, socket float64) workload.Packets { return counted(r, payload, rate, socket) }
	w.Packages = []string{"iperf3"}
	w.Metrics = []workload.Metric{
		workload.Rate("rate", "1/s", "", "packets that arrived in a second of the receiver's time"),
		workload.Time("all packets, and the start of iperf3"),
		workload.GuestTime("end sum_received seconds", "the receiver's time, as iperf3 prints it"),
	}
	w.SizeUnit = "packets sent"
	port := strconv.Itoa(packetsPort)
	netWorkload(w, packetsPort, []string{"iperf3", "-s", "-B", workload.ServerAddress, "-p", port},
		func(size int64) []string {
			return []string{"iperf3", "-c", workload.ServerAddress, "-p", port, "-J", "-u", "-l", bytes, "-P", streams,
				"-b", strconv.Itoa(rate * payload * 8), "-k", strconv.FormatInt(size, 10)}
		}, workload.Measurement{Tool: "iperf3",
			Accept: func(r *tool.Report) error {
				if len(r.All("end sum_received packets")) == 0 || r.Value("received") == 0 {
					return fault.Guestf("no packets arrived, or this is not the result of a UDP test of iperf3 3.10 or newer")
				}
				return nil
			},
			Values: func(r *tool.Report) (map[string]float64, error) {
				seconds, err := r.One("end sum_received seconds")
				return map[string]float64{"rate": counts(r, 0).Received / seconds.Value}, err
			},
			Check: func(size int64, r *tool.Report) error {
				// Each stream sends as many as the others, so there may be one more of each.
				if n := r.Value("end sum_sent packets"); n < float64(size) || n > float64(size)+64 {
					return fault.Guestf("%.0f packets sent instead of %d", n, size)
				}
				return nil
			}})
	// The counters of the receiver's sockets, before and after, say where packets were lost.
	serve := w.Serve
	w.Serve = func(size int64) []workload.Step {
		read := []string{"sh", "-c", "cat /proc/net/snmp || :"}
		return append(serve(size), workload.Step{Name: "sockets", Argv: read},
			workload.Step{Name: "sockets after", Argv: read, ServersEnded: true})
	}
	w.Programs = append(w.Programs, "cat", "sh")
	w.Packets = func(results []workload.StepResult) (workload.Packets, error) {
		r, err := reportOf(results, "client", "iperf3")
		if err != nil {
			return workload.Packets{}, err
		}
		at := map[string]string{}
		for _, s := range results {
			at[s.Name] = string(s.Stdout)
		}
		return counts(r, socketLosses(at["sockets"], at["sockets after"])), nil
	}
	return w
}

// mostInFlight is how many packets the queues and sockets on the way can hold when the sender ends the test.
const mostInFlight = 4096

// counted are the packets of a test of iperf3, of which the sockets lost some. iperf3 numbers the packets. What its
// sender's kernel refused has a number, and is no loss: bytes say what was sent. Its receiver counts gaps in the
// numbers, and stops when the sender says that it has finished: what is missing at the end may be on its way, and is
// lost only if it is more than fits into any queue.
func counted(r *tool.Report, payload, rate int, socket float64) workload.Packets {
	p := workload.Packets{Asked: float64(rate), Sent: r.Value("end sum_sent bytes") / float64(payload),
		Received: r.Value("received") / float64(payload), Seconds: r.Value("end sum_sent seconds"), Socket: socket}
	missing, refused := max(0, p.Sent-p.Received), max(0, r.Value("end sum_sent packets")-p.Sent)
	p.Lost = min(missing, max(0, r.Value("end sum_received lost_packets")-refused))
	if missing-p.Lost > mostInFlight {
		p.Lost = missing
	}
	p.Socket = min(p.Socket, p.Lost)
	return p
}

// udpCounters is the line with the UDP counters of /proc/net/snmp: datagrams that arrived, those for no socket, errors,
// those sent, and those that a full receive buffer refused.
var udpCounters = regexp.MustCompile(`(?m)^Udp: (\d+) \d+ \d+ \d+ (\d+) `)

// socketLosses is how many packets arrived at the receiver and found the buffer of its socket full, by the counters
// before and after; below 0: the guest's kernel does not count them.
func socketLosses(before, after string) float64 {
	a, b := udpCounters.FindStringSubmatch(before), udpCounters.FindStringSubmatch(after)
	if a == nil || b == nil {
		return -1
	}
	var n [4]float64
	for i, word := range []string{a[1], b[1], a[2], b[2]} {
		v, err := tool.Number(word)
		if err != nil {
			return -1
		}
		n[i] = v
	}
	if arrived := n[1] - n[0]; arrived <= 0 {
		return -1 // the kernel has the file and counts nothing
	}
	return max(0, n[3]-n[2])
}
