package builtin

import (
	"strconv"
	"time"

	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/workload"
	"github.com/tare-bench/tare/internal/workload/tool"
)

// fillParams are the mix of the guests and the service level. There is no fill without memory_left, so that
// the host never runs out of memory.
var fillParams = []workload.Param{
	{Name: "idle", Default: "80", Max: 1000, About: "parts of the guests that do nothing"},
	{Name: "serving", Default: "15", Max: 1000,
		About: "parts of the guests that serve: Redis, to which a client sends 100 requests a second"},
	{Name: "computing", Default: "5", Max: 1000, About: "parts of the guests that compute without a pause"},
	{Name: "step", Default: "10", Min: 2, Max: 1000, About: "guests that are added before the level is checked"},
	{Name: "most", Default: "100", Min: 2, Max: 10_000, About: "guests at which a fill ends if nothing broke the level"},
	{Name: "start", Default: "5", Max: 150, About: "level: seconds that a guest may take to start; 0: no limit"},
	{Name: "slowdown", Default: "250", Max: 100_000,
		About: "level: percent of its time alone that the probe may take; 0: no limit"},
	{Name: "p99", Default: "0", Max: 1_000_000,
		About: "level: percent that the 99th percentile of the probe's latencies may reach of that alone; 0: no limit"},
	{Name: "serving_p99", Default: "0", Max: 60_000,
		About: "level: ms that the 99th percentile of requests to the serving guests may take; 0: no limit, not measured"},
	{Name: "memory_left", Default: "1024", Min: 256, Max: 1 << 24,
		About: "level: MiB of memory that the host must have available"},
	{Name: "host_swap", Default: "no", Values: []string{"no", "yes"},
		About: "yes: the host's free swap counts as available memory, so that a fill goes beyond the host's memory"},
}

const (
	// fillEvents is the work of one run of the probe. 20 events are beyond the 99th percentile.
	fillEvents = 2000
	// fillSocket is in the guest's data volume: native guests share the host's ports.
	fillSocket = "tare-fill.sock"

	// fillRate is how many requests a second a guest that serves gets, and fillRequests how many are in a window.
	fillRate, fillRequests = 100, 300
	// fillPatience is how long an answer is waited for beyond what the level permits.
	fillPatience = time.Second

	// tareRedis is the load generator of package redisrate.
	tareRedis = "tare-redis"
)

// fillServing is a guest that serves, with a client. If the level limits the latency of its requests, the client is one
// that measures it, which takes more CPU time.
func fillServing(parts int, level time.Duration) (workload.Share, *workload.Serving) {
	redis := workload.Step{Name: "redis", Background: true, Ready: []string{"redis-cli", "-s", fillSocket, "PING"},
		Argv: []string{"redis-server", "--port", "0", "--unixsocket", fillSocket, "--save", "", "--appendonly", "no"}}
	client := workload.Step{Name: "requests", Background: true,
		Argv: sh(`exec redis-cli -s "$0" -r -1 -i 0.01 INCR served >/dev/null`, fillSocket)}
	var serving *workload.Serving
	if level > 0 {
		patience := level + fillPatience
		client.Argv = []string{tareRedis, "-rate", strconv.Itoa(fillRate), "-requests", strconv.Itoa(fillRequests),
			"-patience", patience.String(), fillSocket}
		client.Ready = sh(`test "$(redis-cli -s "$0" GET served)" -gt 0`, fillSocket) // a request was answered
		serving = &workload.Serving{Client: client.Name, Requests: fillRequests,
			Window: fillRequests * time.Second / fillRate, Patience: patience, Grace: 10 * time.Second}
	}
	return workload.Share{Does: "serving", Parts: parts, Load: []workload.Step{redis, client}}, serving
}

// fill creates guests until they break a service level. How many there were is known only to the code
// that creates them, so package run gives that metric.
func fill() *workload.Workload {
	return workload.WithParams(fillParams, func(set workload.Settings) *workload.Workload {
		limit := time.Duration(set.Int("serving_p99")) * time.Millisecond
		serving, measured := fillServing(set.Int("serving"), limit)
		computing := workload.Share{Does: "computing", Parts: set.Int("computing"), Load: []workload.Step{
			{Name: "compute", Background: true,
				Argv: []string{"stress-ng", "--temp-path", ".", "--cpu", "1", "--cpu-method", "int64"}},
		}}
		w := &workload.Workload{
			Name:     "fill",
			Title:    "create guests until they break a service level: how many fit, and what breaks first",
			Source:   "tare; the probe is sysbench cpu (sysbench), the guests run Redis and stress-ng",
			Programs: []string{"stress-ng", "sysbench"}, Packages: []string{"stress-ng", "sysbench"},
			Metrics: []workload.Metric{
				{Name: workload.FillGuests, Unit: "guests", Better: workload.Higher, Clock: workload.HostClock,
					About: "the most guests that kept the service level, the probe guest included"},
				workload.HostTime(workload.FillAlone, "time of the probe before other guests were created"),
			},
			SizeUnit: "fill", MinSize: 1, MaxSize: 1, DefaultSize: 1,
			Creates: true,
			Fill: &workload.Fill{
				Mix:  []workload.Share{{Does: "idle", Parts: set.Int("idle")}, serving, computing},
				Step: set.Int("step"), Most: set.Int("most"),
				Level: workload.Level{
					Start:    time.Duration(set.Int("start")) * time.Second,
					Slowdown: float64(set.Int("slowdown")) / 100, P99: float64(set.Int("p99")) / 100, Serving: limit,
					MemoryLeft: int64(set.Int("memory_left")) << 20,
				},
				P99: fillP99, Serving: measured, Swap: set["host_swap"] == "yes",
			},
			Steps: timed("probe", func(int64) []string {
				return sysbenchLine("cpu", "--threads=1", "--events="+strconv.Itoa(fillEvents), "--percentile=99", "run")
			}),
			Parse: noOutput("fill"),
		}
		if serving.Parts > 0 {
			w.Programs = append(w.Programs, "redis-cli", "redis-server", "sh")
			w.Packages = append(w.Packages, "dash", "redis-server", "redis-tools")
			if measured != nil {
				w.Programs = append(w.Programs, tareRedis)
				w.Brings = []string{tareRedis}
			}
		}
		// Of the probe alone: one guest fits.
		return w.EvaluatedBy(func(_ int64, by map[string]workload.StepResult) (map[string]float64, error) {
			_, err := fillP99(by["probe"])
			return map[string]float64{workload.FillGuests: 1, workload.FillAlone: by["probe"].Wall.Seconds()}, err
		})
	})
}

// fillP99 reads a run of the probe, which must have done its work.
func fillP99(r workload.StepResult) (time.Duration, error) {
	report, err := tool.Read("sysbench", r.Output(), "99th percentile latency")
	if err != nil {
		return 0, workload.InStep(r.Name, err)
	}
	if did := report.Value("events"); did != fillEvents || report.Words["test"] != "cpu" {
		return 0, workload.InStep(r.Name, fault.Guestf("sysbench %s made %v events instead of %d", report.Words["test"], did,
			fillEvents))
	}
	p99, err := report.One("99th percentile latency")
	if err != nil {
		return 0, workload.InStep(r.Name, err)
	}
	seconds := p99.In("s")
	if seconds <= 0 {
		return 0, workload.InStep(r.Name, fault.Guestf("the 99th percentile is %v s", seconds))
	}
	return time.Duration(seconds * float64(time.Second)), nil
}
