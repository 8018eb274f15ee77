package builtin

import (
	"crypto/sha256"
	"fmt"
	"strconv"
	"strings"

	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/workload"
	"github.com/tare-bench/tare/internal/workload/tool"
)

const (
	sqliteDir = "tare-sqlite"
	// The value of row i is i × sqliteFactor mod sqlitePrime. The values of sqlitePrime rows differ, since it is a
	// prime number.
	sqliteFactor, sqlitePrime = 2_654_435_761, 1_000_003
	// sqliteScans is the number of queries for a range of values without an index.
	sqliteScans = 25

	// sqliteMake has SQLite print the statements for $1 rows. Keys of the last table are in no order: multiples of an
	// odd number differ modulo 2^32. Of every 5 rows one is updated, and of every 10 one is deleted from that table.
	sqliteMake = `set -e
rm -rf ` + sqliteDir + ` && mkdir ` + sqliteDir + ` && cd ` + sqliteDir + `
# each N WORDS: the words for each row whose number is a multiple of N; it has the value v and the key k
each() { sqlite3 :memory: "WITH RECURSIVE row(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM row WHERE i < $rows)
SELECT printf($2) FROM (SELECT i, i*2654435761%1000003 AS v, i*2654435761%4294967296 AS k FROM row) WHERE i%$1=0"; }
rows=$1 scans=$2
{
	echo 'CREATE TABLE plain(a INTEGER, b INTEGER, c TEXT); BEGIN;'
	each 1 "'INSERT INTO plain VALUES(%d,%d,''value %06x'');', i, v, v"
	echo 'COMMIT; CREATE TABLE sorted(a INTEGER PRIMARY KEY, b INTEGER, c TEXT); BEGIN;'
	each 1 "'INSERT INTO sorted VALUES(%d,%d,''value %06x'');', i, v, v"
	echo 'COMMIT; CREATE TABLE unsorted(a INTEGER PRIMARY KEY, b INTEGER, c TEXT); BEGIN;'
	each 1 "'INSERT INTO unsorted VALUES(%d,%d,''value %06x'');', k, v, v"
	echo 'COMMIT; CREATE INDEX plain_b ON plain(b); CREATE INDEX plain_cb ON plain(c, b); BEGIN;'
	each 5 "'UPDATE plain SET a=-a WHERE b=%d;', v"
	echo 'COMMIT; UPDATE sorted SET b=b+1; BEGIN;'
	each 10 "'DELETE FROM unsorted WHERE a=%d;', k"
	echo 'COMMIT; ANALYZE;'
} >write.sql
{
	i=0
	while [ $i -lt $scans ]; do
		echo "SELECT count(*), sum(a) FROM sorted WHERE b > $((i * 1000003 / scans)) AND b <= $(((i + 1) * 1000003 / scans));"
		i=$((i + 1))
	done
	for i in 0 1 2 3 4 5 6 7 8 9; do echo "SELECT count(*) FROM sorted WHERE c LIKE '%${i}f%';"; done
	each 3 "'SELECT a FROM plain WHERE b=%d;', v"
	each 3 "'SELECT c FROM unsorted WHERE a=%d;', k"
	echo 'SELECT count(*), sum(s.a) FROM unsorted u JOIN plain p USING (b) JOIN sorted s ON s.a=abs(p.a);'
} >read.sql
sync -f .`
	sqliteVerify = `set -e
cd ` + sqliteDir + `
sqlite3 db 'PRAGMA integrity_check'
sha256sum <answers`
)

// sqlite writes tables with the shell of SQLite, and reads them.
func sqlite() *workload.Workload {
	w := &workload.Workload{
		Name: "sqlite", Title: "write tables in SQLite, and read them: CPU, memory and some disk",
		Source: "SQLite's shell (sqlite3)",
		StandIn: "for SQLite's speedtest1, which is in no package: tare's statements have its main parts (inserts in " +
			"three orders of keys, scans, LIKE, indexes, updates, deletions, a join), but the shell parses each statement, " +
			"and there are fewer kinds of them, so its figures are not those of speedtest1",
		Programs: []string{"sh", "sha256sum", "sqlite3"}, Packages: []string{"coreutils", "dash", "sqlite3"},
		Metrics: []workload.Metric{
			workload.Time("writing and reading, with the flushes of SQLite's commits"),
			workload.HostTime("write-time",
				"inserts, indexes, updates and deletions, in six large transactions and a few small ones"),
			workload.HostTime("read-time", "queries, from the page cache if the file fits"),
		},
		SizeUnit: "rows in each of three tables", MinSize: 1000, MaxSize: 1_000_000, DefaultSize: 50_000,
		DiskBytes: func(size int64) int64 { return 16<<20 + 1024*size },
		Steps: func(size int64) []workload.Step {
			rows, scans := decimal(size), strconv.Itoa(sqliteScans)
			shell := func(text string) []string { return sh("cd " + sqliteDir + " && " + text) }
			return []workload.Step{
				{Name: "prepare", Argv: sh(sqliteMake, "sh", rows, scans)},
				{Name: "write", Timed: true, Argv: shell("exec sqlite3 -batch -bail db <write.sql")},
				{Name: "read", Timed: true, Argv: shell("exec sqlite3 -batch -bail db <read.sql >answers")},
				{Name: "verify", Argv: sh(sqliteVerify)},
				{Name: "clean", Argv: sh("rm -rf " + sqliteDir + " && sync -f .")},
			}
		},
		Parse: noOutput("sqlite"),
	}
	return w.EvaluatedBy(func(size int64, by map[string]workload.StepResult) (map[string]float64, error) {
		got := string(by["verify"].Stdout)
		hash, intact := strings.CutPrefix(got, "ok\n")
		if !intact {
			return nil, fault.Guestf("step verify: SQLite finds the file damaged: %s", tool.Quote(got))
		}
		if want := fmt.Sprintf("%x", sha256.Sum256(sqliteAnswers(size))); !hashIs(hash, want) {
			return nil, fault.Guestf("step verify: the answers have the SHA-256 %s instead of %s", tool.Quote(hash), want)
		}
		write, read := by["write"].Wall.Seconds(), by["read"].Wall.Seconds()
		return map[string]float64{"time": write + read, "write-time": write, "read-time": read}, nil
	})
}

// sqliteAnswers returns the right answers to the queries, as the shell prints them.
func sqliteAnswers(rows int64) []byte {
	value := func(row int64) int64 { return row * sqliteFactor % sqlitePrime }
	var counts, sums [sqliteScans]int64
	var like [10]int64
	var left, leftSum int64
	for i := int64(1); i <= rows; i++ {
		// The greatest value is in the last range, whose upper end is the prime number.
		scan := (value(i)*sqliteScans + sqliteScans - 1) / sqlitePrime
		counts[scan]++
		sums[scan] += i
		text := fmt.Sprintf("%06x", value(i))
		for digit := range like {
			if strings.Contains(text, strconv.Itoa(digit)+"f") {
				like[digit]++
			}
		}
		if i%10 != 0 {
			left++
			leftSum += i
		}
	}
	var out []byte
	for scan := range counts {
		sum := strconv.FormatInt(sums[scan], 10)
		if counts[scan] == 0 {
			sum = "" // NULL
		}
		out = fmt.Appendf(out, "%d|%s\n", counts[scan], sum)
	}
	for _, n := range like {
		out = fmt.Appendf(out, "%d\n", n)
	}
	for i := int64(3); i <= rows; i += 3 {
		a := i
		if i%5 == 0 {
			a = -i
		}
		out = fmt.Appendf(out, "%d\n", a)
	}
	for i := int64(3); i <= rows; i += 3 {
		if i%10 != 0 {
			out = fmt.Appendf(out, "value %06x\n", value(i))
		}
	}
	return fmt.Appendf(out, "%d|%d\n", left, leftSum)
}
