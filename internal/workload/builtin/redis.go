package builtin

import (
	"regexp"
	"strconv"

	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/workload"
	"github.com/tare-bench/tare/internal/workload/tool"
)

const (
	redisPort = 26379
	// redisKeys is the number of keys among which requests choose.
	redisKeys = 10_000
	// redisValue is the length of a value in bytes.
	redisValue = 100
	redisFile  = "tare-redis.rdb"
)

// redisClient returns the command line of a client of the server.
func redisClient(program string, args ...string) []string {
	return append([]string{program, "-h", workload.ServerAddress, "-p", strconv.Itoa(redisPort)}, args...)
}

// redis writes keys to a server that keeps them in memory, and reads them.
func redis() *workload.Workload {
	params := []workload.Param{clientsParam,
		{Name: "pipeline", Default: "1", Min: 1, Max: 1000, About: "requests that a client sends before it waits"}}
	return workload.WithParams(params, func(set workload.Settings) *workload.Workload {
		metric := func(request, name string) workload.Metric {
			return workload.Latency(name+"-p99", request+": p99", "99th percentile of "+request+", as redis-benchmark prints it")
		}
		w := &workload.Workload{
			Name: "redis", Title: "SET and GET of small values in Redis, by redis-benchmark",
			Source:   "Redis (redis-server) and redis-benchmark (redis-tools)",
			Programs: []string{"grep", "redis-benchmark", "redis-cli", "redis-server", "sh", "sync"},
			Packages: []string{"coreutils", "dash", "grep", "redis-server", "redis-tools"},
			Metrics: []workload.Metric{
				workload.Time("all requests, and the start of redis-benchmark"),
				workload.Rate("set-rate", "1/s", "SET: rate", "SETs per second, as redis-benchmark prints it"),
				workload.Rate("get-rate", "1/s", "GET: rate", "GETs per second, as redis-benchmark prints it"),
				metric("SET", "set"), metric("GET", "get"),
			},
			SizeUnit: "SETs, and as many GETs", MinSize: 1000, MaxSize: 1_000_000_000, DefaultSize: 100_000,
		}
		w.MinSize = max(w.MinSize, 2*int64(set.Int("clients"))*int64(set.Int("pipeline")))
		w.DefaultSize = max(w.DefaultSize, w.MinSize)
		w.Serve = func(int64) []workload.Step {
			return []workload.Step{
				{Name: "redis", Background: true, Ready: listening(redisPort),
					Argv: []string{"redis-server", "--bind", workload.ServerAddress, "--port", strconv.Itoa(redisPort),
						"--protected-mode", "no", "--save", "", "--appendonly", "no", "--dbfilename", redisFile}},
				removed(redisFile),
			}
		}
		w.Steps = func(size int64) []workload.Step {
			return []workload.Step{
				{Name: "requests", Timed: true, Argv: redisClient("redis-benchmark", "--csv", "-t", "set,get",
					"-n", decimal(size), "-c", set["clients"], "-P", set["pipeline"],
					"-r", strconv.Itoa(redisKeys), "-d", strconv.Itoa(redisValue))},
				// A key that redis-benchmark has written, and what the server counted.
				{Name: "verify", Argv: sh(`set -e
cli() { redis-cli -h "$host" -p "$port" "$@"; }
host=$1 port=$2
info=$(cli INFO stats)
cli STRLEN "$(cli RANDOMKEY)"
cli DBSIZE
cli INFO commandstats
echo "$info"`, "sh", workload.ServerAddress, strconv.Itoa(redisPort))},
			}
		}
		w.MeasuredBy(workload.Measurement{Step: "requests", Tool: "redis-benchmark"})
		return alsoChecking(w, func(size int64, by map[string]workload.StepResult) error {
			if err := redisServed(size, string(by["verify"].Stdout)); err != nil {
				return workload.InStep("verify", err)
			}
			return nil
		})
	})
}

var (
	redisStored = regexp.MustCompile(`\A(\d+)\n(\d+)\n`)
	redisCounts = map[string]*regexp.Regexp{
		"SETs": regexp.MustCompile(`(?m)^cmdstat_set:calls=(\d+),.*,rejected_calls=0,failed_calls=0\r?$`),
		"GETs": regexp.MustCompile(`(?m)^cmdstat_get:calls=(\d+),.*,rejected_calls=0,failed_calls=0\r?$`),
	}
	redisHits   = regexp.MustCompile(`(?m)^keyspace_hits:(\d+)\r?$`)
	redisMisses = regexp.MustCompile(`(?m)^keyspace_misses:(\d+)\r?$`)
)

// redisServed checks the server's own counts: it served each request, has keys with values of the right length, and
// found some of those that it was asked for.
func redisServed(size int64, text string) error {
	stored := redisStored.FindStringSubmatch(text)
	if stored == nil {
		return fault.Guestf("the server's keys are missing: %s", tool.Quote(text))
	}
	number := func(re *regexp.Regexp) int64 {
		m := re.FindStringSubmatch(text)
		if m == nil {
			return -1
		}
		n, err := strconv.ParseInt(m[1], 10, 64)
		if err != nil {
			return -1
		}
		return n
	}
	for what, re := range redisCounts {
		if n := number(re); n != size {
			return fault.Guestf("the server counted %d %s without errors instead of %d", n, what, size)
		}
	}
	if stored[1] != strconv.Itoa(redisValue) {
		return fault.Guestf("a value has %s bytes instead of %d", stored[1], redisValue)
	}
	keys, err := strconv.ParseInt(stored[2], 10, 64)
	if err != nil || keys < 1 || keys > min(size, redisKeys) {
		return fault.Guestf("the server has %s keys after %d SETs", stored[2], size)
	}
	hits, misses := number(redisHits), number(redisMisses)
	if hits < 1 || hits+misses != size {
		return fault.Guestf("the server found %d keys and missed %d in %d GETs", hits, misses, size)
	}
	return nil
}
