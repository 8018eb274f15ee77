package tool

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/tare-bench/tare/internal/fault"
)

func fixture(t testing.TB, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

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
	if err := yaml.Unmarshal([]byte(fixture(t, "index.yaml")), &index); err != nil {
		t.Fatal(err)
	}
	if len(index) < 60 {
		t.Fatalf("only %d entries", len(index))
	}
	for _, e := range index {
		t.Run(e.Fixture+"/"+e.Metric, func(t *testing.T) {
			r, err := Read(e.Tool, fixture(t, e.Fixture))
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
				if !anyFigure(r.Figures, v) {
					t.Errorf("no figure is %v: %v", v, r.Figures)
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
		if len(all) == 0 && !strings.ContainsAny(v,
			"abcdefghijklmnopqrstuvwxyz") { // "64       4  1780008 …", "1062400973.91:1217622345.76:…"
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

// TestToolsRefuse: no tool reads what is not its output.
func TestToolsRefuse(t *testing.T) {
	for _, tool := range All() {
		for _, text := range []string{"", "hello\n", strings.Repeat("x 1\n", 1000)} {
			if r, err := tool.Read(text); err == nil || fault.KindOf(err) != fault.Guest || len(err.Error()) > 2000 {
				t.Errorf("%s reads %q: %v, %v", tool.Name, text[:min(len(text), 8)], r, err)
			}
		}
	}
	if _, ok := Get("none"); ok {
		t.Error("a tool none")
	}
	if !slices.IsSortedFunc(tools, func(a, b Tool) int { return strings.Compare(a.Name, b.Name) }) {
		t.Error("the tools are not in order")
	}
}

// FuzzTools fuzzes every tool's reader.
func FuzzTools(f *testing.F) {
	files, err := filepath.Glob("testdata/*/*.txt")
	if err != nil || len(files) < 100 {
		f.Fatalf("%d files, %v", len(files), err)
	}
	seeds := map[string]int{} // of each tool: every tool reads them all
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		if of := filepath.Dir(name); len(b) < 4<<10 && seeds[of] < 5 {
			seeds[of]++
			f.Add(b)
		}
	}
	f.Fuzz(func(t *testing.T, output []byte) {
		for _, tool := range All() {
			r, err := tool.Read(string(output))
			if (err == nil) != (r != nil) || r != nil && len(r.Figures) == 0 {
				t.Errorf("%s: %v, %v", tool.Name, r, err)
			}
			if r == nil {
				continue
			}
			for _, fig := range r.Figures {
				if math.IsNaN(fig.Value) || math.IsInf(fig.Value, 0) || fig.Value < 0 || fig.Name == "" {
					t.Errorf("%s: %+v", tool.Name, fig)
				}
			}
		}
	})
}

// FuzzExamine fuzzes what a person sees of an output: no text crashes it, and each line that it tells is in the output.
func FuzzExamine(f *testing.F) {
	for i, tool := range All() {
		files, err := filepath.Glob("testdata/" + tool.Name + "/*.txt")
		if err != nil {
			f.Fatal(err)
		}
		for _, name := range files[:min(len(files), 4)] {
			if b, err := os.ReadFile(name); err == nil && len(b) < 4<<10 {
				f.Add(i, b)
			}
		}
	}
	f.Fuzz(func(t *testing.T, which int, output []byte) {
		tool := All()[(which%len(tools)+len(tools))%len(tools)]
		r, err := tool.Examine(string(output))
		if (err == nil) != (r != nil) {
			t.Errorf("%s: %v, %v", tool.Name, r, err)
		}
		if r == nil {
			return
		}
		for _, line := range r.Unread() {
			if !strings.Contains(r.text, line) {
				t.Errorf("%s: %q is not in the output", tool.Name, line)
			}
		}
	})
}

// unread are fixtures that a tool's reader must refuse, with words of the error.
var unread = map[string]string{
	"ab/error-c-gt-n.txt":       "ab: Cannot use concurrency level",
	"ab/error-refused.txt":      "apr_socket_recv: Connection refused",
	"bonnie++/bon_csv2html.txt": "CSV", "bonnie++/form-v1.03-table.txt": "CSV", "bonnie++/form-v1.97-table.txt": "CSV",
	"bonnie++/form-v1.98-table.txt": "CSV", "pgbench/form-aborted.txt": "aborted",
	"fio/form-logged.txt": "no line of all jobs",
	"mbw/noavg.txt":       "no mean of", "mbw/type0.txt": "no mean of", "mbw/type1.txt": "no mean of",
	"mbw/two-types.txt": "no mean of", "bonnie++/bon_csv2txt.txt": "CSV", "bonnie++/refused-root.txt": "-u",
	"bonnie++/refused-size-lt-2xram.txt": "double RAM",
	"dd/noxfer.txt":                      "status=noxfer", "dd/error-full.txt": "No space left",
	"dd/write-cs_CZ.txt":        "LC_ALL=C",
	"dd/write-de_DE.txt":        "LC_ALL=C",
	"fio/error-enospc-json.txt": "No space left", "fio/error-enospc-layout.txt": "No space left",
	"fio/error-enospc-text.txt": "No space left", "fio/form-v2-interrupted.txt": "terminating on signal",
	"fio/error-option.txt": "unrecognized option", "iperf3/error-refused-json.txt": "Connection refused",
	"tare-http/error-refused.txt":      "connection refused",
	"kernel-build/tinyconfig-fail.txt": "Error 1", "netperf/error-noserver.txt": "netserver",
	"netpipe/error-noserver.txt":               "Cannot Connect",
	"openssl/enc-article-verbatim.txt":         "Use -help",
	"cpio/error-truncated.txt":                 "premature end",
	"cpio/two-archives.txt":                    "2 lines",
	"ioping/all-too-slow.txt":                  "0 requests",
	"ioping/error-missing.txt":                 "No such file",
	"perf-bench/mem-memcpy-no-cycles.txt":      "cycles counter",
	"tiobench/error-directory.txt":             "No such file",
	"perf-bench/mem-memset-simple.txt":         "--format=simple",
	"perf-bench/sched-pipe-simple.txt":         "--format=simple",
	"stress-ng/error-exec-as-root.txt":         "must not run as root",
	"stress-ng/error-temp-path.txt":            "temp-path",
	"sysbench/error-option.txt":                "--bogus",
	"sysbench/fileio-prepare.txt":              "total time",
	"sysbench/oltp-prepare.txt":                "total time",
	"sysbench/oltp-article-cmd-0.4-syntax.txt": "FATAL",
	"tar/error-missing.txt":                    "Cannot open",
	"pgbench/error-no-table.txt":               "does not exist", "pgbench/error-refused.txt": "Connection refused",
	"pgbench/error-script.txt": "division by zero",
	"python/error-module.txt":  "Traceback", "python/error-syntax.txt": "SyntaxError", "python/pass.txt": "is empty",
	"python/importtime-isolated.txt": "complete",
	"memaslap/error-refused.txt":     "if the server does not answer", "memaslap/statistics.txt": "run it without -S",
	"redis-benchmark/error-refused.txt": "Connection refused",
	"zstd/error-damaged.txt":            "Read error", "zstd/error-format.txt": "unsupported format",
	"zstd/error-missing.txt": "No such file", "zstd/error-test-option.txt": "Incorrect",
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
		figures, err := Read(filepath.Dir(name), fixture(t, name))
		says, bad := unread[name]
		switch {
		case bad && (figures != nil || fault.KindOf(err) != fault.Guest ||
			!strings.Contains(fmt.Sprint(err, fault.RemedyOf(err)), says)):
			t.Errorf("%s: %v, %v; it should say %q", name, figures, err, says)
		case !bad && err != nil:
			t.Errorf("%s: %v, %v", name, figures, err)
		case bad:
			refused++
		}
	}
	if refused != len(unread) {
		t.Errorf("%d of %d were refused", refused, len(unread))
	}
}

// TestOne: a figure counts if the output has exactly one; a second unit is no second figure.
func TestOne(t *testing.T) {
	r, err := Read("ab", fixture(t, "ab/index-c10-n5000.txt"))
	if err != nil {
		t.Fatal(err)
	}
	if f, err := r.One("time per request"); err != nil || f.Value != 0.569 || math.Abs(f.In("s")-0.569e-3) > 1e-12 ||
		f.In("parsec") != 0 {
		t.Errorf("%+v, %v", f, err)
	}
	r.add("a", 1, "B/s", Higher)
	r.add("a", 8, "bit/s", Higher)
	if f, err := r.One("a"); err != nil || f.Unit != "B/s" || f.In("bit/s") != 8 {
		t.Errorf("%+v, %v", f, err)
	}
	r.add("a", 2, "B/s", Higher)
	for name, says := range map[string]string{
		"a": `ab has 2 figures "a"`, "b": `ab has no figure "b"`, "non-2xx": `ab has no line "Non-2xx responses:"`,
	} {
		if f, err := r.One(name); fault.KindOf(err) != fault.Guest || !strings.Contains(err.Error(), says) {
			t.Errorf("%+v, %v; want %s", f, err, says)
		}
	}
}

func TestWallTimes(t *testing.T) {
	for text, want := range map[string]float64{
		"real\t0m9.384s\nuser\t0m4.561s\n":  9.384,
		"real\t1m2s\r\n":                    62,
		"real 12.34\nuser 0.00\nsys 0.00\n": 12.34,
		"0.48user 0.14system 1:02.99elapsed 63%CPU (0avgtext+0avgdata 6252maxr)":    62.99,
		"\tElapsed (wall clock) time (h:mm:ss or m:ss): 0:00.99\n":                  0.99,
		"\tElapsed (wall clock) time (h:mm:ss or m:ss): 1:02:03\n\tAverage shared:": 3723,
		"task 2 elapsed 1.54 user 0.47 sys 0.27\n":                                  1.54,
	} {
		got, err := WallTimes(text)
		if err != nil || len(got) != 1 || math.Abs(got[0]-want) > 1e-9*want {
			t.Errorf("%q: %v, %v; want %v", text, got, err, want)
		}
	}
}

// fstime's figures that cannot all be true are a contradiction.
func TestFstimeContradiction(t *testing.T) {
	const output = "Write done: 4000 in 2.0000, score 500\n"
	if _, err := Read("unixbench", output); err != nil {
		t.Errorf("refused: %v", err)
	}
	_, err := Read("unixbench", strings.Replace(output, "500", "900", 1))
	if !errors.Is(err, ErrContradiction) || fault.KindOf(err) != fault.Guest {
		t.Errorf("%v", err)
	}
}

func TestFioDepth(t *testing.T) {
	for _, tc := range []struct {
		engine, iodepth, jobs string
		want                  float64
	}{
		{"sync", "32", "1", 1}, {"psync", "1", "8", 8}, {"libaio", "32", "4", 128},
		{"libaio", "x", "4", 0}, {"sync", "1", "", 0},
	} {
		if got := fioDepth(tc.engine, tc.iodepth, tc.jobs); got != tc.want {
			t.Errorf("%+v: %v", tc, got)
		}
	}
}
