package builtin

import (
	"regexp"
	"strconv"

	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/workload"
	"github.com/tare-bench/tare/internal/workload/tool"
)

const (
	memcachedPort = 26211
	// memcachedMiB is the server's memory: room for all keys of a trial of the largest size, so that it drops none.
	memcachedMiB = 256
	// memcachedValue is the length of a value in bytes.
	memcachedValue    = 100
	memcachedSettings = "tare-memaslap.cnf"
)

// memcached writes keys to a server that keeps them in memory, and reads them, nine times as often.
func memcached() *workload.Workload {
	return workload.WithParams([]workload.Param{clientsParam}, func(set workload.Settings) *workload.Workload {
		clients := int64(set.Int("clients"))
		w := &workload.Workload{
			Name: "memcached", Title: "SET and GET of small values in memcached, by memaslap",
			Source:   "memcached, and memaslap (libmemcached-tools), which Debian calls memcaslap",
			Programs: []string{"grep", "memcached", "memcaslap", "memcstat", "sh"},
			Packages: []string{"dash", "grep", "libmemcached-tools", "memcached"},
			Metrics: []workload.Metric{
				workload.Time("all requests, and the start of memaslap"),
				workload.Rate("rate", "1/s", "rate", "requests per second, as memaslap prints it"),
			},
			SizeUnit: "requests of each client (9 of 10 are GETs)", MinSize: 1000, DefaultSize: max(1000, 100_000/clients),
			MaxSize: max(1000, 5_000_000/clients),
		}
		w.Serve = func(int64) []workload.Step {
			return []workload.Step{{Name: "memcached", Background: true, Ready: listening(memcachedPort),
				Argv: []string{"memcached", "-u", "root", "-l", workload.ServerAddress, "-p", strconv.Itoa(memcachedPort),
					"-U", "0", "-m", strconv.Itoa(memcachedMiB)}}}
		}
		server := workload.ServerAddress + ":" + strconv.Itoa(memcachedPort)
		w.Steps = func(size int64) []workload.Step {
			return []workload.Step{
				// Without a file of settings, memaslap writes one to the home of root, which is read-only.
				{Name: "settings", Argv: []string{"sh", "-c", `printf 'key\n64 64 1\nvalue\n100 100 1\ncmd\n0 0.1\n1 0.9\n' >"$1"`,
					"sh", memcachedSettings}},
				{Name: "requests", Timed: true, Argv: []string{"memcaslap", "-F", memcachedSettings, "-s", server,
					"-T", "1", "-c", set["clients"],
					"-x", strconv.FormatInt(size*clients, 10), "-w", "1k", "-X", strconv.Itoa(memcachedValue), "-v", "1.0"}},
				{Name: "verify", Argv: []string{"memcstat", "--servers=" + server}}, // what the server counted
			}
		}
		w.MeasuredBy(workload.Measurement{Step: "requests", Tool: "memaslap", Did: "operations", Per: float64(clients),
			Accept: memcachedAnswers})
		return alsoChecking(w, func(_ int64, by map[string]workload.StepResult) error {
			r, err := tool.Read("memaslap", by["requests"].Output())
			if err != nil {
				return workload.InStep("requests", err)
			}
			if err := memcachedServed(r, string(by["verify"].Stdout)); err != nil {
				return workload.InStep("verify", err)
			}
			return nil
		})
	})
}

// memcachedAnswers returns an error if memaslap, which compares all values with those that it has set, found one
// that is missing or wrong.
func memcachedAnswers(r *tool.Report) error {
	for _, name := range []string{"get_misses", "verify_misses", "verify_failed"} {
		count, err := r.One(name)
		if err != nil {
			return err
		}
		if count.Value > 0 {
			return fault.Guestf("memaslap counts %.0f %s: the server did not return what was set", count.Value, name)
		}
	}
	return nil
}

var memcachedCount = regexp.MustCompile(`(?m)^\t(\w+): (\d+)$`)

// memcachedServed checks the server's own counts: it served each request, found every key, and dropped none.
func memcachedServed(r *tool.Report, text string) error {
	counts := map[string]float64{}
	for _, m := range memcachedCount.FindAllStringSubmatch(text, -1) {
		n, err := tool.Number(m[2])
		if err != nil {
			return err
		}
		counts[m[1]] = n
	}
	for name, want := range map[string]float64{
		"cmd_get": r.Value("cmd_get"), "cmd_set": r.Value("cmd_set"), "get_hits": r.Value("cmd_get"),
		"total_items": r.Value("cmd_set"), "evictions": 0,
	} {
		if n, there := counts[name]; !there || n != want {
			return fault.Guestf("the server's %s is %.0f instead of %.0f: %s", name, n, want, tool.Quote(text))
		}
	}
	return nil
}
