package workload

import (
	"encoding/json"
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/tare-bench/tare/internal/fault"
)

// Ports of the servers, below the kernel's range of ephemeral ports.
const (
	iperfPort   = 25201
	nuttcpPort  = 25000 // and the next one, for data
	netpipePort = 25002
	netperfPort = 25865
)

// netWorkload completes a workload with a server and a client. All figures are in
// the client's output. Alone, the guest uses its own loopback interface.
func (w *Workload) netWorkload(port int, server []string, client func(size int64) []string, read func(text string) (reading, error)) *Workload {
	w.Serve = func(int64) []Step {
		return []Step{{Name: "server", Background: true, Argv: server, Ready: listening(port)}}
	}
	w.Steps = func(size int64) []Step {
		return []Step{{Name: "client", Timed: true, Argv: client(size)}}
	}
	w.Tools = append(w.Tools, server[0], "grep")
	if program := client(w.MinSize)[0]; program != server[0] {
		w.Tools = append(w.Tools, program)
	}
	return w.measuredBy("client", read)
}

func iperf3() *Workload {
	streams := Param{Name: "streams", Default: "1", Min: 1, Max: 128, About: "TCP connections that share the work"}
	return withParams([]Param{streams}, func(set Settings) *Workload {
		w := &Workload{
			Name: "iperf3", Title: "TCP throughput by iperf3", ArticleIDs: []string{"A6-net-stream"},
			Source: "iperf3 (iperf3)", Packages: []string{"iperf3"},
			StandIn: "for netperf's TCP_STREAM, which is not in Debian's main (see netperf-stream): iperf3 sends messages of 128 KiB, netperf messages as large as the socket buffer",
			Metrics: []Metric{
				rateMetric("bandwidth", "bit/s", "received data, as iperf3 prints it"),
				wallMetric("the whole transfer, and the start of iperf3"),
				guestTimeMetric("the receiver's time, as iperf3 prints it"),
			},
			SizeUnit: "MiB sent", MinSize: 512, MaxSize: 1 << 24, DefaultSize: 4096,
		}
		port := strconv.Itoa(iperfPort)
		return w.netWorkload(iperfPort, []string{"iperf3", "-s", "-B", ServerAddress, "-p", port}, func(size int64) []string {
			return []string{"iperf3", "-c", ServerAddress, "-p", port, "-J", "-P", set["streams"], "-n", strconv.FormatInt(size<<20, 10)}
		}, func(text string) (reading, error) {
			r, err := parseIperf3(text)
			return reading{
				values: map[string]float64{"bandwidth": r.rate, "time-guest": r.seconds},
				// The test ends when everything is sent; the last data may still be in flight.
				check: func(size int64) error { return r.moved(size<<20-iperfOnItsWay, size<<20+iperfOnItsWay) },
			}, err
		})
	})
}

type streamReport struct{ bytes, seconds, rate float64 } // rate in bit/s

// iperfOnItsWay is the most data that sockets can hold when iperf3 counts.
const iperfOnItsWay = 32 << 20

// moved checks that the number of received bytes is within bounds.
func (r streamReport) moved(least, most int64) error {
	if r.bytes < float64(least) || r.bytes > float64(most) {
		return fault.Guestf("%.0f bytes arrived instead of %d to %d", r.bytes, least, most)
	}
	return nil
}

// parseIperf3 reads the JSON of a TCP or UDP test, or its text.
func parseIperf3(text string) (streamReport, error) {
	at := strings.IndexByte(text, '{')
	if at < 0 {
		return parseIperf3Text(text)
	}
	type sum struct {
		Bytes   float64 `json:"bytes"`
		Seconds float64 `json:"seconds"`
		Rate    float64 `json:"bits_per_second"`
	}
	var doc struct {
		Error string `json:"error"`
		End   struct {
			Received *sum `json:"sum_received"`
		} `json:"end"`
	}
	if err := json.NewDecoder(strings.NewReader(text[at:])).Decode(&doc); err != nil {
		return streamReport{}, fault.Guestf("iperf3's JSON is damaged or cut off: %v", err)
	}
	if doc.Error != "" {
		return streamReport{}, fault.Guestf("iperf3 failed: %s", quote(doc.Error))
	}
	if doc.End.Received == nil {
		return streamReport{}, fault.Guestf("iperf3's JSON does not contain what the receiver got")
	}
	r := streamReport{doc.End.Received.Bytes, doc.End.Received.Seconds, doc.End.Received.Rate}
	return r, r.consistent("iperf3", 0.001, 0)
}

var iperf3Received = regexp.MustCompile(`(?m)^\[(SUM| *\d+)\] +0\.00-(\d+\.\d+) +sec +(\d+(?:\.\d+)?) ([KMGT]?)Bytes +(\d+(?:\.\d+)?) ([KMGT]?)bits/sec +receiver *\r?$`)

func parseIperf3Text(text string) (streamReport, error) {
	if err := refused("iperf3", text); err != nil {
		return streamReport{}, err
	}
	all := iperf3Received.FindAllStringSubmatch(grep(text, "receiver"), -1)
	if len(all) == 0 {
		return streamReport{}, fault.WithRemedy(fault.Guestf("the output does not contain what the receiver got"), "run iperf3 -c with -J")
	}
	m := all[len(all)-1] // with several streams, the sum
	if len(all) > 1 && m[1] != "SUM" {
		return streamReport{}, fault.Guestf("the output contains %d reports of iperf3; save each run in its own file", len(all))
	}
	f, err := numbers(m[2], m[3], m[5])
	if err != nil {
		return streamReport{}, err
	}
	r := streamReport{f[1] * math.Pow(1024, power(m[4])), f[0], f[2] * math.Pow(1000, power(m[6]))}
	return r, r.consistent("iperf3", ulp(m[3])+ulp(m[5])+ulp(m[2]), 0.005)
}

// power returns the power of 1000 or 1024 of a unit's prefix: K 1, M 2.
func power(prefix string) float64 {
	return float64(strings.Index("KMGT", prefix)+1) * float64(len(prefix))
}

// consistent checks that rate × time is the size, within a share of the size and
// the rounding of the time.
func (r streamReport) consistent(tool string, share, rounding float64) error {
	if r.bytes <= 0 || r.seconds < 0 || r.rate <= 0 {
		return fault.Guestf("%s transferred nothing: %.0f bytes in %v s", tool, r.bytes, r.seconds)
	}
	if off := math.Abs(r.rate/8*r.seconds - r.bytes); off > share*r.bytes+rounding*r.rate/8 {
		return fault.Guestf("rate × time is not the size: %v bit/s, %v s, %.0f bytes", r.rate, r.seconds, r.bytes)
	}
	return nil
}

func nuttcp() *Workload {
	w := &Workload{
		Name: "nuttcp", Title: "TCP throughput with writes of 8 KiB, like ttcp's", ArticleIDs: []string{"P9-ttcp"},
		Source: "nuttcp (nuttcp)", Packages: []string{"nuttcp"},
		StandIn: "for ttcp 1.12, with the same buffers of 8 KiB. A trial sends more than ttcp's 16 MiB, which take 10 ms today. tare parse nuttcp also reads ttcp's output",
		Metrics: []Metric{
			rateMetric("bandwidth", "bit/s", "received data, as nuttcp prints it"),
			wallMetric("the whole transfer, and the start of nuttcp"),
			guestTimeMetric("bytes / the rate that nuttcp prints"),
		},
		SizeUnit: "MiB sent", MinSize: 512, MaxSize: 1 << 24, DefaultSize: 4096,
	}
	port, data := strconv.Itoa(nuttcpPort), strconv.Itoa(nuttcpPort+1)
	return w.netWorkload(nuttcpPort, []string{"nuttcp", "-S", "--nofork", "-P", port}, func(size int64) []string {
		return []string{"nuttcp", "-t", "-fparse", "-P", port, "-p", data, "-l", "8192", "-n", strconv.FormatInt(size<<7, 10), ServerAddress}
	}, func(text string) (reading, error) {
		r, err := parseNuttcp(text)
		return reading{
			// Its seconds have two decimals, so those of a short test may be 0.00.
			values: map[string]float64{"bandwidth": r.rate, "time-guest": r.bytes * 8 / r.rate},
			check:  func(size int64) error { return r.moved(size<<20, size<<20) },
		}, err
	})
}

var (
	nuttcpParse = regexp.MustCompile(`(?m)^megabytes=(\d+\.\d+) real_seconds=(\d+\.\d+) rate_Mbps=(\d+\.\d+) `)
	nuttcpBrief = regexp.MustCompile(`(?m)^ *(\d+\.\d+) MB / +(\d+\.\d+) sec = +(\d+\.\d+) Mbps `)
	ttcpLine    = regexp.MustCompile(`(?m)^ttcp-[tr]: (\d+) bytes in (\d+\.\d+) real seconds = (\d+\.\d+) ([KMG]?)(B|bit)/s(?:ec)? `)
)

// parseNuttcp reads the report of one run of nuttcp or of ttcp.
func parseNuttcp(text string) (streamReport, error) {
	if err := refused("nuttcp", text); err != nil {
		return streamReport{}, err
	}
	all := append(nuttcpParse.FindAllStringSubmatch(grep(text, "rate_Mbps"), -1), nuttcpBrief.FindAllStringSubmatch(grep(text, "Mbps"), -1)...)
	all = append(all, ttcpLine.FindAllStringSubmatch(grep(text, "real seconds"), -1)...)
	if len(all) != 1 {
		return streamReport{}, fault.Guestf("%d reports of nuttcp or ttcp instead of one", len(all))
	}
	m := all[0]
	f, err := numbers(m[1:4]...)
	if err != nil {
		return streamReport{}, err
	}
	r := streamReport{f[0] * (1 << 20), f[1], f[2] * 1e6}
	if len(m) > 4 { // ttcp counts bytes by 1024 and bits by 1000
		r.bytes, r.rate = f[0], f[2]*math.Pow(1000, power(m[4]))
		if m[5] == "B" {
			r.rate = f[2] * 8 * math.Pow(1024, power(m[4]))
		}
	}
	return r, r.consistent("nuttcp", 0.001, 0.006)
}

func netpipe() *Workload {
	w := &Workload{
		Name: "netpipe", Title: "latency and throughput of TCP messages from 1 byte to 1 MiB", ArticleIDs: []string{"L1-netpipe"},
		Source: "NetPIPE (netpipe-tcp)", Packages: []string{"netpipe-tcp"},
		Metrics: []Metric{
			latencyMetric("latency", "half a round trip of one byte, as NetPIPE prints it"),
			rateMetric("bandwidth", "bit/s", "of the fastest message size, as NetPIPE prints it, in bits instead of units of 2^20"),
			wallMetric("all sizes, and the start of NetPIPE"),
		},
		SizeUnit: "round trips of each size", MinSize: 50, MaxSize: 1_000_000, DefaultSize: 1000,
		DiskBytes: func(int64) int64 { return 1 << 20 },
	}
	port := strconv.Itoa(netpipePort)
	// At the end, the client may close the connection before the server has read the
	// last message. NPtcp then exits with 3, which is no failure: the client has all
	// results.
	server := []string{"sh", "-c", `NPtcp -P "$1" || [ $? = 3 ]`, "sh", port}
	return w.netWorkload(netpipePort, server, func(size int64) []string {
		return []string{"NPtcp", "-h", ServerAddress, "-P", port, "-u", "1048576", "-n", strconv.FormatInt(size, 10), "-o", "tare-np.out"}
	}, func(text string) (reading, error) {
		r, err := parseNetpipe(text)
		return reading{values: map[string]float64{"latency": r.latency, "bandwidth": r.best}, did: r.repeats}, err
	})
}

type netpipeReport struct {
	latency, best float64 // seconds, bit/s
	repeats       float64 // of each size, if all sizes have the same number, otherwise 0
}

var (
	// The output on the terminal, and the file of -o, which has no number of round trips.
	netpipeLine = regexp.MustCompile(`(?m)^ *\d+: +(\d+) bytes +(\d+) times --> +(\d+\.\d+) Mbps in +(\d+\.\d+) usec *$`)
	netpipeRow  = regexp.MustCompile(`(?m)^ *(\d+)() (\d+\.\d+) +(\d+\.\d+) *$`)
)

// parseNetpipe reads NetPIPE's output, or the file that it writes.
func parseNetpipe(text string) (netpipeReport, error) {
	var r netpipeReport
	if err := refused("NetPIPE", text); err != nil {
		return r, err
	}
	unit := 1e-6
	rows := netpipeLine.FindAllStringSubmatch(grep(text, "Mbps"), -1)
	if rows == nil {
		rows, unit = netpipeRow.FindAllStringSubmatch(text, -1), 1
	}
	if len(rows) < 2 {
		return r, fault.Guestf("the output does not contain the message sizes of a NetPIPE run")
	}
	for i, m := range rows {
		f, err := numbers(m[1], "0"+m[2], m[3], m[4])
		if err != nil {
			return r, err
		}
		bytes, rate, seconds := f[0], f[2]*(1<<20), f[3]*unit
		if bytes == 0 || rate == 0 || seconds == 0 {
			return r, fault.Guestf("NetPIPE reports no data or no time: %s", quote(m[0]))
		}
		// Microseconds and rates have two decimals.
		if off := math.Abs(rate*seconds/8 - bytes); off > 0.01*bytes+(ulp(m[3])+ulp(m[4]))*bytes {
			return r, fault.Guestf("rate × time is not the size: %s", quote(m[0]))
		}
		switch {
		case i == 0:
			r.latency, r.repeats = seconds, f[1]
		case r.repeats != f[1]:
			r.repeats = 0
		}
		r.best = max(r.best, rate)
	}
	return r, nil
}
