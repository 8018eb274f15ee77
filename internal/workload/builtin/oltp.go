package builtin

import (
	"regexp"
	"strconv"

	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/workload"
	"github.com/tare-bench/tare/internal/workload/tool"
)

// sbtestRows is the number of rows of the image's table.
const sbtestRows = 1_000_000

// sysbenchOLTP runs sysbench's transactions of the kind "read_write" or "read_only"
// on MariaDB through its socket, like the article.
func sysbenchOLTP(kind, short, article string) *workload.Workload {
	params := []workload.Param{threadsParam, {
		Name: "rows", Default: strconv.Itoa(sbtestRows), Min: 1000, Max: sbtestRows,
		About: "rows of the table that transactions use; the table always has a million",
	}}
	return workload.WithParams(params, func(set workload.Settings) *workload.Workload {
		w := &workload.Workload{
			Name: "sysbench-oltp-" + short,
			Title: "transactions on MariaDB: " + map[string]string{"read_write": "reads and writes",
				"read_only": "reads"}[kind],
			ArticleIDs: []string{article},
			Setups:     []workload.Setup{sbtestSetup},
			Metrics: []workload.Metric{
				workload.Time("all transactions, and the start of sysbench"),
				workload.Rate("rate", "1/s", "transactions", "transactions per second, as sysbench prints it"),
				workload.Latency("latency", "mean latency", "mean per transaction, as sysbench prints it"),
				workload.Latency("latency-p95", "95th percentile latency",
					"95th percentile per transaction, as sysbench prints it"),
				sysbenchTime(),
			},
			SizeUnit: "transactions", MinSize: max(50, 4*int64(set.Int("threads"))), MaxSize: 100_000_000,
			DefaultSize: 10_000,
			// The table, and what transactions add to it and to the undo log.
			DiskBytes: func(size int64) int64 { return mariadbDisk + 280<<20 + 4096*size },
		}
		w.DefaultSize = max(w.DefaultSize, w.MinSize)
		steps := func(size int64) []workload.Step {
			steps := mariadb(sbtestSetup)
			return append(steps,
				// Load the whole table, as in a database that has been running for long.
				workload.Step{Name: "warm", Argv: mariadbClient("mariadb", "-N", "-e",
					"SELECT COUNT(*), SUM(LENGTH(c)) FROM sbtest.sbtest1")},
				workload.Step{Name: "oltp", Timed: true, Argv: sysbenchLine("oltp_"+kind, "--db-driver=mysql",
					"--mysql-socket="+dbSocket, "--mysql-user=root",
					"--table-size="+set["rows"], "--threads="+set["threads"], "--rand-seed=1",
					"--histogram=on", "--events="+decimal(size), "run")},
				workload.Step{Name: "verify", Argv: mariadbClient("mariadb", "-N", "-e", "SHOW GLOBAL STATUS LIKE 'Com_commit'")},
				removed(dbDir+"*"))
		}
		w.Steps = steps
		sysbench(w, "oltp", workload.Measurement{Did: "events", SingleOf: "latency", Singles: sysbenchSingles,
			Accept: func(r *tool.Report) error {
				if written := r.Value("queries: write"); (written > 0) != (kind == "read_write") {
					return fault.Guestf("the transactions made %.0f queries that write; that is not oltp_%s", written, kind)
				}
				return nil
			}})
		w.Source = "sysbench oltp_" + kind + " (sysbench) on MariaDB (mariadb-server)"
		w.Programs = []string{"mariadb", "mariadb-admin", "mariadbd", "sh", "sync", "sysbench"}
		w.Packages = []string{"coreutils", "dash", "mariadb-client", "mariadb-server", "sysbench"}
		return alsoChecking(w, func(size int64, by map[string]workload.StepResult) error {
			return committed(size, string(by["verify"].Stdout))
		})
	})
}

var commits = regexp.MustCompile(`^Com_commit\s+(\d+)\s*$`)

// committed checks the database's own number of transactions.
func committed(size int64, text string) error {
	m := commits.FindStringSubmatch(text)
	if m == nil {
		return fault.Guestf("step verify: the database does not report its number of commits: %s", tool.Quote(text))
	}
	if n, err := strconv.ParseInt(m[1], 10, 64); err != nil || n < size {
		return fault.Guestf("step verify: the database committed %s transactions, but sysbench reports %d", m[1], size)
	}
	return nil
}
