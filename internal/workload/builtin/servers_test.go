package builtin

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/workload"
	"github.com/tare-bench/tare/internal/workload/tool"
)

func TestParseServiceFixtures(t *testing.T) {
	const kib8 = 8 * 1024
	for _, tc := range []struct {
		workload, file string
		want           map[string]float64
	}{
		{"ab-static", "ab/index-c1-n5000.txt", map[string]float64{"rate": 12454.39, "latency": 0.080e-3,
			"time-guest": 0.401}},
		{"ab-static", "ab/index-c10-n5000.txt", map[string]float64{"rate": 17586.19, "latency": 0.569e-3,
			"time-guest": 0.284}},
		{"ab-static", "ab/index-c10-n5000-csv-gnuplot.txt", map[string]float64{"rate": 15894.51, "latency": 0.629e-3,
			"time-guest": 0.315}},
		{"ab-static", "ab/index-c50-n5000.txt", map[string]float64{"rate": 17906.83, "latency": 2.792e-3,
			"time-guest": 0.279}},
		{"ab-static", "ab/index-keepalive-c10.txt", map[string]float64{"rate": 23841.31, "latency": 0.419e-3,
			"time-guest": 0.210}},
		{"ab-status", "ab/status-c2-n500.txt", map[string]float64{"rate": 9942.73, "latency": 0.201e-3, "time-guest": 0.050}},
		{"http-rate", "tare-http/static-200.txt", map[string]float64{"latency": 0.0019715552312500008}},
		{"wordpress", "ab/wp-c1-n50.txt", map[string]float64{"rate": 16.54, "latency": 60.445e-3, "time-guest": 3.022}},
		{"wordpress", "ab/wp-c10-n100.txt", map[string]float64{"rate": 20.03, "latency": 499.284e-3, "time-guest": 4.993}},
		// Eleven pages that differ in length by one byte are not failures.
		{"mediawiki", "ab/mediawiki-c1-n50.txt", map[string]float64{"rate": 8.40, "latency": 119.083e-3,
			"time-guest": 5.954}},
		{"mediawiki", "ab/mediawiki-c10-n100-l.txt", map[string]float64{"rate": 17.61, "latency": 568.009e-3,
			"time-guest": 5.680}},
		{"sysbench-oltp-ro", "sysbench/oltp_ro-4t.txt", map[string]float64{"rate": 1749.60, "latency": 2.28e-3,
			"latency-p95": 4.18e-3, "time-guest": 5.0043}},
		{"sysbench-oltp-rw", "sysbench/oltp_rw-16t.txt", map[string]float64{"rate": 917.43, "latency": 17.38e-3,
			"latency-p95": 30.26e-3, "time-guest": 5.0138}},
		{"iperf3", "iperf3/tcp-json.txt", map[string]float64{"bandwidth": 3552149429.8549933, "time-guest": 3.002131}},
		{"iperf3", "iperf3/tcp-text.txt", map[string]float64{"bandwidth": 3.63e9, "time-guest": 3.01}},
		{"iperf3", "iperf3/udp-json.txt", map[string]float64{"bandwidth": 99780036.82318074, "time-guest": 3.000284}},
		{"nuttcp", "nuttcp/tcp-1s.txt", map[string]float64{"bandwidth": 3457.9530e6, "time-guest": 1237.9968 * (1 << 20) * 8 /
			3457.9530e6}},
		{"nuttcp", "nuttcp/tcp-fparse.txt",
			map[string]float64{"bandwidth": 5515.4253e6, "time-guest": 1972.4968 * (1 << 20) * 8 / 5515.4253e6}},
		{"nuttcp", "ttcp/transmit-defaults.txt", map[string]float64{"bandwidth": 1363855.82 * kib8,
			"time-guest": 16777216 / (1363855.82 * 1024)}},
		{"nuttcp", "ttcp/transmit-n20000-fm.txt", map[string]float64{"bandwidth": 7988.65 * (1 << 20),
			"time-guest": 163840000. * 8 / 7988.65 / (1 << 20)}},
		{"pgbench", "pgbench/tpcb-c4-j2.txt", map[string]float64{"rate": 237.680429, "latency": 16.829e-3}},
		{"memcached", "memaslap/verify.txt", map[string]float64{"rate": 22842}},
		{"redis", "redis-benchmark/set-get-csv.txt", map[string]float64{"set-rate": 7949.13, "get-rate": 6199.63,
			"set-p99": 3.327e-3, "get-p99": 3.799e-3}},
		{"netpipe", "netpipe/np-loopback-64k.txt",
			map[string]float64{"latency": 10.51e-6, "bandwidth": 51799.67 * (1 << 20)}},
		{"netpipe", "netpipe/np-loopback-64k.out",
			map[string]float64{"latency": 10.51e-6, "bandwidth": 51799.666179 * (1 << 20)}},
		{"netperf-crr", "netperf/tcp_crr.txt", map[string]float64{"rate": 7902.06, "time-guest": 3}},
		{"netperf-crr", "netperf/tcp_crr-k.txt", map[string]float64{"rate": 3736.851, "time-guest": 1.34,
			"latency-p50": 50e-6, "latency-p90": 90e-6, "latency-p99": 6500e-6}},
		{"netperf-crr", "netperf/tcp_crr-P0-v0.txt", map[string]float64{"rate": 11734.94}},
		{"netperf-stream", "netperf/tcp_stream.txt", map[string]float64{"bandwidth": 6837.03e6, "time-guest": 3.02}},
		{"netperf-stream", "netperf/tcp_stream-omni-k.txt", map[string]float64{"bandwidth": 8622.82e6, "time-guest": 3}},
		{"netperf-stream", "netperf/tcp_stream-confidence.txt",
			map[string]float64{"bandwidth": 7382.92e6, "time-guest": 1.01}},
	} {
		t.Run(tc.workload+"/"+tc.file, func(t *testing.T) {
			w := mustGet(t, tc.workload)
			got, err := w.Parse(fixture(t, tc.file))
			if err != nil {
				t.Fatal(err)
			}
			checkMetrics(t, w, got, tc.want)
		})
	}
}

func TestParseServicesRefuse(t *testing.T) {
	replaced := func(file, old, with string) string {
		t.Helper()
		text := string(fixture(t, file))
		if !strings.Contains(text, old) {
			t.Fatalf("no %q in %s", old, file)
		}
		return strings.Replace(text, old, with, 1)
	}
	file := func(name string) string { return string(fixture(t, name)) }
	for _, tc := range []struct{ workload, text, says string }{
		{"wordpress", file("ab/wp-article-url-c1-n100-301.txt"), "redirection or an error"},
		{"wordpress", file("ab/wp-notheme-200-empty-c1-n50.txt"), "0 bytes of pages"},
		{"ab-static", file("ab/error-refused.txt"), "Connection refused"},
		{"http-rate", file("tare-http/error-refused.txt"), "connection refused"},
		{"http-rate", file("tare-http/failed-503.txt"), "2 of 20 requests failed; the first error: \"503"},
		{"http-rate", replaced("tare-http/static-200.txt", `"answered":160`, `"answered":159`),
			"160 requests, 159 were answered"},
		{"http-rate", replaced("tare-http/static-200.txt", `"rate":200`, `"rate":400`), "160 answers in 0.8 s are not 400/s"},
		{"http-rate", replaced("tare-http/static-200.txt", `"mean":0.00197`, `"mean":0.197`), "longer than the longest"},
		{"http-rate", replaced("tare-http/static-200.txt", `"latencies":"HIST`, `"latencies":"hist`),
			"the histogram of tare-http"},
		{"ab-static", file("ab/error-c-gt-n.txt"), "Cannot use concurrency"},
		{"ab-static", replaced("ab/index-c10-n5000.txt", "Failed requests:        0", "Failed requests:        3"),
			"3 of 5000 requests failed"},
		{"ab-static", replaced("ab/index-c10-n5000.txt", "17586.19", "27586.19"), "rate × time"},
		{"ab-static", replaced("ab/index-c10-n5000.txt", "0.569 [ms]", "0.869 [ms]"), "latency × rate"},
		{"ab-static", file("ab/index-c10-n5000.txt") + file("ab/index-c1-n5000.txt"), `2 figures "complete"`},
		{"ab-static", "", `no line "Requests per second:"`},
		// Pages of a very different length are not the same page.
		{"mediawiki", replaced("ab/mediawiki-c1-n50.txt", "Document Length:        16430", "Document Length:        430"),
			"11 of 50 requests failed"},
		{"sysbench-oltp-rw", file("sysbench/oltp-article-cmd-0.4-syntax.txt"), "FATAL"},
		{"sysbench-oltp-rw", file("sysbench/cpu.txt"), "not of sysbench oltp"},
		{"iperf3", file("iperf3/error-refused-json.txt"), "Connection refused"},
		{"iperf3", file("iperf3/tcp-json.txt")[:900], "cut off"},
		{"iperf3", replaced("iperf3/tcp-text.txt", "3.63 Gbits/sec                  receiver",
			"9.63 Gbits/sec                  receiver"), "rate × time"},
		{"nuttcp", replaced("nuttcp/tcp-fparse.txt", "rate_Mbps=5515", "rate_Mbps=7515"), "rate × time"},
		{"nuttcp", file("nuttcp/tcp-1s.txt") + file("nuttcp/tcp-1s.txt"), `2 figures "transferred"`},
		{"netpipe", file("netpipe/error-noserver.txt"), "Cannot Connect"},
		{"pgbench", file("pgbench/error-script.txt"), "division by zero"},
		{"pgbench", replaced("pgbench/tpcb-c4-j2.txt", "number of failed transactions: 0",
			"number of failed transactions: 3"), "and 3 failed"},
		{"pgbench", replaced("pgbench/tpcb-c4-j2.txt", "16.829 ms", "96.829 ms"), "latency × rate"},
		{"netpipe", replaced("netpipe/np-loopback-64k.txt", "14704.55 Mbps", "24704.55 Mbps"), "rate × time"},
		{"netperf-crr", file("netperf/error-noserver.txt"), "netserver listening"},
		{"netperf-crr", file("netperf/tcp_stream.txt"), "TCP_STREAM, not of TCP_CRR"},
	} {
		m, err := mustGet(t, tc.workload).Parse([]byte(tc.text))
		checkRefused(t, m, err, []string{tc.says})
	}
}

func TestPageLength(t *testing.T) {
	for text, says := range map[string]string{
		"200 51929\n1\n": "", "301 0\n0\n": "status 301", "200 0\n0\n": "empty", "200 300\n0\n": "not the right one",
		"":        "could not be checked",
		"000 0\n": "could not be checked",
	} {
		n, err := pageLength(text)
		if says == "" {
			if err != nil || n != 51929 {
				t.Errorf("%q: %v, %v", text, n, err)
			}
		} else if err == nil || fault.KindOf(err) != fault.Guest || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestCommitted(t *testing.T) {
	for text, says := range map[string]string{"Com_commit\t50\n": "", "Com_commit\t49\n": "committed 49",
		"": "does not report"} {
		err := committed(50, text)
		if (err == nil) != (says == "") || err != nil && !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// TestBalanced: the sums of pgbench's tables prove each transaction.
func TestBalanced(t *testing.T) {
	for _, tc := range []struct{ test, text, says string }{
		{"tpcb-like", "-7108 -7108 -7108 -7108 50 500000\n", ""},
		{"simple-update", "-7108 0 0 -7108 50 500000\n", ""},
		{"select-only", "0 0 0 0 0 500000\n", ""},
		{"tpcb-like", "-7107 -7108 -7108 -7108 50 500000\n", "do not add up"},
		{"tpcb-like", "-7108 0 0 -7108 50 500000\n", "do not add up"},
		{"tpcb-like", "-7108 -7108 -7108 -7108 49 500000\n", "49 transactions instead of 50"},
		{"select-only", "3 0 0 0 0 500000\n", "do not add up"},
		{"tpcb-like", "-7108 -7108 -7108 -7108 50 499999\n", "499999 accounts"},
		{"tpcb-like", "", "are missing"},
	} {
		err := balanced(tc.test, 50, 500_000, tc.text)
		if (err == nil) != (tc.says == "") || err != nil && !strings.Contains(err.Error(), tc.says) {
			t.Errorf("%s, %q: %v", tc.test, tc.text, err)
		}
	}
}

// TestRedisServed: the server's own counts must agree with the requests.
func TestRedisServed(t *testing.T) {
	_, rs := recorded(t, "redis")
	text := string(result(rs, "verify").Stdout)
	for old, tc := range map[string]struct{ with, says string }{
		"100\n":                  {"99\n", "a value has 99 bytes"},
		"cmdstat_set:calls=2000": {"cmdstat_set:calls=1999", "counted 1999 SETs"},
		"cmdstat_get:calls=2000": {"cmdstat_set:calls=2000", "counted -1 GETs"},
		"failed_calls=0":         {"failed_calls=3", "counted"},
		"keyspace_misses:":       {"keyspace_misses:1", "missed 1"},
		"keyspace_hits:":         {"keyspace_hats:", "found -1 keys"},
	} {
		if !strings.Contains(text, old) {
			t.Fatalf("no %q in the recorded trial", old)
		}
		err := redisServed(2000, strings.ReplaceAll(text, old, tc.with))
		if err == nil || !strings.Contains(err.Error(), tc.says) {
			t.Errorf("%s: %v", old, err)
		}
	}
	if err := redisServed(2000, text); err != nil {
		t.Error(err)
	}
	if err := redisServed(2000, ""); err == nil {
		t.Error("nothing is accepted")
	}
}

// The steps of the serving side come first, its steps without servers come last, and
// all steps have the servers' address.
func TestTrial(t *testing.T) {
	w := mustGet(t, "wordpress")
	var names []string
	for _, s := range w.Trial(10, "192.0.2.7") {
		names = append(names, s.Name)
		for _, word := range slices.Concat(s.Argv, s.Ready) {
			if strings.Contains(word, workload.ServerAddress) {
				t.Errorf("step %s: no address in %q", s.Name, word)
			}
		}
	}
	want := []string{"database", "mariadb", "apache", "warm", "check", "ab", "latencies", "clean"}
	if !slices.Equal(names, want) {
		t.Errorf("steps %v", names)
	}
	ab := w.Trial(10, "192.0.2.7")[5].Argv
	if ab[len(ab)-1] != "http://192.0.2.7:28080/wp/" {
		t.Errorf("%q", ab)
	}
	if !strings.Contains(w.Steps(10)[1].Argv[len(ab)-1], workload.ServerAddress) {
		t.Error("a trial changes the workload")
	}
}

// Setups of the same name are identical, and bash can parse them.
func TestSetups(t *testing.T) {
	seen := map[string]string{}
	for _, w := range All() {
		for _, s := range w.Setups {
			if script, ok := seen[s.Name]; ok && script != s.Script {
				t.Errorf("%s: another setup %s", w.Name, s.Name)
			}
			seen[s.Name] = s.Script
		}
	}
	if len(seen) == 0 {
		t.Error("no setups")
	}
	for name, script := range seen {
		if out, err := exec.Command("bash", "-n", "-c", script).CombinedOutput(); err != nil {
			t.Errorf("%s: %v: %s", name, err, out)
		}
	}
}

func FuzzParseServices(f *testing.F) {
	seed(f, "ab", "iperf3", "nuttcp", "ttcp", "netpipe", "netperf")
	f.Fuzz(func(t *testing.T, output []byte) {
		for _, name := range []string{"wordpress", "iperf3", "nuttcp", "netpipe", "netperf-crr", "netperf-stream",
			"sysbench-oltp-rw"} {
			m, err := mustGet(t, name).Parse(output)
			checkFuzzed(t, m, err)
		}
		if n, err := pageLength(string(output)); err == nil && n <= 0 {
			t.Errorf("a page of %v bytes", n)
		}
	})
}

// TestPageLatencies: the single latencies of ab are as many as its requests.
func TestPageLatencies(t *testing.T) {
	w := mustGet(t, "wordpress")
	ab := workload.StepResult{Name: "ab", Stdout: fixture(t, "ab/wp-c1-n50.txt")}
	counted := func(text string) workload.StepResult {
		return workload.StepResult{Name: "latencies", Stdout: []byte(text)}
	}
	h, err := w.Latencies([]workload.StepResult{ab, counted("     40 58\n      9 61\n      1 130\n")})
	if err != nil || h.Count() != 50 || h.Quantile(0.5) < 57.5e6 || h.Quantile(0.5) > 58.5e6 || h.Quantile(1) < 129e6 {
		t.Errorf("%+v, %v", h, err)
	}
	for text, says := range map[string]string{
		"     40 58\n": "40 single latencies, but says that it has 50", "": "0 single latencies",
		"     40 x\n":                    "no number of",
		"      1 99999999999999999999\n": "out of range", "     50 99999999\n": "too long",
	} {
		_, err := w.Latencies([]workload.StepResult{ab, counted(text)})
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v, want %q", text, err, says)
		}
	}
}

// TestTransactionLatencies: the single latencies of pgbench are as many as its transactions, in µs.
func TestTransactionLatencies(t *testing.T) {
	w, _, rs := good(t, "pgbench")
	h, err := w.Latencies(rs)
	if err != nil || h.Count() != 50 || h.Quantile(0.5) < 1.45e6 || h.Quantile(0.5) > 1.49e6 || h.Quantile(1) < 3.2e6 {
		t.Errorf("%+v, %v", h, err)
	}
	result(rs, "latencies").Stdout = []byte("     49 1391\n")
	if _, err := w.Latencies(rs); err == nil || !strings.Contains(err.Error(), "wrote 49 single latencies") {
		t.Errorf("%v", err)
	}
}

// TestTransactionsAtRate: the latencies of pgbench at a rate count from when transactions were due, and the schedule
// gives the rates.
func TestTransactionsAtRate(t *testing.T) {
	w, size, rs := good(t, "pgbench-rate")
	m, err := w.Evaluate(size, rs)
	if err != nil {
		t.Fatal(err)
	}
	h, err := w.Latencies(rs)
	if err != nil || h.Count() != 8*size {
		t.Fatalf("%+v, %v", h, err)
	}
	sum := 0.
	for _, b := range h.Bars() {
		sum += float64(b.Count) * float64(b.Low+b.High) / 2e9
	}
	if mean := sum / float64(h.Count()); math.Abs(mean/m["latency"]-1) > 0.01 {
		t.Errorf("the single latencies have the mean %v s, and pgbench prints %v s", mean, m["latency"])
	}
	for text, want := range map[string]workload.Rates{
		"100 1980000 1990000 0\n":  {Stated: 50, Achieved: 50},
		"100 1980000 4000000 25\n": {Stated: 50, Achieved: 25, Late: 0.25},
	} {
		result(rs, "schedule").Stdout = []byte(text)
		if got, err := w.AtRate(rs); err != nil || got != want {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
	for text, says := range map[string]string{"": "not the schedule", "0 0 0 0\n": "of 0 transactions",
		"5 1 1 6\n": "of 5 transactions, 6 were late"} {
		result(rs, "schedule").Stdout = []byte(text)
		if _, err := w.Evaluate(size, rs); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// TestSchedule: of three transactions of two clients, one was sent 3 ms after it was due although its client was free,
// and another waited for its client until 0.5 ms before it was sent.
func TestSchedule(t *testing.T) {
	prefix := filepath.Join(t.TempDir(), "log")
	const log = "0 0 2000 0 1700000000 10000 500\n1 0 9000 0 1700000000 25000 3000\n0 1 7500 0 1700000000 12000 6000\n"
	if err := os.WriteFile(prefix+".7", []byte(log), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("sh", "-c", pgSchedule, "sh", prefix).Output()
	if err != nil || string(out) != "3 11500 20500 1\n" {
		t.Errorf("%q, %v", out, err)
	}
}

// TestPackets: what a test of iperf3 sent, what arrived, and where the rest was lost.
func TestPackets(t *testing.T) {
	w := mustGet(t, "udp-packets")
	rs := []workload.StepResult{{Name: "client"}, {Name: "sockets"}, {Name: "sockets after"}}
	at := map[string]*workload.StepResult{}
	for i := range rs {
		at[rs[i].Name] = &rs[i]
	}
	snmp := func(in, full string) []byte {
		return []byte("Udp: InDatagrams NoPorts InErrors OutDatagrams RcvbufErrors SndbufErrors\nUdp: " + in + " 0 7 9 " +
			full + " 0\n")
	}
	sum := func(packets, bytes, lost string) string {
		return `{"seconds": 2, "packets": ` + packets + `, "bytes": ` + bytes + `, "lost_packets": ` + lost + `}`
	}
	for name, tc := range map[string]struct {
		sent, received string
		in, full       string // the counters after, which were 100 and 5
		want           workload.Packets
	}{
		"all arrive": {sum("10000", "640000", "0"), sum("10000", "640000", "0"), "10100", "5",
			workload.Packets{Sent: 10000, Received: 10000}},
		"gaps, half of them at the socket": {sum("10000", "640000", "0"), sum("10000", "608000", "500"), "9600", "255",
			workload.Packets{Sent: 10000, Received: 9500, Lost: 500, Socket: 250}},
		"some are on their way": {sum("10000", "640000", "0"), sum("10000", "608000", "300"), "9600", "5",
			workload.Packets{Sent: 10000, Received: 9500, Lost: 300}},
		"the sender's kernel refused some": {sum("10000", "608000", "0"), sum("10000", "608000", "500"), "9600", "5",
			workload.Packets{Sent: 9500, Received: 9500}},
		"more than any queue holds": {sum("10000", "640000", "0"), sum("10000", "320000", "0"), "5100", "5",
			workload.Packets{Sent: 10000, Received: 5000, Lost: 5000}},
		"a kernel that does not count": {sum("10000", "640000", "0"), sum("10000", "608000", "500"), "100", "5",
			workload.Packets{Sent: 10000, Received: 9500, Lost: 500, Socket: -1}},
	} {
		at["client"].Stdout = []byte(`{"start": {}, "intervals": [], "end": {"sum_sent": ` + tc.sent + `, "sum_received": ` +
			tc.received + `}}`)
		at["sockets"].Stdout, at["sockets after"].Stdout = snmp("100", "5"), snmp(tc.in, tc.full)
		got, err := w.Packets(rs)
		if tc.want.Seconds = 2; err != nil || got != tc.want {
			t.Errorf("%s: %+v, %v; want %+v", name, got, err, tc.want)
		}
	}
	if _, err := w.Packets(nil); err == nil {
		t.Error("no steps have packets")
	}
}

// TestRefusedAnswer: a trial in which the guest's kernel refuses the server's answers says why, and what to use
// instead.
func TestRefusedAnswer(t *testing.T) {
	const said = "sockperf: ERROR: sendto() Failed sending on fd[4] to 53.86.0.0:39696 msg size of 14 bytes "
	for text, want := range map[string]bool{
		said + "(errno=97 Address family not supported by protocol)\n": true,
		said + "(errno=22 Invalid argument)\n":                         true,
		said + "(errno=105 No buffer space available)\n":               false,
		"": false,
	} {
		_, err := mustGet(t, "tcp-rtt").Evaluate(2, []workload.StepResult{
			{Name: "client", ExitCode: 1, Stdout: []byte("sockperf: ERROR: A connection was forcibly closed by a peer\n")},
			{Name: "server", ExitCode: 1, Stdout: []byte(text)},
		})
		if err == nil || fault.KindOf(err) != fault.Guest || !strings.Contains(err.Error(), "forcibly closed") ||
			strings.Contains(err.Error(), "never sets") != want || strings.Contains(err.Error(), "udp-rtt") != want {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// TestRoundTrips: the single latencies of sockperf are as many as it counts.
func TestRoundTrips(t *testing.T) {
	w := mustGet(t, "udp-rtt")
	client := workload.StepResult{Name: "client", Stdout: fixture(t, "sockperf/ping-pong-udp-rtt.txt")}
	m, err := w.Parse(client.Stdout)
	if err != nil {
		t.Fatal(err)
	}
	p, err := w.Packets([]workload.StepResult{client})
	if err != nil || p.Lost != 0 || p.Received <= 0 || p.Sent < p.Received || p.Socket != -1 || m["rtt"] <= 0 ||
		m["rate"] <= 0 {
		t.Errorf("%+v, %v, %v", p, m, err)
	}
	r, err := tool.Read("sockperf", string(client.Stdout))
	if err != nil {
		t.Fatal(err)
	}
	n := int(r.Value("observations"))
	counts := func(text string) []workload.StepResult {
		return []workload.StepResult{client, {Name: "latencies", Stdout: []byte(text)}}
	}
	h, err := w.Latencies(counts(fmt.Sprintf("%d 20010\n1 5000000\n", n-1)))
	if err != nil || h.Count() != int64(n) || h.Quantile(0.5) < 19_800 || h.Quantile(0.5) > 20_200 ||
		h.Quantile(1) < 4_900_000 {
		t.Errorf("%+v, %v", h, err)
	}
	_, err = w.Latencies(counts("7 20010\n"))
	if err == nil || !strings.Contains(err.Error(), "wrote 7 single latencies") {
		t.Errorf("%v", err)
	}
}

// TestReconnected: with connect=each, a trial whose requests shared connections is refused.
func TestReconnected(t *testing.T) {
	_, size, rs := good(t, "http-rate")
	w, err := mustGet(t, "http-rate").With("http-rate[connect=each]", map[string]string{"connect": "each"})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range w.Trial(size, "") {
		if s.Name == "requests" && !slices.Contains(s.Argv, "-reconnect") {
			t.Errorf("%q", s.Argv)
		}
	}
	if _, err := w.Evaluate(size, rs); err == nil || !strings.Contains(err.Error(), "0 connections for 160 requests") {
		t.Errorf("connections were kept: %v", err)
	}
	result(rs, "requests").Stdout = fixture(t, "tare-http/connect-each.txt")
	if _, err := w.Evaluate(size, rs); err != nil {
		t.Error(err)
	}
	shared := bytes.Replace(fixture(t, "tare-http/connect-each.txt"), []byte(`"opened":160`), []byte(`"opened":32`), 1)
	result(rs, "requests").Stdout = shared
	if _, err := w.Evaluate(size, rs); err == nil || !strings.Contains(err.Error(), "32 connections for 160 requests") {
		t.Errorf("connections were shared: %v", err)
	}
}

// TestRates: a trial says how many requests were due, answered and late.
func TestRates(t *testing.T) {
	w, _, rs := good(t, "http-rate")
	r, err := w.AtRate(rs)
	if err != nil || r != (workload.Rates{Stated: 200, Achieved: 200, Late: 48. / 160}) {
		t.Errorf("%+v, %v", r, err)
	}
	h, err := w.Latencies(rs)
	if err != nil || h.Count() != 160 {
		t.Errorf("%+v, %v", h, err)
	}
	if _, err := w.AtRate(nil); err == nil {
		t.Error("no requests have rates")
	}
}
