package tool

import (
	"flag"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write testdata/figures")

// outputs are the names of all fixtures that have figures, such as dd/noxfer.txt.
func outputs(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("testdata/*/*.txt")
	if err != nil || len(files) < 300 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	var names []string
	for _, path := range files {
		if name := strings.TrimPrefix(path, "testdata/"); unread[name] == "" && filepath.Dir(name) != "figures" {
			names = append(names, name)
		}
	}
	return names
}

// TestAllFigures: testdata/figures lists each output with the command line and all figures.
func TestAllFigures(t *testing.T) {
	index := map[string]*strings.Builder{}
	for _, name := range outputs(t) {
		tool := filepath.Dir(name)
		if index[tool] == nil {
			index[tool] = &strings.Builder{}
		}
		b := index[tool]
		command, _, _ := strings.Cut(fixture(t, strings.TrimSuffix(name, ".txt")+".cmd"), "\n")
		fmt.Fprintf(b, "## %s: %s\n", filepath.Base(name), command)
		r, err := Read(tool, fixture(t, name))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for _, word := range slices.Sorted(maps.Keys(r.Words)) {
			fmt.Fprintf(b, "%s is %q\n", word, r.Words[word])
		}
		for _, f := range r.Figures {
			fmt.Fprintf(b, "%s\t%s\t%s\t%s\n", strconv.FormatFloat(f.Value, 'g', 12, 64), f.Unit, f.Better, f.Name)
		}
	}
	for tool, b := range index {
		path := filepath.Join("testdata", "figures", tool+".tsv")
		if *update {
			if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if string(want) != b.String() {
			t.Errorf("the figures of %s differ from %s; write it with -update and review the change", tool, path)
		}
	}
}

// notFigures are the parts of each tool's output whose numbers are no figures: settings, versions, dates,
// numbers of rows. They are all that a reader may leave out.
var notFigures = map[string][]string{
	"*": {`^\$ .*$`, `\b\d+m\b`, `^(?:real|user|sys)\t\d+m`, `^\tCommand being timed: .*$`, `^\tExit status: 0$`},
	"ab": {`^This is ApacheBench.*$`, `^Copyright.*$`, `^Benchmarking.*$`, `^(?:Completed|Finished) \d+ requests$`,
		`^(?:Server|Document Path|SSL|TLS).*$`},
	"bonnie++": {`^Using uid.*$`, `^Version +\d.*$`, `^(?:Name|Machine|Concurrency|files:max|Latency|vm|host) .*$`,
		`^ {6,}[\d:/]+ .*$`,
		`^1\.9\d,[\d.a-z]+,\w+,`, `,8192,5,`, `,1024,16,,2\b`, `^format_version.*$`},
	"dbench": {`^dbench version.*$`, `^Running for.*$`, `^\d of \d processes.*$`, `^ +\d  cleanup.*$`,
		`^failed to create.*$`},
	"dd": {`\(.*\) copied`, `, [\d.]+ [kMGT]?B/s$`}, // rounded; the reader calculates it
	"iperf2": {`^\[ *\*?\d+\] local .*$`,
		`^(?:Client connecting|Server listening|TCP window|UDP buffer|Sending|Write buffer|Read buffer|TOS set).*$`,
		`^\d{14},127.0.0.1,\d+,127.0.0.1,\d+,\d+,[\d.]+-[\d.]+,`, `^\[SUM-\d\]`, `\d+/0\(0\) pkts`, `\d+\.\d+-\d+\.\d+ sec`,
		`\(tot/err\) = \d/\d$`, `^\[ +\*?\d+\]`},
	"iperf3": {`^\{"event":"start".*$`, `^\t?Server listening.*$`, `^.*\[ *\d+\] local .*$`,
		`^.*(?:Connecting to host|Accepted connection|Reverse mode).*$`, `^iperf 3.*$`, `^Linux .*$`,
		`^Control connection MSS.*$`, `^Time: .*$`, `^ *Cookie: .*$`, `^ *TCP MSS.*$`, `^Starting Test.*$`,
		`^.*Target Bitrate.*$`, `^Setting UDP.*$`,
		`^\w{3} \w{3} \d+ [\d:]+ \d{4} `, `(?s)"start":\s*\{.*?\n\t\},`, `"socket":\s*\d+`, `\[(?: *\d+)\]`, `test #\d`},
	"lmbench": {`^"\w+=\w+`, `^\d+k\t`},
	"unixbench": {`(?s)^.*?\nBenchmark Run:[^\n]*\n[^\n]*`, `(?s)\n-{20,}\nBenchmark Run:[^\n]*\n[^\n]*`,
		`^(?:COUNT|TIME)\|.*$`, `^make.*$`},
	"hyperfine": {`^Benchmark \d+: .*$`, `^  Warning: .*$`, `than '[^']*'`, `'[^']*' ran`, `^sleep [\d.]+,`,
		"`sleep [\\d.]+`", `"exit_codes": \[[^\]]*\]`, `"command": .*`, `"parameters": \{[^}]*\}`, `"n": .*`},
	"memaslap": {`^servers: .*$`, `^[sg]et proportion: .*$`},
	"mbw":      {`^Long uses .*$`, `^Using .*$`},
	"cpio":     {`^[dl-][rwx-]{9} .*$`, `^tree/.*$`},
	"tar": {`^[dl-][rwx-]{9} .*$`, `^tree/.*$`, `^tar: .*$`, `\([\d.]+[KM]?i?B, `, `MiB/s\)`,
		`^Total bytes deleted:`},
	"kernel-build": {`^  (?:[A-Z]\w*(?: \[M\])?) .*$`},
	"tare-http":    {`"(?:url|latencies|first_error)":"[^"]*"`},
	"nbench":       {`^(?:BYTEmark|Index-split|Linux/Unix|Baseline|CPU  |L2 Cache|OS  |C compiler|libc|   +:).*$`},
	"netpipe":      {`^Send and receive.*$`, `^Sending output.*$`, `^ *\d+: `},
	"ioping":       {`^--- .*$`, `^.*\d+ KiB (?:<<<|>>>) .*: `, `"(?:timestamp|localtime|fstype|device_size|size)": .*$`},
	"perf-bench": {`^Run summary.*$`, `fdmap: .*? \[`, `futex(?:es)?: .*? \[`, `^# Copying.*$`, `^Nesting.*$`,
		`^Setting RLIMIT.*$`,
		`^# function.*$`, `^ #.*(?:tasks will|mem operations|Running main).*$`, `on CPU 0`, ` of \d+ threads`},
	"tiobench": {`\(2\^20.*`, `>\d+ ?s(?:ec)?`, `^(\S+ +\d+ +\d+ +\d+)`},
	"ttcp":     {`^ttcp-[tr]: buflen=.*$`, `^ttcp-r: accept from.*$`, `[\d:]+real`, `I/O`},
	"nuttcp": {`^nuttcp-[tr]: (?:v6|buflen|time limit|(?:send|available send) window).*$`, `with mss=\d+`, `[\d:]+real`,
		`127\.0\.0\.1`}, "qperf": {`^ +\w+_(?:node|cpu|os|qperf) +=  .*$`},
	"rt-tests": {`^# /dev/cpu.*$`, `^T: *\d+ \( *\d+\) P: *\d+`, ` I: *\d+ `, `^#\d+: ID.*, Cyc`, `^# Thread.*$`,
		`^\d{6} `, `\b000000\b`,
		`"(?:file_version|start_time|end_time|test_start|sysname|release|version|cmdline|machine|nodename|realtime)": .*$`,
		`"\w+": "[^"]*"`, `"return_code": 0`, `^# Break.*$`, `^policy:.*$`, `^(?:Max|Online) CPUs.*$`, `Interval: \d+`,
		`"(?:cpu|node)": -?\d+`, `"(?:cmdline:|rt_test_version:|num_threads|resolution_in_ns)": .*`, `^ *"\d+": \{`,
		`^ *T: .*C: +0 .*$`},
	"sockperf": {`^.*version #.*$`, `^\[ \d+\] IP.*$`, `using msg-size.*$`, `Server No: \d`},
	"tcpbench": {`^Conn: +\d+`}, "wrk": {`^Running .*$`, `^ +\d+ threads and .*$`},
	"netperf": {`^.* TEST from .*$`, `10\^6bits/s(?:ec)?`, `=-\S+$`, `,-[\d.]+`, `0xf+e?`, `"netperf .*"`,
		`, ?[\w-]{36},`, `[\d.]+\.0\.0\.\d|0\.0\.0\.0`, `  -1\.00\d?`,
		`=netperf.*$`, `=[\w-]{36}$`, `^\w+,\w+,\w+.*\D9\dth.*$|Socket Type,.*$|Throughput,Throughput Units.*$`},
	"openssl": {`^(?:version|built on|options|compiler|CPUINFO):.*$`, `(?:\(.*\) copied|, [\d.]+ [kMGT]?B/s$)`, `^task \d`,
		`^(?:Got: )?\+[FR]\d*:(?:\d+:)?`, `-pbkdf2`, `for 1s`, `^Forked child \d+$`, `in 1000s of`},
	"fio": {`"(?:fio version|timestamp\w*|time|job_start|groupid|eta|rw|bs|size|iodepth|numjobs|direct|io_size|\w*r` +
		`untime_?|name|jobname|filename|percentile_list)" : .*$`,
		`^.*\(g=\d+\): rw=.*$`, `^fio-3.*$`, `^Starting \d.*$`, `\(groupid=.*$`, `^Run status group \d+`,
		`\([\d.]+[kMG]?B(?:/s)?(?:-[\d.]+[kMG]?B/s)?\)`,
		`BW=[\d.]+[KMGT]?i?B/s`, `IOPS=[\d.]+k?`, `; 0 zone resets`, `^[345];fio-[\d.]+;[^;]*;\d+;`, `[\d.]+%=0;`,
		`^Jobs: .*$`, `Laying out IO file.*$`},
	"iozone": {`^\tIozone: (?s:.*?)\tRun began:.*$`, `^\t\s*(?:Version|Compiled|Build).*$`, `^\tCommand line used:.*$`,
		`^\t(?:Time Resolution|Processor cache|File stride|Using m\w+imum|File size set|Record Size|CPU utilization Re` +
			`solution) .*$`,
		`^\t(?:Min|Max) process.*$`, `^\t(?:Throughput test with|Each process writes).*$`, `^ *"\d+"( *"\d+")*`,
		`^"Record size.*$`},
	"zstd": {`^\*\*\* .*$`, `^--(?:zstd|format)=.*$`, `^ .-.*(?:-> *|\),|MB/s,? *)$`, `^ [^ ]-.* +[\d.]+ MB/s $`,
		`: [\d.]+ [KMG]iB \(`,
		`^Check: .*$|XXH64`},
	"pgbench": {`^pgbench \(.*$`, `^SQL script \d`, `/\d+ `, `: \d+/\d+$`, `\(100%\)`},
	"redis-benchmark": {`^.*: rps=.*$`, `^  (?:keep alive|host configuration|multi-thread).*$`, `^ +avg .*$`,
		`"p\d+_latency_ms"`},
	"sysbench": {`^sysbench .*$`, `^Maximum prime.*$`, `^Using Special.*$`, `^Maximum number.*$`, `^Memory .*$`,
		`^(?:Number of threads|Prime numbers limit|Block size|Report|Debug|Target).*$`,
		`^\d+ files, .*$`, `^.*total file size$`,
		`^  (?:block size|total size):.*$`, `Periodic FSYNC.*$`, `^Read/Write ratio.*$`, `^Extra file.*$`, `^Running.*$`,
		`^DEBUG: Worker.*$`, `\(ms,\d+%\)`},
	"stress-ng": {`defaulting to a .*$`, `^stress-ng: (?:[\d:.]+ )?\w+: *\[\d+\] `, `^setting to a .*$`,
		`^dispatching hogs:.*$`, `^.*(?:CPU cache size|stream: ).*$`,
		`^.*debug: (?s:.*?)$`, `(?s)^system-info:.*?\n\n`,
		`^(?:invoked|system|RAM|temporary|\d processors|cache allocate|process|cpu:).*$`,
		`^.*\[\d+\] \(instance \d\)$`, `^(?:\d stressors? started|stress-ng 0\..*)$`},
}

var anyNumber = regexp.MustCompile(`\d+(?:\.\d+)?(?:e[-+]?\d+)?`)

// scales are what a reader may multiply a printed number by, such as for k and Mi.
var scales = []float64{1, 1e3, 1e6, 1e9, 1e12, 1 << 10, 1 << 20, 1 << 30, 1 << 40, 1e-3, 1e-6, 1e-9}

// TestNoNumberIsDropped: each number in an output is a figure, or part of a figure's name, or notFigures
// says that it is none. This does not depend on how a reader finds figures.
func TestNoNumberIsDropped(t *testing.T) {
	for _, name := range outputs(t) {
		tool := filepath.Dir(name)
		text := plain(fixture(t, name))
		if repeats[name] {
			continue
		}
		for _, expr := range slices.Concat(notFigures["*"], notFigures[tool]) {
			text = regexp.MustCompile("(?m)"+expr).ReplaceAllString(text, "")
		}
		r, err := Read(tool, fixture(t, name))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		known := map[string]bool{}
		for _, f := range r.Figures {
			for _, word := range anyNumber.FindAllString(f.Name, -1) {
				known[word] = true
			}
		}
		for _, w := range r.Words {
			known[w] = true
		}
		missing := 0
		for line := range strings.Lines(text) {
			for _, word := range anyNumber.FindAllString(line, -1) {
				if known[word] || isFigure(r.Figures, word) {
					continue
				}
				if missing++; missing <= 5 {
					t.Errorf("%s: %s in %q is no figure", name, word, strings.TrimSpace(line))
				}
			}
		}
	}
}

func isFigure(figures []Figure, word string) bool {
	v, err := strconv.ParseFloat(word, 64)
	if err != nil {
		return false
	}
	mantissa, _, _ := strings.Cut(word, "e")
	_, decimals, _ := strings.Cut(mantissa, ".")
	within := math.Pow10(-len(decimals)) * 1.0001
	for _, f := range figures {
		for _, scale := range scales {
			if off := math.Abs(f.Value - v*scale); off <= 1e-9*math.Abs(f.Value) || decimals != "" && off < within*scale/2 {
				return true
			}
		}
		if whole := f.Value - 60*math.Floor(f.Value/60); f.Unit == "s" && math.Abs(whole-v) < within { // 1m2.3s
			return true
		}
	}
	return false
}

// figuresText is a form of figures that tests can compare, without those of time(1), which is another
// program: the output before its first line is complete. So are the texts of fio before its statistics of disks,
// which are not on all systems.
func figuresText(r *Report) string {
	var b strings.Builder
	for _, f := range r.Figures {
		if f.Name == "wall time" || f.Name == "real" || strings.HasPrefix(f.Name, "disk ") {
			break
		}
		fmt.Fprintf(&b, "%v %s %s\n", f.Value, f.Unit, f.Name)
	}
	return b.String()
}

// repeats are outputs that print the same figures twice, once rounded.
var repeats = map[string]bool{"fio/normal-json.txt": true}

// openEnded are outputs that nothing ends, so that a part of the lines is a complete output, too.
var openEnded = map[string]bool{
	"lmbench": true, "qperf": true, "tcpbench": true, "netpipe": true,
	"rt-tests/cyclictest-ns-t2.txt": true, "rt-tests/cyclictest-ns-verbose.txt": true,
	"hyperfine/csv.txt": true, "hyperfine/markdown.txt": true, "hyperfine/text.txt": true,
	"tar/totals-delete.txt": true, "tar/checkpoint.txt": true, "perf-bench/sched-all.txt": true,
	"perf-bench/mem-memcpy.txt": true, "perf-bench/internals-synthesize-t.txt": true,
	"ioping/print-count-quiet.txt": true, "ioping/print-interval.txt": true,
	"tiobench/tiotest-4t.txt": true, "tiobench/tiotest-k.txt": true, "tiobench/tiotest-mmap-sync.txt": true,
	"rt-tests/cyclictest-t2.txt": true, "rt-tests/signaltest.txt": true, "rt-tests/cyclictest-verbose.txt": true,
	"bonnie++/twice.txt": true, "dd/two-passes.txt": true, "dd/three-runs.txt": true, "openssl/enc-7parallel.txt": true,
	"fio/terse-jobs2.txt": true, "zstd/bench-levels.txt": true,
	"redis-benchmark": true, "python/importtime-json.txt": true, "pgbench/statements.txt": true,
	"pgbench/two-scripts.txt": true,
	"fio/normal-rate.txt":     true, "iperf2/tcp-csv.txt": true, "iperf2/tcp-P2-csv.txt": true,
	"iperf2/tcp-interval-csv.txt": true,
	"iperf2/tcp-dual-P2.txt":      true, "netperf/omni-k.txt": true, "netperf/tcp_rr-v2.txt": true,
	"netperf/tcp_stream-v2.txt": true, "netperf/omni-k-rr.txt": true, "netperf/tcp_stream-omni-k.txt": true,
	"netperf/tcp_crr-k.txt":   true,
	"iperf2/tcp-interval.txt": true, "iperf2/server-tcp.txt": true, "iperf2/tcp-enhanced-interval.txt": true,
}

// TestDamagedOutput: a reader finds the same figures in output with other line ends and colours, and with a
// warning in it, or refuses it. It never finds a part.
func TestDamagedOutput(t *testing.T) {
	for _, name := range outputs(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tool, text := filepath.Dir(name), fixture(t, name)
			whole, err := Read(tool, text)
			if err != nil {
				t.Fatal(err)
			}
			want := figuresText(whole)
			same := func(what, changed string, must bool) bool {
				r, err := Read(tool, changed)
				if err != nil && !must || err == nil && figuresText(r) == want {
					return true
				}
				if err != nil {
					t.Errorf("%s: %v", what, err)
					return false
				}
				t.Errorf("%s: %d figures instead of %d", what, len(r.Figures), len(whole.Figures))
				return false
			}
			lines := strings.SplitAfter(text, "\n")
			same("CRLF", strings.ReplaceAll(text, "\n", "\r\n"), true)
			same("colours", "\x1b[1;32m"+strings.ReplaceAll(text, "\n", "\x1b[0m\n\x1b[1;32m")+"\x1b[0m", true)
			same("comma", regexp.MustCompile(`(\d)\.(\d)`).ReplaceAllString(text, "$1,$2"), false)
			step := max(1, len(lines)/25) // long outputs repeat themselves
			for i := 0; i < len(lines); i += step {
				if !same(fmt.Sprintf("a warning before line %d", i+1), strings.Join(lines[:i],
					"")+"Warning: the clock of this host is slow\n"+
					strings.Join(lines[i:], ""), false) {
					break
				}
			}
			if r, err := Read(tool, strings.TrimRight(text, "\n")+"\n"+text); err == nil && !twice(r, whole) {
				t.Errorf("two runs: %d figures instead of %d or an error", len(r.Figures), 2*len(whole.Figures))
			}
			if openEnded[name] || openEnded[tool] {
				return
			}
			for i := 1; i < len(lines); i += step {
				if !same(fmt.Sprintf("cut before line %d: %q", i+1, lines[i]), strings.Join(lines[:i], ""), false) {
					break
				}
				if !same(fmt.Sprintf("cut in line %d: %q", i+1, lines[i]), strings.Join(lines[:i], "")+lines[i][:len(lines[i])/2],
					false) {
					break
				}
			}
		})
	}
}

// twice reports whether r has each figure of one at least twice.
func twice(r, one *Report) bool {
	n := map[string]int{}
	for _, f := range r.Figures {
		n[fmt.Sprint(f.Value, f.Unit)]++
	}
	for _, f := range one.Figures {
		n[fmt.Sprint(f.Value, f.Unit)] -= 2
	}
	for _, left := range n {
		if left < 0 {
			return false
		}
	}
	return true
}
