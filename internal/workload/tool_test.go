package workload

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/tare-bench/tare/internal/fault"
)

// indexEntry is one value of testdata/index.yaml: a figure that was found in a tool's
// output by hand or with an independent regular expression.
type indexEntry struct {
	Tool    string `yaml:"tool"`
	Fixture string `yaml:"fixture"`
	Metric  string `yaml:"metric"`
	Found   any    `yaml:"found"`
}

// TestIndex: every value of the index is among the figures of its fixture.
func TestIndex(t *testing.T) {
	var index []indexEntry
	if err := yaml.Unmarshal(fixture(t, "index.yaml"), &index); err != nil {
		t.Fatal(err)
	}
	if len(index) < 60 {
		t.Fatalf("only %d entries", len(index))
	}
	for _, e := range index {
		t.Run(e.Fixture+"/"+e.Metric, func(t *testing.T) {
			tool := GetTool(e.Tool)
			if tool == nil {
				t.Fatalf("no tool %s", e.Tool)
			}
			text := string(fixture(t, e.Fixture))
			figures, err := tool.Read(text)
			if e.Metric == "error" {
				if err == nil || !strings.Contains(err.Error(), e.Found.(string)) {
					t.Errorf("the error is %v, not %v", err, e.Found)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			values := foundNumbers(t, e.Found)
			if len(values) == 0 {
				t.Fatalf("no numbers in %v", e.Found)
			}
			for _, v := range values {
				if !anyFigure(figures, v) {
					t.Errorf("no figure is %v: %v", v, figures)
				}
			}
		})
	}
}

// found is a number and the permitted deviation of a figure: one unit in its last
// place, because some tools round and others truncate.
type found struct{ value, within float64 }

func anyFigure(figures []Figure, f found) bool {
	for _, fig := range figures {
		if math.Abs(fig.Value-f.value) <= f.within*1.0001+1e-12*math.Abs(f.value) {
			return true
		}
	}
	return false
}

var (
	foundNumber  = regexp.MustCompile(`^(\d+(?:\.\d+)?)(?:MiB/s|us|ms|M| us| GB/sec)?$`)
	foundMinutes = regexp.MustCompile(`^(\d+)m([\d.]+)s$`)
	foundClock   = regexp.MustCompile(`^(\d+):([\d.]+)$`)
)

// foundNumbers returns the numbers in a value of the index: a word, a number, a list,
// or a mapping of them. It skips other words, such as the name of a test.
func foundNumbers(t *testing.T, v any) []found {
	switch v := v.(type) {
	case []any:
		var all []found
		for _, e := range v {
			all = append(all, foundNumbers(t, e)...)
		}
		return all
	case map[string]any:
		var all []found
		for name, e := range v {
			switch name {
			case "format_version", "bonnie_version", "name":
			default:
				all = append(all, foundNumbers(t, e)...)
			}
		}
		return all
	case string:
		var all []found
		for _, word := range strings.FieldsFunc(strings.ReplaceAll(v, " / ", ","), func(r rune) bool { return r == ',' }) {
			all = append(all, foundWord(word)...)
		}
		if len(all) == 0 && !strings.ContainsAny(v, "abcdefghijklmnopqrstuvwxyz") { // "64       4  1780008 …", "1062400973.91:1217622345.76:…"
			words := strings.FieldsFunc(v, func(r rune) bool { return r == ' ' || r == ':' })
			for i, word := range words {
				if f := foundWord(word); f != nil && (i > 1 || strings.Contains(v, ":")) {
					all = append(all, f...)
				}
			}
		}
		return all
	default:
		f, err := strconv.ParseFloat(fmt.Sprint(v), 64)
		if err != nil {
			t.Fatalf("%v (%T) is not a number", v, v)
		}
		return []found{{f, 1e-9 * math.Abs(f)}}
	}
}

func foundWord(word string) []found {
	word = strings.TrimSpace(word)
	minutes, last := 0.0, ""
	if m := foundMinutes.FindStringSubmatch(word); m != nil {
		minutes, _ = strconv.ParseFloat(m[1], 64)
		last = m[2]
	} else if m := foundClock.FindStringSubmatch(word); m != nil {
		minutes, _ = strconv.ParseFloat(m[1], 64)
		last = m[2]
	} else if m := foundNumber.FindStringSubmatch(word); m != nil {
		last = m[1]
	} else {
		return nil
	}
	f, err := strconv.ParseFloat(last, 64)
	if err != nil {
		return nil
	}
	_, decimals, _ := strings.Cut(last, ".")
	return []found{{60*minutes + f, math.Pow10(-len(decimals))}}
}

// TestToolFigures checks figures by name; TestIndex only checks that they are present.
func TestToolFigures(t *testing.T) {
	for _, tc := range []struct {
		tool, file string
		want       Figure
	}{
		{"bonnie++", "bonnie++/quiet-csv.txt", Figure{"put_block", 585650, "K/s", Higher}},
		{"bonnie++", "bonnie++/quiet-csv.txt", Figure{"ran_del_latency", 29463, "us", Lower}},
		{"iozone", "iozone/auto-64k-4m.txt", Figure{"freread, 64 kB by 4 kB", 10402178, "kB/s", Higher}},
		{"iozone", "iozone/auto-64k-4m.txt", Figure{"bkwd read, 64 kB by 4 kB", 2467108, "kB/s", Higher}},
		{"iozone", "iozone/single-512M-4k-fsync.txt", Figure{"random write, 524288 kB by 4 kB", 379526, "kB/s", Higher}},
		{"iozone", "iozone/auto-timed-16M.txt", Figure{"wall time", 3.39, "s", Lower}},
		{"lmbench", "lmbench/lat_ctx-s0.txt", Figure{"context switch of 16 processes", 43.22, "us", Lower}},
		{"lmbench", "lmbench/lat_proc-fork.txt", Figure{"Process fork+exit", 3545.1695, "us", Lower}},
		{"lmbench", "lmbench/lat_ops.txt", Figure{"int64 div", 18.14, "ns", Lower}},
		{"lmbench", "lmbench/lat_mem_rd.txt", Figure{"load of 4.00000 MB", 7.965, "ns", Lower}},
		{"lmbench", "lmbench/lat_syscall-open.txt", Figure{"Simple open/close", 2.8916, "us", Lower}},
		{"lmbench", "lmbench/bw_mem-P10-1024K-rd.txt", Figure{"bandwidth", 43100.82, "MB/s", Higher}},
		{"tiobench", "tiobench/tiobench-pl-8t.txt", Figure{"Random Writes, 8 threads", 327.5, "MiB/s", Higher}},
		{"tiobench", "tiobench/tiotest-4t.txt", Figure{"Random Read", 937.763, "MB/s", Higher}},
		{"unixbench", "unixbench/run-filecopy-i1.txt", Figure{"File Copy 256 bufsize 500 maxblocks: index", 1534.4, "index", Higher}},
		{"nbench", "nbench/default.txt", Figure{"BITFIELD", 9.1649e8, "1/s", Higher}},
		{"netperf", "netperf/tcp_crr.txt", Figure{"transactions", 7902.06, "1/s", Higher}},
		{"netperf", "netperf/tcp_stream.txt", Figure{"throughput", 6837.03, "10^6 bit/s", Higher}},
		{"sysbench", "sysbench/oltp_rw-16t.txt", Figure{"transactions", 917.43, "1/s", Higher}},
		{"sysbench", "sysbench/memory.txt", Figure{"bandwidth", 32582.14, "MiB/s", Higher}},
		{"openssl", "openssl/speed-human.txt", Figure{"AES-256-CBC of 16384 bytes", 1203677870, "B/s of CPU time", Higher}},
		{"openssl", "openssl/speed-multi.txt", Figure{"AES-256-CBC of 16384 bytes", 814055424, "B/s of CPU time", Higher}},
		{"perf-bench", "perf-bench/sched-messaging.txt", Figure{"total time", 0.676, "s", Lower}},
		{"ab", "ab/wp-article-url-c1-n100-301.txt", Figure{"non-2xx", 100, "1", Lower}},
	} {
		t.Run(tc.file, func(t *testing.T) {
			figures, err := GetTool(tc.tool).Read(string(fixture(t, tc.file)))
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range figures {
				if f.Metric == tc.want.Metric && f.Unit == tc.want.Unit && f.Better == tc.want.Better && near(f.Value, tc.want.Value) {
					return
				}
			}
			t.Errorf("no %+v in %+v", tc.want, figures)
		})
	}
}

func TestToolsRefuse(t *testing.T) {
	for _, tc := range []struct{ tool, file, says string }{
		{"ab", "ab/error-refused.txt", "apr_"},
		{"ab", "ab/error-c-gt-n.txt", "ab: Cannot use concurrency level"},
		{"bonnie++", "bonnie++/refused-root.txt", "-u"},
		{"dd", "dd/error-full.txt", "No space left"},
		{"fio", "fio/error-enospc-json.txt", "No space left"},
		{"iperf3", "iperf3/error-refused-json.txt", "Connection refused"},
		{"kernel-build", "kernel-build/tinyconfig-fail.txt", "Error 1"},
		{"netperf", "netperf/error-noserver.txt", "netserver"},
		{"netpipe", "netpipe/error-noserver.txt", "Cannot Connect"},
		{"openssl", "openssl/enc-article-verbatim.txt", "Use -help"},
		{"stress-ng", "stress-ng/error-exec-as-root.txt", "must not run as root"},
		{"sysbench", "sysbench/oltp-article-cmd-0.4-syntax.txt", "FATAL"},
	} {
		t.Run(tc.file, func(t *testing.T) {
			figures, err := GetTool(tc.tool).Read(string(fixture(t, tc.file)))
			if err == nil || figures != nil || fault.KindOf(err) != fault.Guest || !strings.Contains(err.Error(), tc.says) {
				t.Errorf("%v, %v; want %q", figures, err, tc.says)
			}
		})
	}
	for _, tool := range Tools() {
		for _, text := range []string{"", "hello\n", strings.Repeat("x 1\n", 1000)} {
			if figures, err := tool.Read(text); err == nil || fault.KindOf(err) != fault.Guest || len(err.Error()) > 2000 {
				t.Errorf("%s reads %q: %v, %v", tool.Name, text[:min(len(text), 8)], figures, err)
			}
		}
	}
	if GetTool("none") != nil {
		t.Error("a tool none")
	}
}

// FuzzTools fuzzes every tool's reader.
func FuzzTools(f *testing.F) {
	files, err := filepath.Glob("testdata/*/*.txt")
	if err != nil || len(files) < 100 {
		f.Fatalf("%d files, %v", len(files), err)
	}
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		if len(b) < 8<<10 {
			f.Add(b)
		}
	}
	f.Fuzz(func(t *testing.T, output []byte) {
		for _, tool := range Tools() {
			figures, err := tool.Read(string(output))
			if err != nil && figures != nil || err == nil && len(figures) == 0 {
				t.Errorf("%s: %v, %v", tool.Name, figures, err)
			}
			for _, fig := range figures {
				if math.IsNaN(fig.Value) || math.IsInf(fig.Value, 0) || fig.Value < 0 || fig.Metric == "" {
					t.Errorf("%s: %+v", tool.Name, fig)
				}
			}
		}
	})
}

// unread are fixtures that a tool's reader must refuse, with words of the error.
var unread = map[string]string{
	"ab/error-c-gt-n.txt": "concurrency", "ab/error-refused.txt": "Connection refused",
	"bonnie++/bon_csv2html.txt": "CSV", "hyperfine/sleep.txt": "--export-json", "bonnie++/bon_csv2txt.txt": "CSV", "bonnie++/refused-root.txt": "-u", "bonnie++/refused-size-lt-2xram.txt": "double RAM",
	"dd/error-full.txt": "No space left", "dd/write-cs_CZ.txt": "LC_ALL=C", "dd/write-de_DE.txt": "LC_ALL=C",
	"fio/error-enospc-json.txt": "No space left", "fio/error-enospc-layout.txt": "No space left", "fio/error-enospc-text.txt": "No space left",
	"fio/error-option.txt": "unrecognized option", "iperf3/error-refused-json.txt": "Connection refused",
	"kernel-build/tinyconfig-fail.txt": "Error 1", "netperf/error-noserver.txt": "netserver", "netpipe/error-noserver.txt": "Cannot Connect",
	"openssl/enc-article-verbatim.txt":         "Use -help",
	"perf-bench/mem-memset-simple.txt":         "--format=simple",
	"perf-bench/sched-pipe-simple.txt":         "--format=simple",
	"stress-ng/error-exec-as-root.txt":         "as root",
	"stress-ng/error-temp-path.txt":            "temp-path",
	"sysbench/error-option.txt":                "--bogus",
	"sysbench/fileio-prepare.txt":              "total time",
	"sysbench/oltp-prepare.txt":                "total time",
	"sysbench/oltp-article-cmd-0.4-syntax.txt": "FATAL",
	"tar/error-missing.txt":                    "Child returned",
}

// TestEveryFixture: each real output gives figures or the expected error.
func TestEveryFixture(t *testing.T) {
	files, err := filepath.Glob("testdata/*/*.txt")
	if err != nil || len(files) < 150 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	refused := 0
	for _, path := range files {
		name := strings.TrimPrefix(path, "testdata/")
		tool := GetTool(filepath.Dir(name))
		if tool == nil {
			t.Errorf("%s: no tool of that name", name)
			continue
		}
		figures, err := tool.Read(string(fixture(t, name)))
		says, bad := unread[name]
		switch {
		case bad && (err == nil || !strings.Contains(fmt.Sprint(err, fault.RemedyOf(err)), says)):
			t.Errorf("%s: %v, %v; it should say %q", name, figures, err, says)
		case !bad && (err != nil || len(figures) == 0):
			t.Errorf("%s: %v, %v", name, figures, err)
		case bad:
			refused++
		}
	}
	if refused != len(unread) {
		t.Errorf("%d of %d were refused", refused, len(unread))
	}
}
