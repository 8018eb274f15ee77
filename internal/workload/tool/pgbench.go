package tool

import (
	"math"
	"regexp"
	"strings"

	"github.com/tare-bench/tare/internal/fault"
)

var (
	pgbenchScript = regexp.MustCompile(`(?m)^transaction type: (.+)$`)
	pgbenchIs     = regexp.MustCompile(`(?m)^pgbench \((?:PostgreSQL\) )?(\d+\S*?)(?: .*)?\)?$`)
)

// readPgbench reads the report of pgbench, or what pgbench -i says of the tables that it made.
func readPgbench(text string, r *Report) error {
	if m := pgbenchScript.FindStringSubmatch(text); m != nil {
		r.say("transaction type", m[1])
	}
	switch m := pgbenchIs.FindStringSubmatch(text); {
	case m != nil:
		r.Version = m[1]
	case strings.Contains(text, "\nmaximum number of tries: "):
		r.Version = "15 or later"
	case strings.Contains(text, "without initial connection time)"):
		r.Version = "14"
	case strings.Contains(text, "(including connections establishing)") && strings.Contains(text, "\nlatency average = "):
		r.Version = "9.6 to 13"
	case strings.Contains(text, "(including connections establishing)"):
		r.Version = "9.5 or before"
	}
	return lines(pgbenchLines)(text, r)
}

var pgbenchLines = lineTool{failed: regexp.MustCompile(`(?m)^(?:pgbench: error: .*|pgbench: fatal: .*|.*FATAL: .*|(?:pgbench: )?[Cc]lient \d+ (?:script \d+ )?aborted .*|` +
	`Run was aborted.*)$`),
	lines: []figureLine{
		figures(`^scaling factor: (\d+)`, "scaling factor", "1", ""),
		figures(`^number of clients: (\d+)`, "clients", "1", ""),
		figures(`^number of threads: (\d+)`, "threads", "1", ""),
		figures(`^maximum number of tries: (\d+)`, "tries", "1", ""),
		figures(`^number of transactions per client: (\d+)`, "transactions per client", "1", ""),
		figures(`^duration: (\d+) s`, "duration", "s", ""),
		row(`^number of transactions actually processed: (\d+)(?:/(\d+))?$`, column{"transactions", "1", ""},
			column{"transactions wanted", "1", ""}),
		row(`^(?: - )?number of (failed transactions|serialization failures|deadlock failures|transactions retried|`+
			`transactions skipped): (\d+) \(([\d.]+) ?%\)$`, label, column{"%1", "1", Lower}, column{"%1: share", "%", Lower}),
		figures(`^total number of retries: (\d+)`, "retries", "1", Lower),
		row(`^number of transactions above the ([\d.]+) ms latency limit: (\d+)(?:/(\d+))? \(([\d.]+) ?%\)$`,
			column{"latency limit", "ms", ""}, column{"above the latency limit", "1", Lower}, label,
			column{"above the latency limit: share", "%", Lower}),
		figures(`^latency average(?: =|:) ([\d.]+) ms`, "mean latency", "ms", Lower),
		figures(`^latency stddev(?: =|:) ([\d.]+) ms`, "standard deviation of the latency", "ms", Lower),
		row(`^rate limit schedule lag: avg ([\d.]+) \(max ([\d.]+)\) ms$`, column{"mean lag", "ms", Lower},
			column{"max lag", "ms", Lower}),
		figures(`^initial connection time = ([\d.]+) ms$`, "initial connection time", "ms", Lower),
		figures(`^average connection time = ([\d.]+) ms$`, "mean connection time", "ms", Lower),
		// Versions before 14. Theirs without connecting is the rate of the later ones.
		figures(`^tps = ([\d.]+) \(including connections establishing\)$`, "rate, including connecting", "1/s", Higher),
		figures(`^tps = ([\d.]+) \(excluding connections establishing\)$`, "rate", "1/s", Higher),
		figures(`^tps = ([\d.]+) \(\w+ (?:initial connection time|reconnection times)\)$`, "rate", "1/s", Higher),
		row(`^progress: ([\d.]+) s, ([\d.]+|-?nan) tps, lat ([\d.]+|-?nan) ms stddev ([\d.]+|-?nan)(?:, (\d+) failed)?`+
			`(?:, lag ([\d.]+|-?nan) ms)?(?:, (\d+) skipped)?(?:, (\d+) retried, (\d+) retries)?$`, label,
			column{"at %1 s: rate", "1/s", Higher}, column{"at %1 s: mean latency", "ms", Lower},
			column{"at %1 s: standard deviation of the latency", "ms", Lower}, column{"at %1 s: failed", "1", Lower},
			column{"at %1 s: mean lag", "ms", Lower}, column{"at %1 s: skipped", "1", Lower},
			column{"at %1 s: retried", "1", Lower}, column{"at %1 s: retries", "1", Lower}),
		row(`^ +(\d+\.\d{3}) +(\d+)  (\S.*)$`, column{"%3: latency", "ms", Lower}, column{"%3: failures", "1", Lower}, label),
		row(`^[ \t]+(\d+\.\d{3,6})[ \t]+([^\d\s].*)$`, column{"%2: latency", "ms", Lower}, label), // before 15
		row(`^ - weight: (\d+) \(targets ([\d.]+)% of total\)$`, column{"weight", "1", ""}, column{"weight: share", "%", ""}),
		row(`^ - (\d+) transactions \(([\d.]+)% of total, tps = ([\d.]+)\)$`, column{"script: transactions", "1", ""},
			column{"script: share", "%", ""}, column{"script: rate", "1/s", Higher}),
		figures(`^ - latency average = ([\d.]+) ms$`, "script: mean latency", "ms", Lower),
		figures(`^ - latency stddev = ([\d.]+) ms$`, "script: standard deviation of the latency", "ms", Lower),
		row(`^(\d+) of (\d+) tuples \((\d+)%\) done \(elapsed ([\d.]+) s, remaining ([\d.]+) s\)$`,
			column{"tuples at %4 s", "1", ""}, column{"tuples wanted at %4 s", "1", ""}, label, label,
			column{"remaining at %4 s", "s", Lower}),
		figures(`^done in ([\d.]+) s \(.*\)\.$`, "initialization", "s", Lower),
		figures(`[(,] ?(drop tables|create tables|client-side generate|server-side generate|vacuum|primary keys|`+
			`foreign keys) ([\d.]+) s\b`, "initialization: %1", "s", Lower),
	}, check: pgbenchComplete}

// pgbenchComplete checks that the report is whole, and that its figures fit together.
func pgbenchComplete(r *Report) error {
	if len(r.Figures) == 0 || len(r.All("initialization")) > 0 {
		return nil
	}
	needed := []string{"scaling factor", "clients", "transactions", "rate"}
	if len(r.All("tries")) > 0 || strings.HasPrefix(r.Version, "15") {
		needed = append(needed, "threads", "tries", "failed transactions", "mean latency")
	}
	for _, name := range needed {
		if len(r.All(name)) == 0 {
			return fault.Guestf("this is not the complete output of one run of pgbench: it has no %s", name)
		}
	}
	if many := r.Words["transaction type"] == "multiple scripts"; many && len(r.All("script: rate")) < 2 {
		return fault.Guestf("this is not the complete output of one run of pgbench: scripts are missing")
	}
	did, wanted := r.Value("transactions"), r.Value("transactions wanted")
	if failed := r.Value("failed transactions"); wanted > 0 && did+failed != wanted {
		if err := r.doubt(Contradiction("pgbench processed %.0f transactions, and %.0f failed, instead of %.0f", did, failed,
			wanted)); err != nil {
			return err
		}
	}
	// With a rate limit, clients wait between transactions; reconnections are not part of the latency.
	if len(r.All("mean lag")) > 0 || len(r.All("mean connection time")) > 0 {
		return nil
	}
	if len(r.All("mean latency")) == 0 { // 9.5 and before print none
		return nil
	}
	latency, rate, clients := r.Value("mean latency")/1e3, r.Value("rate"), r.Value("clients")
	if busy := latency * rate; busy > 1.02*clients+1e-6*rate {
		if err := r.doubt(Contradiction("latency × rate is more than the clients: %v s, %v/s, %v clients", latency, rate,
			clients)); err != nil {
			return err
		}
	}
	if math.IsNaN(latency) || latency == 0 || rate == 0 {
		return r.doubt(fault.Guestf("pgbench processed nothing"))
	}
	return nil
}
