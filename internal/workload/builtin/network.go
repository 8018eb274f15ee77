package builtin

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/workload"
	"github.com/tare-bench/tare/internal/workload/tool"
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
func netWorkload(w *workload.Workload, port int, server []string, client func(size int64) []string,
	by workload.Measurement) *workload.Workload {
	w.Serve = func(int64) []workload.Step {
		return []workload.Step{{Name: "server", Background: true, Argv: server, Ready: listening(port)}}
	}
	w.Steps = timed("client", client)
	w.Programs = append(w.Programs, server[0], "grep")
	if program := client(w.MinSize)[0]; program != server[0] {
		w.Programs = append(w.Programs, program)
	}
	by.Step = "client"
	return w.MeasuredBy(by)
}

// arrived checks that the number of received bytes is within bounds.
func arrived(r *tool.Report, figure string, least, most int64) error {
	f, err := r.One(figure)
	if bytes := f.In("B"); err == nil && (bytes < float64(least) || bytes > float64(most)) {
		return fault.Guestf("%.0f bytes arrived instead of %d to %d", bytes, least, most)
	}
	return err
}

// transfer completes a workload that sends data in one direction. figure is the throughput that its program prints.
func transfer(w *workload.Workload, figure string, guestTime workload.Metric) *workload.Workload {
	w.Metrics = []workload.Metric{
		workload.Rate("bandwidth", "bit/s", figure, "received data, as "+w.Name+" prints it"),
		workload.Time("the whole transfer, and the start of " + w.Name), guestTime,
	}
	w.SizeUnit, w.MinSize, w.MaxSize, w.DefaultSize = "MiB sent", 512, 1<<24, 4096
	return w
}

func iperf3() *workload.Workload {
	streams := workload.Param{Name: "streams", Default: "1", Min: 1, Max: 128,
		About: "TCP connections that share the work"}
	return workload.WithParams([]workload.Param{streams}, func(set workload.Settings) *workload.Workload {
		w := transfer(&workload.Workload{
			Name: "iperf3", Title: "TCP throughput by iperf3", ArticleIDs: []string{"A6-net-stream"},
			Source: "iperf3 (iperf3)", Packages: []string{"iperf3"},
			StandIn: "for netperf's TCP_STREAM, which is not in Debian's main (see netperf-stream): iperf3 sends messages of " +
				"128 KiB, netperf messages as large as the socket buffer",
		}, "received throughput", workload.GuestTime("receiver's time", "the receiver's time, as iperf3 prints it"))
		port := strconv.Itoa(iperfPort)
		return netWorkload(w, iperfPort, []string{"iperf3", "-s", "-B", workload.ServerAddress, "-p", port},
			func(size int64) []string {
				return []string{"iperf3", "-c", workload.ServerAddress, "-p", port, "-J", "-P", set["streams"], "-n",
					strconv.FormatInt(size<<20, 10)}
			}, workload.Measurement{Tool: "iperf3", Check: func(size int64, r *tool.Report) error {
				// The test ends when everything is sent; the last data, at most what sockets can hold, may still be in flight.
				const onItsWay = 32 << 20
				return arrived(r, "received", size<<20-onItsWay, size<<20+onItsWay)
			}})
	})
}

// nuttcpClient is a client of nuttcp that is started again if its connection for the data is refused: nuttcp's server
// begins to listen there only after it has answered, and on a busy host its client stops trying too soon.
const nuttcpClient = `exec 3>&1
for try in 1 2 3; do
	err=$(nuttcp "$@" 2>&1 >&3) && exit
	case $err in *"Connection refused"*) sleep 0.1 ;; *) break ;; esac
done
printf '%s\n' "$err" >&2
exit 1`

func nuttcp() *workload.Workload {
	w := transfer(&workload.Workload{
		Name: "nuttcp", Title: "TCP throughput with writes of 8 KiB, like ttcp's", ArticleIDs: []string{"P9-ttcp"},
		Source: "nuttcp (nuttcp)", Programs: []string{"sleep"}, Packages: []string{"coreutils", "dash", "nuttcp"},
		StandIn: "for ttcp 1.12, with the same buffers of 8 KiB. A trial sends more than ttcp's 16 MiB, which take 10 ms " +
			"today. tare parse nuttcp also reads ttcp's output",
	}, "throughput", workload.GuestTime("", "bytes / the rate that nuttcp prints"))
	port, data := strconv.Itoa(nuttcpPort), strconv.Itoa(nuttcpPort+1)
	return netWorkload(w, nuttcpPort, []string{"nuttcp", "-S", "--nofork", "-P", port}, func(size int64) []string {
		return sh(nuttcpClient, "nuttcp", "-t", "-fparse", "-P", port, "-p", data, "-l", "8192", "-n",
			strconv.FormatInt(size<<7, 10), workload.ServerAddress)
	}, workload.Measurement{Tool: "nuttcp",
		Values: func(r *tool.Report) (map[string]float64, error) {
			size, err := r.One("transferred")
			if err != nil {
				return nil, err
			}
			rate, err := r.One("throughput")
			// Its seconds have two decimals, so those of a short test may be 0.00.
			return map[string]float64{"time-guest": size.In("B") / rate.In("B/s")}, err
		},
		Check: func(size int64, r *tool.Report) error { return arrived(r, "transferred", size<<20, size<<20) }})
}

func netpipe() *workload.Workload {
	w := &workload.Workload{
		Name: "netpipe", Title: "latency and throughput of TCP messages from 1 byte to 1 MiB",
		ArticleIDs: []string{"L1-netpipe"}, Source: "NetPIPE (netpipe-tcp)", Packages: []string{"netpipe-tcp"},
		Metrics: []workload.Metric{
			workload.Latency("latency", "", "half a round trip of one byte, as NetPIPE prints it"),
			workload.Rate("bandwidth", "bit/s", "", "of the fastest message size, as NetPIPE prints it, in bits instead of "+
				"units of 2^20"),
			workload.Time("all sizes, and the start of NetPIPE"),
		},
		Curves:   []workload.Curve{netpipeRate, netpipeTime},
		SizeUnit: "round trips of each size", MinSize: 50, MaxSize: 1_000_000, DefaultSize: 1000,
		DiskBytes: func(int64) int64 { return 1 << 20 },
	}
	port := strconv.Itoa(netpipePort)
	// At the end, the client may close the connection before the server has read the
	// last message. NPtcp then exits with 3, which is no failure: the client has all
	// results.
	server := sh(`NPtcp -P "$1" || [ $? = 3 ]`, "sh", port)
	return netWorkload(w, netpipePort, server, func(size int64) []string {
		return []string{"NPtcp", "-h", workload.ServerAddress, "-P", port, "-u", "1048576", "-n",
			decimal(size), "-o", "tare-np.out"}
	}, workload.Measurement{Tool: "netpipe",
		Values: func(r *tool.Report) (map[string]float64, error) {
			m := map[string]float64{}
			for _, f := range r.Figures {
				if strings.HasPrefix(f.Name, "throughput of ") {
					m["bandwidth"] = max(m["bandwidth"], f.In("bit/s"))
				} else if strings.HasPrefix(f.Name, "time of ") && m["latency"] == 0 {
					m["latency"] = f.In("s") // the smallest message comes first
				}
			}
			return m, nil
		},
		Points: netpipePoints,
		Check: func(size int64, r *tool.Report) error {
			for _, f := range r.Figures {
				if strings.HasPrefix(f.Name, "round trips of ") && f.Value != float64(size) {
					return fault.Guestf("%.0f %s instead of %d", f.Value, f.Name, size)
				}
			}
			return nil
		}})
}

// netpipeLengths are the lengths of the messages around which NetPIPE measures, in bytes: powers of two, and halfway
// between them. From 16 on, it also measures 3 bytes less and 3 bytes more.
var netpipeLengths = func() (all []float64) {
	for n := 1.0; n <= 1<<20; n *= 2 {
		if all = append(all, n); n > 1 && n < 1<<20 {
			all = append(all, 1.5*n)
		}
	}
	return all
}()

// netpipeAround is how many bytes less and more NetPIPE also measures, from messages of netpipeWide bytes on.
const netpipeAround, netpipeWide = 3, 16

var (
	netpipeRate = workload.Curve{
		Metric: workload.Rate("rate", "bit/s", "", "bytes / the time that NetPIPE prints; from 16 bytes on, the mean of the "+
			"length, 3 bytes less and 3 bytes more"),
		Parameter: "length", In: "B", At: netpipeLengths,
	}
	netpipeTime = workload.Curve{
		Metric:    workload.Latency("message-time", "", "half a round trip, as NetPIPE prints it; the same mean"),
		Parameter: "length", In: "B", At: netpipeLengths,
	}
)

// netpipePoints returns the points of NetPIPE's curves: geometric means, so that rate and time agree.
func netpipePoints(r *tool.Report) map[string]float64 {
	times := map[float64]float64{} // s, by length
	for _, f := range r.Figures {
		var length float64
		if n, _ := fmt.Sscanf(f.Name, "time of %g bytes", &length); n == 1 && f.Value > 0 {
			times[length] = f.In("s")
		}
	}
	m := map[string]float64{}
	for _, at := range netpipeLengths {
		around := []float64{at}
		if at >= netpipeWide {
			around = []float64{at - netpipeAround, at, at + netpipeAround}
		}
		var time, rate, n float64
		for _, length := range around {
			if s := times[length]; s > 0 {
				time, rate, n = time+math.Log(s), rate+math.Log(8*length/s), n+1
			}
		}
		if n > 0 {
			m[netpipeRate.Point(at)], m[netpipeTime.Point(at)] = math.Exp(rate/n), math.Exp(time/n)
		}
	}
	return m
}

// netperfPercentiles are those of the latencies of netperf-crr.
var netperfPercentiles = []string{"p50", "p90", "p99"}

// netperf returns one of netperf's tests: TCP_CRR, with transactions as the unit of
// its sizes, or TCP_STREAM, with MiB.
func netperf(test, article string) *workload.Workload {
	w := &workload.Workload{
		Name: "netperf-" + strings.ToLower(test[strings.IndexByte(test, '_')+1:]), ArticleIDs: []string{article},
		Source: "netperf " + test + " (netperf)", Packages: []string{"netperf"}, NonFree: true,
		MaxSize: 1 << 30,
	}
	// scale converts sizes to what -l counts, perWork to what the rate counts.
	figure, unit, scale, perWork := "transactions", "1/s", int64(1), 1.0
	metric := workload.Rate("rate", unit, "", "transactions per second, as netperf prints it")
	var args []string
	var percentiles []workload.Metric
	if test == "TCP_CRR" {
		w.Title, w.SizeUnit = "connections with a request and a response of one byte each, one after the other",
			"transactions"
		w.MinSize, w.DefaultSize = 500, 20_000
		// Its histogram of latencies is not printed, so percentiles of several trials cannot be computed.
		args = []string{"--", "-k", "TRANSACTION_RATE,ELAPSED_TIME,MEAN_LATENCY,P50_LATENCY,P90_LATENCY,P99_LATENCY"}
		for _, p := range netperfPercentiles {
			about := p + " of a trial's transactions, as netperf prints it"
			percentiles = append(percentiles, workload.Latency("latency-"+p, "", about))
		}
	} else {
		w.Title, w.SizeUnit, w.MinSize, w.MaxSize, w.DefaultSize = "TCP throughput by netperf", "MiB sent", 128, 1<<24, 4096
		figure, unit, scale, perWork = "throughput", "bit/s", 1<<20, 8<<20
		metric = workload.Rate("bandwidth", unit, "", "as netperf prints it")
	}
	w.Metrics = append([]workload.Metric{metric, workload.Time("the whole test, and the start of netperf"),
		workload.GuestTime("", "work / the rate that netperf prints")}, percentiles...)
	port := strconv.Itoa(netperfPort)
	return netWorkload(w, netperfPort, []string{"netserver", "-D", "-4", "-L", workload.ServerAddress, "-p", port},
		func(size int64) []string {
			// A negative length is an amount of work instead of a time.
			return append([]string{"netperf", "-4", "-H", workload.ServerAddress, "-p", port, "-t", test, "-l",
				strconv.FormatInt(-size*scale, 10)}, args...)
		}, workload.Measurement{Tool: "netperf",
			Accept: func(r *tool.Report) error {
				if is := r.Words["test"]; is != "" && is != test {
					return fault.Guestf("this is a report of netperf's %s, not of %s", is, test)
				}
				return nil
			},
			Values: func(r *tool.Report) (map[string]float64, error) {
				if r.Words["test"] == "" { // -P 0 -v 0 prints the rate alone, in netperf's unit
					bare, err := r.One("result")
					if bare.Unit = "1/s"; test == "TCP_STREAM" {
						bare.Unit = "10^6 bit/s"
					}
					return map[string]float64{metric.Name: bare.In(unit)}, err
				}
				rate, err := r.One(figure)
				if err != nil {
					return nil, err
				}
				seconds, err := r.One("time")
				m := map[string]float64{metric.Name: rate.In(unit), "time-guest": seconds.Value}
				for _, p := range netperfPercentiles { // without -k there are none
					for _, latency := range r.All(p + " latency") {
						m["latency-"+p] = latency.In("s")
					}
				}
				return m, err
			},
			Check: func(size int64, r *tool.Report) error {
				rate, seconds, work := r.All(figure), r.Value("time"), float64(size)*perWork
				if len(rate) == 0 || math.Abs(rate[0].In(unit)*seconds-work) > 0.02*work+0.006*rate[0].In(unit) {
					return fault.Guestf("netperf did not do the work of %.0f: its result is %v %s in %v s",
						work, r.Value(figure), unit, seconds)
				}
				for i, p := range netperfPercentiles[:len(percentiles)] {
					if len(r.All(p+" latency")) != 1 {
						return fault.Guestf("netperf did not print its %s", percentiles[i].Name)
					}
				}
				return nil
			}})
}

// ttcp runs ttcp itself.
func ttcp() *workload.Workload {
	const port, buffer = 25001, 8192
	w := &workload.Workload{
		Name: "ttcp", Title: "TCP throughput by ttcp with buffers of 8 KiB", ArticleIDs: []string{"P9-ttcp"}, OwnBuild: true,
		Source: "your build of ttcp: build is the path of its directory",
		Metrics: []workload.Metric{
			workload.Rate("bandwidth", "bit/s", "throughput", "sent data, as the sender prints it"),
			workload.Time("the whole transfer, and the start of ttcp"),
		},
		SizeUnit: "buffers of 8 KiB", MinSize: 2048, MaxSize: 1 << 30, DefaultSize: 1 << 17,
	}
	number := strconv.Itoa(port)
	// ttcp exits after one connection, but a server must run as long as the trial.
	server := sh("while :; do " + workload.OwnBuildPath + "/ttcp -r -s -p " + number +
		" || sleep 0.1; done")
	return netWorkload(w, port, server, func(size int64) []string {
		return sh(`exec "$0" -t -s -p "$1" -n "$2" "$3"`, workload.OwnBuildPath+"/ttcp", number,
			decimal(size), workload.ServerAddress)
	}, workload.Measurement{Tool: "ttcp", Did: "bytes", Per: buffer})
}
