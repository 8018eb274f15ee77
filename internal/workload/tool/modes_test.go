package tool

import (
	"flag"
	"fmt"
	"maps"
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

// TestNoNumberIsDropped: each number in an output is a figure, or part of a figure's name, or withoutFigures
// says that it is none.
func TestNoNumberIsDropped(t *testing.T) {
	for _, name := range outputs(t) {
		if repeats[name] {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, err := Read(filepath.Dir(name), fixture(t, name))
			if err != nil {
				t.Fatal(err)
			}
			if left := r.Unread(); len(left) > 0 {
				t.Errorf("%d lines with numbers that are no figures: %q", len(left), left[:min(len(left), 5)])
			}
		})
	}
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
	"netperf/tcp_crr-k.txt":           true,
	"memtier_benchmark/form-v1.4.txt": true, "unixbench/form-v5.1.2-copies.txt": true,
	"hdparm/form-v9.txt": true, "stress-ng/form-v0.09.txt": true,
	"iperf3/form-no-connected.txt": true, "stress-ng/published-extra-metrics.txt": true,
	"stress-ng/form-old-nan.txt":       true,
	"pgbench/form-v9.4-statements.txt": true, "pgbench/form-v14.txt": true, "netperf/form-histogram.txt": true,
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
