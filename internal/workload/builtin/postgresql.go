package builtin

import (
	"regexp"
	"strconv"

	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/histogram"
	"github.com/tare-bench/tare/internal/workload"
	"github.com/tare-bench/tare/internal/workload/tool"
)

const (
	pgDir  = "tare-pg"
	pgPort = 25432

	// asPostgres runs its arguments as PostgreSQL's user: the server refuses to run as root.
	asPostgres = `set -e
as() { setpriv --reuid=postgres --regid=postgres --clear-groups -- "$@"; }
bin=$(echo /usr/lib/postgresql/*/bin)
`
	// pgCreate makes a cluster without tables. The server, which listens on $1, lets everybody in.
	pgCreate = asPostgres + `rm -rf ` + pgDir + ` && mkdir -m 700 ` + pgDir + ` && chown postgres:postgres ` + pgDir + `
as "$bin/initdb" -D "$PWD/` + pgDir + `" --auth=trust --no-sync --encoding=UTF8 --locale=C >/dev/null
printf 'host all all all trust\n' >>` + pgDir + `/pg_hba.conf
cat >>` + pgDir + `/postgresql.conf <<CONF
listen_addresses = '$1'
port = $2
unix_socket_directories = ''
dynamic_shared_memory_type = mmap
max_wal_size = 4GB
checkpoint_timeout = 1h
autovacuum = off
CONF
sync -f .`
	pgServe = asPostgres + `exec setpriv --reuid=postgres --regid=postgres --clear-groups -- "$bin/postgres" -D "$PWD/` +
		pgDir + `"`

	// pgLog is the prefix of the file in memory in which pgbench writes a line for each transaction. The third word is
	// its time in µs.
	pgLog = "/tmp/tare-pgbench"

	// pgBooks prints the sums of the balances that each transaction changes by the same amount, the sum of these
	// amounts, and the number of transactions.
	pgBooks = `SELECT (SELECT sum(abalance) FROM pgbench_accounts), (SELECT sum(tbalance) FROM pgbench_tellers),
(SELECT sum(bbalance) FROM pgbench_branches), coalesce((SELECT sum(delta) FROM pgbench_history), 0),
(SELECT count(*) FROM pgbench_history), (SELECT count(*) FROM pgbench_accounts)`
)

// pgClient returns the command line of a client of that server.
func pgClient(program string, args ...string) []string {
	return append([]string{program, "-h", workload.ServerAddress, "-p", strconv.Itoa(pgPort), "-U", "postgres"}, args...)
}

// pgbench runs transactions on PostgreSQL over TCP.
func pgbench() *workload.Workload {
	return workload.WithParams([]workload.Param{
		clientsParam,
		{Name: "scale", Default: "5", Min: 1, Max: 1000, About: "branches of the bank; each has 100,000 accounts"},
		{Name: "test", Default: "tpcb-like", Values: []string{"tpcb-like", "simple-update", "select-only"},
			About: "which of pgbench's transactions"},
	}, func(set workload.Settings) *workload.Workload {
		clients, scale := int64(set.Int("clients")), int64(set.Int("scale"))
		w := &workload.Workload{
			Name: "pgbench", Title: "transactions on PostgreSQL by pgbench",
			Source: "pgbench on PostgreSQL (postgresql)",
			Programs: []string{"chown", "pg_isready", "pgbench", "psql", "setpriv", "sh", "sync", "cat", "cut", "rm", "sort",
				"uniq"},
			Packages: []string{"coreutils", "dash", "postgresql", "util-linux"},
			Metrics: []workload.Metric{
				workload.Time("all transactions, and the start of pgbench"),
				workload.Rate("rate", "1/s", "rate", "transactions per second, as pgbench prints it"),
				workload.Latency("latency", "mean latency", "mean per transaction, as pgbench prints it"),
			},
			SizeUnit: "transactions of each client", MinSize: 20, MaxSize: 10_000_000, DefaultSize: 2000,
			// The cluster, its tables twice for the log, and what transactions add.
			DiskBytes: func(size int64) int64 { return 128<<20 + scale*40<<20 + size*clients*4096 },
		}
		w.Serve = func(int64) []workload.Step {
			return []workload.Step{
				{Name: "cluster", Argv: sh(pgCreate, "sh", workload.ServerAddress, strconv.Itoa(pgPort))},
				{Name: "postgres", Background: true, Argv: sh(pgServe),
					Ready: pgClient("pg_isready", "-q")},
				removed(pgDir),
			}
		}
		w.Steps = func(size int64) []workload.Step {
			return []workload.Step{
				{Name: "tables", Argv: pgClient("pgbench", "-i", "-q", "-s", set["scale"], "postgres")},
				// Nothing of the tables is left to be written while transactions run.
				{Name: "settle", Argv: pgClient("psql", "-qAtc", "CHECKPOINT", "postgres")},
				{Name: "pgbench", Timed: true, Argv: pgClient("pgbench", "-n", "-b", set["test"], "-c", set["clients"],
					"-t", decimal(size), "-l", "--log-prefix="+pgLog, "postgres")},
				{Name: "latencies", Argv: sh(`cat "$1".* | cut -d " " -f 3 | sort -n | uniq -c && rm "$1".*`, "sh", pgLog)},
				{Name: "verify", Argv: pgClient("psql", "-qAtF", " ", "-c", pgBooks, "postgres")},
			}
		}
		w.MeasuredBy(workload.Measurement{Step: "pgbench", Tool: "pgbench", Did: "transactions", Per: float64(clients),
			Accept: func(r *tool.Report) error {
				if failed := r.Value("failed transactions"); failed > 0 {
					return fault.Guestf("%.0f transactions failed", failed)
				}
				return nil
			}})
		w.SingleOf, w.Latencies = "latency", func(results []workload.StepResult) (*histogram.Histogram, error) {
			return countedLatencies(results, "pgbench", "pgbench", "transactions", 1e3)
		}
		return alsoChecking(w, func(size int64, by map[string]workload.StepResult) error {
			if err := balanced(set["test"], size*clients, 100_000*scale, string(by["verify"].Stdout)); err != nil {
				return workload.InStep("verify", err)
			}
			return nil
		})
	})
}

var pgBooksLine = regexp.MustCompile(`^(-?\d+) (-?\d+) (-?\d+) (-?\d+) (\d+) (\d+)\n$`)

// balanced checks the bank's books: a transaction of tpcb-like adds the same amount to an account, a teller and a
// branch, and records it in the history; one of simple-update leaves out tellers and branches; select-only changes
// nothing.
func balanced(test string, transactions, accounts int64, text string) error {
	m := pgBooksLine.FindStringSubmatch(text)
	if m == nil {
		return fault.Guestf("the sums of the tables are missing: %s", tool.Quote(text))
	}
	if m[6] != strconv.FormatInt(accounts, 10) {
		return fault.Guestf("there are %s accounts instead of %d", m[6], accounts)
	}
	if test == "select-only" {
		transactions = 0
	}
	if m[5] != strconv.FormatInt(transactions, 10) {
		return fault.Guestf("the history has %s transactions instead of %d", m[5], transactions)
	}
	inBanks := m[4]
	if test != "tpcb-like" {
		inBanks = "0"
	}
	if m[1] != m[4] || m[2] != inBanks || m[3] != inBanks {
		return fault.Guestf("the balances do not add up: accounts %s, tellers %s, branches %s, history %s", m[1], m[2], m[3],
			m[4])
	}
	return nil
}
