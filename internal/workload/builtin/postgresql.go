package builtin

import (
	"regexp"
	"slices"
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

	// pgSchedule prints how many transactions pgLog has, how many µs after the first the last of them was due and the last
	// one was done, and how many pgbench sent more than 1 ms late although their client was free: it did not get a CPU in
	// time. The last word of a line is the time in µs between when a transaction was due and when it was sent.
	pgSchedule = `cat "$1".* | perl -ne '($client, $took, $s, $us, $lag) = (split)[0, 2, 4, 5, 6];` +
		` $done = $s * 1e6 + $us; $due = $done - $took; $sent = $due + $lag; $from = $free{$client};` +
		` $from = $due if !defined $from or $due > $from; $late++ if $sent - $from > 1000; $free{$client} = $done;` +
		` $first = $due if !defined $first or $due < $first; $last = $due if $due > $last; $end = $done if $done > $end;` +
		` END { printf "%.0f %.0f %.0f %.0f\n", $., $last - $first, $end - $first, $late }'`

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

// pgParams are the parameters of all workloads with pgbench, besides the number of clients.
var pgParams = []workload.Param{
	{Name: "scale", Default: "5", Min: 1, Max: 1000, About: "branches of the bank; each has 100,000 accounts"},
	{Name: "test", Default: "tpcb-like", Values: []string{"tpcb-like", "simple-update", "select-only"},
		About: "which of pgbench's transactions"},
}

// pgbench runs transactions on PostgreSQL over TCP, each after the one before it.
func pgbench() *workload.Workload {
	return workload.WithParams(append([]workload.Param{clientsParam}, pgParams...),
		func(set workload.Settings) *workload.Workload {
			return transactions(&workload.Workload{
				Name: "pgbench", Title: "transactions on PostgreSQL by pgbench",
				Metrics: []workload.Metric{
					workload.Time("all transactions, and the start of pgbench"),
					workload.Rate("rate", "1/s", "rate", "transactions per second, as pgbench prints it"),
					workload.Latency("latency", "mean latency", "mean per transaction, as pgbench prints it"),
				},
				MinSize: 20, DefaultSize: 2000,
			}, set, nil)
		})
}

// pgbenchRate runs transactions that are due at a rate, whether or not PostgreSQL keeps up.
func pgbenchRate() *workload.Workload {
	params := append([]workload.Param{
		{Name: "rate", Default: "50", Min: 1, Max: 100_000,
			About: "transactions that are due in a second on average, whether or not the server keeps up"},
		{Name: "clients", Default: "8", Min: 1, Max: 150,
			About: "connections; a transaction for which none is free waits, and its time runs"},
	}, pgParams...)
	return workload.WithParams(params, func(set workload.Settings) *workload.Workload {
		w := &workload.Workload{
			Name: "pgbench-rate", Title: "transactions on PostgreSQL at a constant rate, by pgbench",
			Programs: []string{"perl"}, Packages: []string{"perl-base"},
			Metrics: []workload.Metric{
				workload.Latency("latency", "mean latency", "mean per transaction, from when it was due, as pgbench prints it"),
				workload.Time("all transactions, which is mostly given by their rate, and the start of pgbench"),
			},
			MinSize: 10, DefaultSize: max(10, 5*int64(set.Int("rate"))/int64(set.Int("clients"))),
		}
		// All trials have the same schedule.
		return transactions(w, set, []string{"--rate=" + set["rate"], "--random-seed=1"},
			workload.Step{Name: "schedule", Argv: sh(pgSchedule, "sh", pgLog)})
	})
}

// transactions completes a workload of transactions by pgbench with further arguments. read are the steps that read
// pgLog, besides the one that counts the latencies.
func transactions(w *workload.Workload, set workload.Settings, args []string,
	read ...workload.Step) *workload.Workload {
	clients, scale := int64(set.Int("clients")), int64(set.Int("scale"))
	w.Source = "pgbench on PostgreSQL (postgresql)"
	w.Programs = append(w.Programs, "chown", "pg_isready", "pgbench", "psql", "setpriv", "sh", "sync", "cat", "cut", "rm",
		"sort", "uniq")
	w.Packages = append(w.Packages, "coreutils", "dash", "postgresql", "util-linux")
	w.SizeUnit, w.MaxSize = "transactions of each client", 10_000_000
	// The cluster, its tables twice for the log, and what transactions add.
	w.DiskBytes = func(size int64) int64 { return 128<<20 + scale*40<<20 + size*clients*4096 }
	w.Serve = func(int64) []workload.Step {
		return []workload.Step{
			{Name: "cluster", Argv: sh(pgCreate, "sh", workload.ServerAddress, strconv.Itoa(pgPort))},
			{Name: "postgres", Background: true, Argv: sh(pgServe),
				Ready: pgClient("pg_isready", "-q")},
			removed(pgDir),
		}
	}
	w.Steps = func(size int64) []workload.Step {
		line := append(pgClient("pgbench", "-n", "-b", set["test"], "-c", set["clients"], "-t", decimal(size), "-l",
			"--log-prefix="+pgLog), args...)
		return slices.Concat([]workload.Step{
			{Name: "tables", Argv: pgClient("pgbench", "-i", "-q", "-s", set["scale"], "postgres")},
			// Nothing of the tables is left to be written while transactions run.
			{Name: "settle", Argv: pgClient("psql", "-qAtc", "CHECKPOINT", "postgres")},
			{Name: "pgbench", Timed: true, Argv: append(line, "postgres")},
		}, read, []workload.Step{
			{Name: "latencies", Argv: sh(`cat "$1".* | cut -d " " -f 3 | sort -n | uniq -c && rm "$1".*`, "sh", pgLog)},
			{Name: "verify", Argv: pgClient("psql", "-qAtF", " ", "-c", pgBooks, "postgres")},
		})
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
	if set["rate"] != "" {
		rate := float64(set.Int("rate"))
		w.AtRate = func(results []workload.StepResult) (workload.Rates, error) { return pgRates(results, rate) }
	}
	return alsoChecking(w, func(size int64, by map[string]workload.StepResult) error {
		if w.AtRate != nil {
			if _, err := w.AtRate([]workload.StepResult{by["schedule"]}); err != nil {
				return err
			}
		}
		if err := balanced(set["test"], size*clients, 100_000*scale, string(by["verify"].Stdout)); err != nil {
			return workload.InStep("verify", err)
		}
		return nil
	})
}

var pgScheduleLine = regexp.MustCompile(`^(\d+) (\d+) (\d+) (\d+)\n$`)

// pgRates are those of a trial's transactions, which were due at a mean rate. pgbench draws the times between them at
// random, so the rate at which they were due is that of the times that it drew.
func pgRates(results []workload.StepResult, rate float64) (workload.Rates, error) {
	i := slices.IndexFunc(results, func(r workload.StepResult) bool { return r.Name == "schedule" })
	if i < 0 {
		return workload.Rates{}, fault.Guestf("the trial has no step schedule")
	}
	text := string(results[i].Stdout)
	m := pgScheduleLine.FindStringSubmatch(text)
	if m == nil {
		return workload.Rates{}, workload.InStep("schedule",
			fault.Guestf("this is not the schedule of pgbench's transactions: %s", tool.Quote(text)))
	}
	var v [4]float64 // transactions, µs until the last was due, µs until the last was done, late transactions
	for i := range v {
		n, err := tool.Number(m[i+1])
		if err != nil {
			return workload.Rates{}, err
		}
		v[i] = n
	}
	// The time of the last transaction is its interval, as if another one followed.
	due := v[1]/1e6 + 1/rate
	if v[0] == 0 || v[3] > v[0] {
		return workload.Rates{}, workload.InStep("schedule",
			tool.Contradiction("of %.0f transactions, %.0f were late", v[0], v[3]))
	}
	return workload.Rates{Stated: v[0] / due, Achieved: v[0] / max(due, v[2]/1e6), Late: v[3] / v[0]}, nil
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
