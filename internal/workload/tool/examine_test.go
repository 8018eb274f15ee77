package tool

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/tare-bench/tare/internal/fault"
)

// examine returns what a tool's output says to a person.
func examine(t *testing.T, name, text string) *Report {
	t.Helper()
	tool, ok := Get(name)
	if !ok {
		t.Fatal("no tool", name)
	}
	r, err := tool.Examine(text)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return r
}

// value returns the only figure of that name.
func value(t *testing.T, r *Report, name string) Figure {
	t.Helper()
	f, err := r.One(name)
	if err != nil {
		t.Errorf("%v, of %v", err, r.Figures)
	}
	return f
}

// TestVersions: versions.yaml lists each output that people published, or that was written in the form of another
// version, with its source; the reader finds the version.
func TestVersions(t *testing.T) {
	var index []struct{ Fixture, Version, Source, Says string }
	if err := yaml.Unmarshal([]byte(fixture(t, "versions.yaml")), &index); err != nil {
		t.Fatal(err)
	}
	var listed []string
	for _, e := range index {
		listed = append(listed, e.Fixture)
		if e.Version == "" || e.Source == "" {
			t.Errorf("%s has no version or no source", e.Fixture)
		}
		if r := examine(t, filepath.Dir(e.Fixture), fixture(t, e.Fixture)); r.Version != e.Says {
			t.Errorf("%s: the version is %q, not %q", e.Fixture, r.Version, e.Says)
		}
	}
	for _, pattern := range []string{"testdata/*/published-*.txt", "testdata/*/form-*.txt"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatal(files, err)
		}
		for _, file := range files {
			if name := strings.TrimPrefix(file, "testdata/"); !slices.Contains(listed, name) {
				t.Errorf("versions.yaml does not list %s", name)
			}
		}
	}
}

// TestPrintedNumbers: a converted figure has no noise of binary numbers, and keeps what the tool printed.
func TestPrintedNumbers(t *testing.T) {
	r := examine(t, "wrk", fixture(t, "wrk/form-errors-none.txt"))
	if f := value(t, r, "Latency of a thread"); f.Value != 0.00021837 || f.Unit != "s" || f.Printed != "218.37us" {
		t.Errorf("%+v", f)
	}
	if f := value(t, r, "percentile 50"); f.Value != 0.0002 || f.Printed != "200.00us" {
		t.Errorf("%+v", f)
	}
	if f := value(t, examine(t, "dd", fixture(t, "dd/form-busybox.txt")), "rate"); f.Value != 524288000 ||
		f.Printed != "500.0MB/s" {
		t.Errorf("%+v", f)
	}
}

// TestBinaryUnits: in the text of fio 2, K is 1024 for amounts and rates of data, which the number of operations
// proves.
func TestBinaryUnits(t *testing.T) {
	r := examine(t, "fio", fixture(t, "fio/published-v2-text.txt"))
	for name, want := range map[string]float64{"read bandwidth": 104857600, "read size": 1073741824,
		"read operations":   262144,
		"issued total read": 262144, "issued short read": 3, "issued dropped read": 5, "all jobs read aggrb": 104857600} {
		if f := value(t, r, name); f.Value != want {
			t.Errorf("%+v, want %v", f, want)
		}
	}
	if f := value(t, r, "all jobs read aggrb"); f.Unit != "B/s" || f.Printed != "102400KB/s" {
		t.Errorf("%+v", f)
	}
	if f := value(t, r, "read size"); f.Value != 4096*r.Value("read operations") {
		t.Errorf("%+v", f)
	}
	// Each value of a range has its unit.
	const side = "  read: IOPS=100, BW=400KiB/s (410kB/s)(2000KiB/5000msec)\n" +
		"     issued rwts: total=500,0,0,0 short=0,0,0,0 dropped=0,0,0,0\n" +
		"     latency   : target=0, window=0, percentile=100.00%, depth=1\n\nRun status group 0 (all jobs):\n" +
		"   READ: bw=400KiB/s (410kB/s), 200KiB/s-400KiB/s (205kB/s-410kB/s), io=2000KiB (2048kB), run=4999-5000msec\n"
	r = examine(t, "fio", "a: (groupid=0, jobs=1): err= 0: pid=7: Sat Jul 16 12:01:21 2022\n"+side)
	if from, to := value(t, r, "all jobs read run 1"), value(t, r, "all jobs read run 2"); from.Unit != "ms" ||
		from.Value != 4999 || to.Value != 5000 || to.Unit != "ms" {
		t.Errorf("%+v, %+v", from, to)
	}
	if f := value(t, r, "all jobs read range 1"); f.Value != 204800 || f.Unit != "B/s" {
		t.Errorf("%+v", f)
	}
}

// TestSections: the sections of lmbench's results say what their numbers are, not the form of the numbers.
func TestSections(t *testing.T) {
	r := examine(t, "lmbench", fixture(t, "lmbench/published-sections.txt"))
	for name, unit := range map[string]string{"mapping of 0.524288 MB": "us", "mapping of 1.048576 MB": "us",
		"read bandwidth of 0.000512 MB": "MB/s", "Mmap read bandwidth of 0.000512 MB": "MB/s",
		"write bandwidth of /var/tmp/X": "KB/s"} {
		if f := value(t, r, name); f.Unit != unit {
			t.Errorf("%+v", f)
		}
	}
	if left := r.Unread(); left != nil {
		t.Errorf("%q", left)
	}
}

// TestUnread: a line with numbers that no reader knows is told, whichever tool printed it.
func TestUnread(t *testing.T) {
	for name, output := range map[string]string{"wrk": "wrk/index-c10.txt", "sysbench": "sysbench/cpu.txt",
		"iperf3": "iperf3/tcp-text.txt", "stress-ng": "stress-ng/exec-100.txt", "fio": "fio/read-normal.txt"} {
		const line = "Something new: 73518.25 furlongs"
		r := examine(t, name, fixture(t, output)+line+"\n")
		if left := r.Unread(); len(left) != 1 || left[0] != line {
			t.Errorf("%s: %q", name, left)
		}
	}
}

// TestDoubts: what failed, and what contradicts itself, stands beside the figures; a workload gets an error.
func TestDoubts(t *testing.T) {
	wrk := strings.Replace(fixture(t, "wrk/index-c10.txt"), "\nRequests/sec",
		"\n  Socket errors: connect 0, read 5, write 0, timeout 3\n  Non-2xx or 3xx responses: 7\nRequests/sec", 1)
	dd := "100+0 records in\n100+0 records out\n104857600 bytes (105 MB) copied, 2.0 s, 104 MB/s\n"
	for _, tc := range []struct{ tool, text, says, figure string }{
		{"wrk", wrk, "Socket errors", "errors: timeout"}, {"wrk", wrk, "Socket errors", "non-2xx"},
		{"dd", dd, "rate × time", "rate"},
		{"fio", fixture(t, "fio/form-v2-interrupted.txt"), "terminating on signal 2", "write short operations"},
		{"iperf2", "WARNING: did not receive ack of last datagram after 10 tries.\n" +
			"[  3]  0.0-10.0 sec  1.25 MBytes  1.05 Mbits/sec\n", "did not receive ack", "throughput"},
		{"iperf3", strings.Replace(fixture(t, "iperf3/tcp-text.txt"), "\niperf Done.",
			"\niperf3: interrupt - the client has terminated", 1), "interrupt", "received throughput"},
		{"stress-ng", strings.Replace(fixture(t, "stress-ng/published-extra-metrics.txt"), "successful run completed",
			"unsuccessful run completed", 1), "unsuccessful", "memrate bogo ops"},
		{"sockperf", "sockperf: Summary: Latency is 15.562 usec\nsockperf: ---> percentile 50.000 =   14.692\n",
			"not the complete output", "mean latency"},
	} {
		r := examine(t, tc.tool, tc.text)
		if len(r.All(tc.figure)) == 0 || len(r.Doubts) == 0 || !strings.Contains(errors.Join(r.Doubts...).Error(), tc.says) {
			t.Errorf("%s: %v, %v", tc.tool, r.Doubts, r.Figures)
		}
		if r, err := Read(tc.tool, tc.text); err == nil || fault.KindOf(err) != fault.Guest {
			t.Errorf("a workload reads %s: %v, %v", tc.tool, r, err)
		}
	}
}

// TestSystemWarnings: what the kernel, a shell or a tool remarks about the system is no failure of the tool.
func TestSystemWarnings(t *testing.T) {
	for tool, output := range map[string]string{"lmbench": "lmbench/lat_pipe.txt", "sysbench": "sysbench/cpu.txt",
		"dd": "dd/write-1G-pass1.txt"} {
		for _, line := range []string{"Iface: error fetching interface information: Device not found",
			"bash: warning: setlocale: LC_ALL: cannot change locale (en_US.UTF-8): No such file or directory",
			"[ 1234.567890] EXT4-fs error (device sda1): failed", "sudo: unable to resolve host a: Name or service not found"} {
			if _, err := Read(tool, line+"\n"+fixture(t, output)); err != nil {
				t.Errorf("%s: %v", tool, err)
			}
		}
	}
	if _, err := Read("dd", "dd: error writing 'f': No space left on device\n"+fixture(t,
		"dd/write-1G-pass1.txt")); err == nil {
		t.Error("a failure of dd is no error")
	}
}

// TestPasted: an indent and the marks of a quotation are no part of an output.
func TestPasted(t *testing.T) {
	for _, name := range []string{"sysbench/cpu.txt", "fio/read-normal.txt", "stress-ng/exec-100.txt", "wrk/index-c10.txt",
		"pgbench/tpcb-c4-j2.txt", "iperf3/tcp-text.txt", "openssl/speed-human.txt"} {
		tool, text := filepath.Dir(name), fixture(t, name)
		want := figuresText(examine(t, tool, text))
		for what, change := range map[string]string{"indent": "    ", "tab": "\t", "quotation": "> ",
			"second quotation": "> > "} {
			var b strings.Builder
			for line := range strings.Lines(text) {
				if line == "\n" {
					b.WriteString(strings.TrimRight(change, " \t") + line)
				} else {
					b.WriteString(change + line)
				}
			}
			if got := figuresText(examine(t, tool, b.String())); got != want {
				t.Errorf("%s with %s: %s", name, what, got)
			}
		}
		if got := figuresText(examine(t, tool, "On Monday, A wrote:\n> "+strings.ReplaceAll(text, "\n",
			"\n> "))); got != want {
			t.Errorf("%s in a mail: %s", name, got)
		}
	}
}

// TestRuns: the figures of several runs are numbered.
func TestRuns(t *testing.T) {
	for _, name := range []string{"ab/index-c10-n5000.txt", "dd/write-1G-pass1.txt", "fio/read-normal.txt",
		"fio/randread-2M-json.txt", "iperf3/tcp-text.txt", "iperf2/tcp-text.txt", "netperf/tcp_stream.txt",
		"pgbench/progress.txt", "stress-ng/exec-100.txt", "sysbench/cpu.txt", "wrk/index-c10.txt", "iozone/auto-64k-4m.txt",
		"nbench/default.txt", "mbw/memcpy-64.txt", "sockperf/ping-pong-tcp.txt", "bonnie++/default-small.txt",
		"nuttcp/intervals.txt", "nuttcp/running-total.txt", "nuttcp/verbose.txt", "nuttcp/tcp-fparse.txt",
		"openssl/speed-multi.txt", "openssl/speed-rsa.txt", "openssl/speed-human.txt", "redis-benchmark/set-get.txt",
		"redis-benchmark/published-v5.txt", "redis-benchmark/quiet.txt", "redis-benchmark/set-get-csv.txt",
		"lmbench/lat_ctx-s0.txt", "tar/checkpoint.txt", "tar/checkpoint-echo.txt", "ioping/quiet.txt", "ioping/text.txt",
		"unixbench/quiet-three.txt", "rt-tests/hackbench-pipe.txt", "bonnie++/quiet-csv.txt", "perf-bench/sched-all.txt"} {
		tool, text := filepath.Dir(name), fixture(t, name)
		one := examine(t, tool, text)
		two := examine(t, tool, text+text)
		if len(two.Figures) != 2*len(one.Figures) {
			t.Errorf("%s: %d figures instead of %d", name, len(two.Figures), 2*len(one.Figures))
			continue
		}
		for i, f := range two.Figures {
			prefix := map[bool]string{true: "run 1: ", false: "run 2: "}[i < len(one.Figures)]
			if f.Name != prefix+one.Figures[i%len(one.Figures)].Name {
				t.Errorf("%s: %+v", name, f)
				break
			}
		}
		if left := two.Unread(); len(left) > 0 {
			t.Errorf("%s: %q", name, left)
		}
	}
}

// TestThreeRuns: runs of a tool without a first line are numbered where lines of one run come back.
func TestThreeRuns(t *testing.T) {
	csv := fixture(t, "iperf2/tcp-csv.txt")
	again := strings.Replace(csv, "48098", "48099", 1)
	table, cpu := fixture(t, "bonnie++/bon_csv2txt.txt"), fixture(t, "sysbench/cpu.txt")
	for _, c := range []struct {
		tool, text, name string
		value            float64
	}{
		{"iperf2", csv + again + strings.Replace(csv, "48098", "48100", 1), "run 2: throughput", 4633531226},
		{"iperf2", csv + again + strings.Replace(csv, "48098", "48100", 1), "run 3: bytes", 1740767292},
		{"bonnie++", table + strings.Replace(table, "925k", "926k", 1), "run 2: putc", 926},
		{"sysbench", strings.Repeat(cpu[strings.Index(cpu, "Running the test"):], 3), "run 3: min latency", 0},
	} {
		r := examine(t, c.tool, c.text)
		if len(r.All(c.name)) == 0 || c.value != 0 && r.Value(c.name) != c.value || len(r.Unread()) > 0 {
			t.Errorf("%s: no %s of %v: %v, unread %q", c.tool, c.name, c.value, r.Figures, r.Unread())
		}
	}
}

// TestUnreadByPlace: a line that is not read is told even if its numbers are figures elsewhere.
func TestUnreadByPlace(t *testing.T) {
	for name, of := range map[string]string{"wrk/index-c10.txt": "requests", "sysbench/cpu.txt": "events",
		"iperf3/tcp-text.txt": "received throughput", "fio/read-normal.txt": "read size", "dd/write-1G-pass1.txt": "bytes",
		"stress-ng/exec-100.txt": "exec bogo ops", "pgbench/tpcb-c4-j2.txt": "rate"} {
		tool, text := filepath.Dir(name), fixture(t, name)
		line := fmt.Sprintf("Something new: %s furlongs", number(value(t, examine(t, tool, text), of).Value))
		r := examine(t, tool, text+line+"\n")
		if left := r.Unread(); len(left) != 1 || left[0] != line {
			t.Errorf("%s: %q, not %q", name, left, line)
		}
	}
}

// TestParts: of a part of an output that people publish, the figures are read, and a doubt tells what is missing.
func TestParts(t *testing.T) {
	for _, c := range []struct {
		tool, text, name string
		value            float64
	}{
		{"fio", "  read: IOPS=45.3k, BW=177MiB/s (186MB/s)(10.4GiB/60001msec)\n" +
			"    clat (usec): min=98, max=12011, avg=697.21, " +
			"stdev=210.11\n", "read mean completion latency", 697210},
		{"fio", "   READ: bw=1282MiB/s (1344MB/s), 1282MiB/s-1282MiB/s (1344MB/s-1344MB/s), io=4096MiB (4295MB), " +
			"run=3196-3196msec\n", "all jobs read bw", 1282 << 20},
		{"sysbench", "CPU speed:\n    events per second:  1138.35\n", "events per second", 1138.35},
		{"iperf3", "[ ID] Interval           Transfer     Bitrate         Retr  Cwnd\n" +
			"[  5]   0.00-1.00   sec  1.09 GBytes  9.40 Gbits/sec    0   1.50 MBytes       \n",
			"0.00-1.00 s, 5: throughput", 9.4e9},
		{"iperf3", "[  4]   0.00-10.00  sec  10.9 GBytes  9.39 Gbits/sec   12             sender\n",
			"sent throughput", 9.39e9},
		{"wrk", "    Latency    12.31ms   30.11ms 512.20ms   94.10%\nRequests/sec:  16812.33\n", "requests", 16812.33},
		{"pgbench", "scaling factor: 100\ntps = 2005.634512 (including connections establishing)\n",
			"rate, including connecting", 2005.634512},
		{"redis-benchmark", "====== GET ======                                    \n" +
			"  100000 requests completed in 1.21 seconds\n\n" +
			"Summary:\n  throughput summary: 82644.63 requests per second\n", "GET: rate", 82644.63},
		{"unixbench", "Dhrystone 2 using register variables         116700.0   30112345.6   2580.3\n",
			"Dhrystone 2 using register variables: index", 2580.3},
	} {
		r := examine(t, c.tool, c.text)
		if f := value(t, r, c.name); f.Value != c.value || len(r.Doubts) == 0 && c.tool != "unixbench" {
			t.Errorf("%s: %+v, doubts %v", c.tool, f, r.Doubts)
		}
		if left := r.Unread(); len(left) > 0 {
			t.Errorf("%s: unread %q", c.tool, left)
		}
	}
}

// TestInterrupted: what a terminal shows of a key is no part of a line.
func TestInterrupted(t *testing.T) {
	text := strings.Replace(fixture(t, "iperf3/tcp-text.txt"), "[  5]   1.00-2.00", "^C[  5]   1.00-2.00", 1)
	if !strings.Contains(text, "^C") {
		t.Fatal("no such line")
	}
	want := figuresText(examine(t, "iperf3", fixture(t, "iperf3/tcp-text.txt")))
	if r := examine(t, "iperf3", text); figuresText(r) != want {
		t.Errorf("%v", r.Figures)
	}
}

// TestLogged: the times and names that logs put before each line are no part of an output.
func TestLogged(t *testing.T) {
	for _, name := range []string{"sysbench/cpu.txt", "fio/read-normal.txt", "wrk/index-c10.txt",
		"sockperf/ping-pong-tcp.txt"} {
		tool, text := filepath.Dir(name), fixture(t, name)
		want := figuresText(examine(t, tool, text))
		for what, before := range map[string]string{"a CI's log": "2023-05-01T12:00:07.1234567Z ",
			"a container's": "bench-1  | ", "a journal": "[2023-05-01 12:00:07] "} {
			var b strings.Builder
			for line := range strings.Lines(text) {
				b.WriteString(before + line)
			}
			if got := figuresText(examine(t, tool, b.String())); got != want {
				t.Errorf("%s with %s: %s", name, what, got)
			}
		}
	}
}

// TestBonnieTable: people publish bonnie++'s table without its CSV line.
func TestBonnieTable(t *testing.T) {
	const table = "Version  1.96       ------Sequential Output------ --Sequential Input- --Random-\n" +
		"Concurrency   1     -Per Chr- --Block-- -Rewrite- -Per Chr- --Block-- --Seeks--\n" +
		"Machine        Size K/sec %CP K/sec %CP K/sec %CP K/sec %CP K/sec %CP  /sec %CP\n" +
		"host             8G   754  97 64825   9 31211   4  3479  88 102054   5 258.5   2\n" +
		"Latency             15626us    4693ms    2346ms   52158us     102ms     236ms\n" +
		"Version  1.96       ------Sequential Create------ --------Random Create--------\n" +
		"host                -Create-- --Read--- -Delete-- -Create-- --Read--- -Delete--\n" +
		"              files  /sec %CP  /sec %CP  /sec %CP  /sec %CP  /sec %CP  /sec %CP\n" +
		"                 16 18344  25 +++++ +++ +++++ +++ 19001  26 +++++ +++ +++++ +++\n" +
		"Latency               254us     568us     430us     262us      30us      40us\n"
	r := examine(t, "bonnie++", table)
	for name, want := range map[string]float64{"file_size": 8, "putc": 754, "get_block": 102054, "seeks_cpu": 2,
		"rewrite_latency": 2346, "num_files": 16, "seq_create": 18344, "ran_create_cpu": 26, "ran_del_latency": 40} {
		if f := value(t, r, name); f.Value != want {
			t.Errorf("%+v, not %v", f, want)
		}
	}
	if left := r.Unread(); r.Version != "1.96" || len(left) > 0 {
		t.Errorf("%q, %q", r.Version, left)
	}
}

// TestOutdented: only an indent that the lines have in common is removed.
func TestOutdented(t *testing.T) {
	for text, want := range map[string]string{"  a\n    b\n\n  c\n": "a\n  b\n\nc\n", "a\n  b\n": "a\n  b\n", "": "",
		"> a\n> >  b\n>\n": "a\n b\n\n", "\ta\n\tb": "a\nb"} {
		if got := pasted(text); got != want {
			t.Errorf("%q: %q, not %q", text, got, want)
		}
	}
	if got := outdented("I ran this:\n\n    a\n      b\n", 4); got != "I ran this:\n\na\n  b\n" {
		t.Errorf("%q", got)
	}
}

// TestParsePage: docs/parse.md has the table of tools and versions, and of the outputs that show that tare reads them.
// -update writes it.
func TestParsePage(t *testing.T) {
	var index []struct{ Fixture, Version, Source string }
	if err := yaml.Unmarshal([]byte(fixture(t, "versions.yaml")), &index); err != nil {
		t.Fatal(err)
	}
	published, written := map[string][]string{}, map[string][]string{}
	for _, e := range index {
		to := written
		if strings.HasPrefix(filepath.Base(e.Fixture), "published-") {
			to = published
		}
		tool := filepath.Dir(e.Fixture)
		to[tool] = append(to[tool], e.Version)
	}
	recorded, says := map[string]int{}, map[string][]string{}
	for _, name := range outputs(t) {
		if strings.HasPrefix(filepath.Base(name), "published-") || strings.HasPrefix(filepath.Base(name), "form-") {
			continue
		}
		tool := filepath.Dir(name)
		recorded[tool]++
		if v := examine(t, tool, fixture(t, name)).Version; v != "" && !slices.Contains(says[tool], v) {
			says[tool] = append(says[tool], v)
		}
	}
	var b strings.Builder
	b.WriteString("| tool | versions | recorded outputs | after published outputs of | written in the form of " +
		"|\n|---|---|---|---|---|\n")
	for _, tool := range All() {
		n := strconv.Itoa(recorded[tool.Name])
		if says[tool.Name] != nil {
			n += " (" + strings.Join(says[tool.Name], ", ") + ")"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", tool.Name, tool.Versions, n,
			strings.Join(published[tool.Name], "; "), strings.Join(written[tool.Name], "; "))
	}
	const path, start = "../../../docs/parse.md", "## Tools and versions\n\n"
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok := strings.Cut(string(page), start)
	if !ok {
		t.Fatalf("%s has no heading %q", path, start)
	}
	_, tail, _ := strings.Cut(rest, "\n\n")
	want := head + start + b.String() + "\n" + tail
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if string(page) != want {
		t.Errorf("the table in %s is not that of the tools: go test -update writes it", path)
	}
}

// TestRunsWithoutFirstLine: of tools that print no first line, several runs are numbered if each name is there as often
// as every other; what one run repeats, and a run that lacks a figure, is not.
func TestRunsWithoutFirstLine(t *testing.T) {
	times := func(real string) string { return "\nreal\t" + real + "\nuser\t0m0.100s\nsys\t0m0.200s\n" }
	tar := "Total bytes written: 40960 (40KiB, 166MiB/s)\n"
	nuttcp := "  112.5000 MB /   1.00 sec =  943.7180 Mbps 13 %TX 7 %RX 0 retrans 0.07 msRTT\n"
	zstd := "in                   : 20.60%   (  16.0 MiB =>   3.30 MiB, out) \n"
	for _, c := range []struct {
		tool, text, name string
		value            float64
	}{
		{"tar", tar + times("0m1.000s") + tar + times("0m2.000s"), "run 2: wall time", 2},
		{"tar", times("0m1.000s") + times("0m2.000s") + times("0m3.000s"), "run 3: wall time", 3},
		{"nuttcp", nuttcp + strings.ReplaceAll(nuttcp, "943.7180", "943.7190"), "run 2: throughput", 943.719},
		{"lmbench", "0.512000 18308.59\n0.512000 18310.01\n", "run 1: bandwidth", 18308.59},
		{"zstd", zstd + strings.ReplaceAll(zstd, "3.30", "3.31"), "run 2: packed", 3.31},
		{"redis-benchmark", "SET: 99009.90 requests per second\nSET: 98039.22 requests per second\n",
			"run 1: SET: rate", 99009.9},
		{"tar", tar + times("0m1.000s") + times("0m2.000s"), "run 1: bytes written", 40960},
		{"tcpbench", fixture(t, "tcpbench/tcp.txt"), "", 0},
	} {
		r := examine(t, c.tool, c.text)
		numbered := strings.HasPrefix(r.Figures[0].Name, "run 1: ")
		if numbered != strings.HasPrefix(c.name, "run ") {
			t.Errorf("%s: the figures are %v", c.tool, r.Figures)
			continue
		}
		if c.name != "" && value(t, r, c.name).Value != c.value {
			t.Errorf("%s: %s is not %v: %v", c.tool, c.name, c.value, r.Figures)
		}
	}
}

// TestRunsOfOtherVersions: of several runs in one output, other versions of the tool are a doubt.
func TestRunsOfOtherVersions(t *testing.T) {
	cpu := fixture(t, "sysbench/cpu.txt")
	older := strings.Replace(cpu, "sysbench 1.0.20", "sysbench 1.0.11", 1)
	r := examine(t, "sysbench", cpu+older)
	if len(r.Doubts) != 1 || !strings.Contains(r.Doubts[0].Error(), "run 2: the tool has another version") {
		t.Errorf("doubts %v", r.Doubts)
	}
	if r := examine(t, "sysbench", cpu+cpu); len(r.Doubts) != 0 {
		t.Errorf("doubts %v", r.Doubts)
	}
}

// TestSocketBandwidths: rows of bw_tcp have the name above them, whichever the host is.
func TestSocketBandwidths(t *testing.T) {
	r := examine(t, "lmbench", "Socket bandwidth using 10.0.0.7\n0.000064 78.91 MB/sec\n0.065536 788.91 MB/sec\n\n"+
		"0.065536 1.50 MB/sec\n")
	if v := value(t, r, "Socket bandwidth using 10.0.0.7 of 0.065536 MB").Value; v != 788.91 {
		t.Errorf("%v", v)
	}
	if v := value(t, r, "bandwidth").Value; v != 1.5 || len(r.Unread()) != 0 {
		t.Errorf("%v, unread %q", v, r.Unread())
	}
}
