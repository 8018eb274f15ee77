package builtin

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/histogram"
	"github.com/tare-bench/tare/internal/workload"
	"github.com/tare-bench/tare/internal/workload/tool"
)

const rttPort = 25203

// rttLog is the file in which sockperf writes when it sent each message and when it had the answer: lines of a number,
// two times in seconds, and the time between them in microseconds with three decimals.
const rttLog = "tare-rtt.csv"

// rttCounts counts the lines of rttLog by their time in ns, with four significant digits: more than a histogram keeps.
const rttCounts = `perl -F', *' -ane 'next unless /^\d+, \d/; $n{sprintf "%.3e", $F[3]}++;` +
	` END { printf "%d %.0f\n", $n{$_}, 1000 * $_ for keys %n }' "$1" && rm "$1"`

// rtt sends a message and waits for the answer before it sends the next one.
func rtt(protocol string) *workload.Workload {
	return workload.WithParams([]workload.Param{bytesParam(14)}, func(set workload.Settings) *workload.Workload {
		upper := strings.ToUpper(protocol)
		w := &workload.Workload{
			Name: protocol + "-rtt", Title: upper + " round trips of small messages, one after the other",
			Source: "sockperf (sockperf)", Programs: []string{"perl", "rm", "sh"}, Packages: []string{"sockperf"},
			Metrics: []workload.Metric{
				workload.Latency("rtt", "mean round trip", "mean of the round trips, as sockperf prints it"),
				workload.Rate("rate", "1/s", "", "round trips a second, from the times of the first and the last"),
			},
			// sockperf counts neither the first 400 ms nor the last 50 ms.
			SizeUnit: "s of round trips", MinSize: 2, MaxSize: 20, DefaultSize: 2,
			DiskBytes: func(size int64) int64 { return 16<<20 + size*16<<20 }, // the log
		}
		args := []string{"-p", strconv.Itoa(rttPort)}
		ready := listening(rttPort)
		if protocol == "tcp" {
			args = append(args, "--tcp")
		} else {
			ready = []string{"grep", "-qs", fmt.Sprintf(":%04X ", rttPort), "/proc/net/udp", "/proc/net/udp6"}
		}
		netWorkload(w, rttPort, append([]string{"sockperf", "server", "-i", workload.ServerAddress}, args...),
			func(size int64) []string {
				return append([]string{"sockperf", "ping-pong", "-i", workload.ServerAddress, "-m", set["bytes"], "-t",
					strconv.FormatInt(size, 10), "--full-rtt", "--full-log", rttLog}, args...)
			}, workload.Measurement{Tool: "sockperf",
				Values: func(r *tool.Report) (map[string]float64, error) {
					n, err := r.One("Valid Duration: received")
					return map[string]float64{"rate": n.Value / r.Value("Valid Duration: time")}, err
				},
				Check: func(size int64, r *tool.Report) error {
					// The end is by a timer of the kernel, so this shows what sockperf takes a cycle of the CPU for. On a busy
					// host, the timer may be late.
					if took := r.Value("Total Run: time"); math.Abs(took-float64(size)) > 0.1*float64(size) {
						return tool.Contradiction("sockperf measured %v s for a test of %d s: it converts the CPU's cycles wrongly, "+
							"or the CPU was late", took, size)
					}
					return nil
				}})
		w.Serve = served(w.Serve, ready)
		steps := w.Steps
		w.Steps = func(size int64) []workload.Step {
			return append(steps(size), workload.Step{Name: "latencies", Argv: []string{"sh", "-c", rttCounts, "sh", rttLog}})
		}
		evaluate := w.Evaluate
		w.Evaluate = func(size int64, results []workload.StepResult) (map[string]float64, error) {
			m, err := evaluate(size, results)
			delete(m, "time") // it is given
			if err != nil && refusedAnswer(results) {
				err = fault.Guestf("%w; sockperf's TCP server answers to an address that it never sets. Linux ignores the "+
					"address of a connected socket, but this guest's kernel, as gVisor's does, refuses it: use udp-rtt or tcp-crr",
					err)
			}
			return m, err
		}
		w.SingleOf, w.Latencies = "rtt", func(results []workload.StepResult) (*histogram.Histogram, error) {
			return countedLatencies(results, "client", "sockperf", "observations", 1)
		}
		w.Packets = func(results []workload.StepResult) (workload.Packets, error) {
			r, err := reportOf(results, "client", "sockperf")
			if err != nil {
				return workload.Packets{}, err
			}
			p := workload.Packets{Seconds: r.Value("Total Run: time"), Sent: r.Value("Total Run: sent"),
				Received: r.Value("Total Run: received"), Lost: r.Value("dropped"), Socket: -1}
			return p, nil
		}
		return w
	})
}

// answerRefused is what sockperf's server says if sendto fails with EAFNOSUPPORT or EINVAL: the address that it passes
// is what was on its stack, because recvfrom sets none for a connected TCP socket.
var answerRefused = regexp.MustCompile(`sendto\(\) Failed sending on .*\(errno=(?:97|22) `)

// refusedAnswer reports whether the server ended because the kernel did not accept the address of its answer.
func refusedAnswer(results []workload.StepResult) bool {
	return slices.ContainsFunc(results, func(r workload.StepResult) bool {
		return r.Name == "server" && answerRefused.MatchString(r.Output())
	})
}

// served are the steps of serve with another command that succeeds when the server can be used.
func served(serve func(int64) []workload.Step, ready []string) func(int64) []workload.Step {
	return func(size int64) []workload.Step {
		steps := serve(size)
		for i := range steps {
			steps[i].Ready = ready
		}
		return steps
	}
}
