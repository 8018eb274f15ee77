package report

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"io"
	"math"
	"strings"
	"testing"

	"golang.org/x/perf/benchfmt"
	"golang.org/x/perf/benchmath"
	"golang.org/x/perf/benchproc"
	"golang.org/x/perf/benchunit"

	"github.com/tare-bench/tare/internal/analyze"
	"github.com/tare-bench/tare/internal/store"
)

func TestExportGolden(t *testing.T) {
	r := makeRun(t, 4, "")
	res := analyzed(t, r)
	for name, export := range exports(r, res) {
		var b strings.Builder
		must(t, export(&b))
		golden(t, "export."+name, b.String())
	}
}

func exports(r *store.Run, res *analyze.Result) map[string]func(io.Writer) error {
	return map[string]func(io.Writer) error{
		"json":  func(w io.Writer) error { return JSON(w, r, res) },
		"csv":   func(w io.Writer) error { return CSV(w, r) },
		"bench": func(w io.Writer) error { return Benchfmt(w, r) },
		"txt":   func(w io.Writer) error { return Table(w, res, Context{}) },
	}
}

// fullDisk accepts some bytes, and then no more.
type fullDisk struct{ room int }

var errFull = errors.New("no space left")

func (d *fullDisk) Write(p []byte) (int, error) {
	if d.room -= len(p); d.room < 0 {
		return 0, errFull
	}
	return len(p), nil
}

func TestExportToFullDisk(t *testing.T) {
	r := makeRun(t, 12, "blocks")
	for name, export := range exports(r, analyzed(t, r)) {
		for _, room := range []int{0, 1000} {
			if err := export(&fullDisk{room}); !errors.Is(err, errFull) {
				t.Errorf("%s with room for %d bytes: %v", name, room, err)
			}
		}
	}
}

// TestJSONContract: the export has everything that other programs rely on.
func TestJSONContract(t *testing.T) {
	r := makeRun(t, 12, "blocks")
	var b strings.Builder
	must(t, JSON(&b, r, analyzed(t, r)))
	var doc map[string]any
	must(t, json.Unmarshal([]byte(b.String()), &doc))
	for _, member := range []string{"tare_export", "run", "answers", "rankings", "comparisons", "arms", "trial_spread",
		"tails", "positions", "thaws", "findings", "trials", "events"} {
		if doc[member] == nil {
			t.Errorf("no %s", member)
		}
	}
	if doc["tare_export"] != float64(ExportVersion) {
		t.Errorf("version %v", doc["tare_export"])
	}
	run := doc["run"].(map[string]any)
	if run["seed"] != 7.0 || run["complete"] != true || run["ended"] != "blocks" || run["environment"] == nil ||
		run["systems"] == nil || run["userland"] == nil {
		t.Errorf("run: %v", run)
	}
	// 12 blocks of 10 trials, 24 that were discarded, 6 that were repeated, and one made again.
	if n := len(doc["trials"].([]any)); n != 151 {
		t.Errorf("%d trials", n)
	}
	for _, c := range doc["comparisons"].([]any) {
		c := c.(map[string]any)
		if wide := c["arm"] == "qemu-tcg" && c["workload"] == "dd-write"; wide != (c["wide"] == true) {
			t.Errorf("%v on %v: wide is %v", c["arm"], c["workload"], c["wide"])
		}
		for _, field := range []string{"workload", "metric", "unit", "better", "baseline", "arm", "n", "ratio", "ci_low",
			"ci_high", "overhead_percent",
			"baseline_min", "baseline_mean", "baseline_max", "arm_min", "arm_mean", "arm_max", "spread", "has_control", "family",
			"scope", "units", "phi", "farther_percent", "mean_ratio", "equivalence_p_holm", "control", "verdict"} {
			if c[field] == nil {
				t.Errorf("%v against %v: no %s", c["arm"], c["baseline"], field)
			}
		}
	}
}

func TestCSV(t *testing.T) {
	r := makeRun(t, 12, "blocks")
	var b strings.Builder
	must(t, CSV(&b, r))
	rows, err := csv.NewReader(strings.NewReader(b.String())).ReadAll()
	must(t, err)
	count := map[string]int{}
	for _, row := range rows[1:] {
		count[row[11]+" "+row[13]]++
	}
	want := map[string]int{"done metric": 60*2 + 57, "done probe": 60*3 + 57*3, "failed ": 2, "void ": 1,
		"interrupted ":     1,
		"discarded metric": 12*2 + 12, "discarded probe": 12*3 + 12*3, "repeat metric": 3*2 + 3, "repeat probe": 3*3 + 3*3}
	for key, n := range want {
		if count[key] != n {
			t.Errorf("%d rows of %q, want %d", count[key], key, n)
		}
	}
	if len(count) != len(want) {
		t.Errorf("%v", count)
	}
}

// TestBenchstat reads the export with benchstat's own packages, and finds the
// medians that analysis found.
func TestBenchstat(t *testing.T) {
	r := makeRun(t, 12, "blocks")
	var b strings.Builder
	must(t, Benchfmt(&b, r))
	reader := benchfmt.NewReader(strings.NewReader(b.String()), "run.bench")
	var parser benchproc.ProjectionParser
	arm, err := parser.Parse("/arm", nil)
	must(t, err)
	metric, err := parser.Parse("/metric", nil)
	must(t, err)
	type series struct{ workload, arm, metric, unit string }
	values := map[series][]float64{}
	for reader.Scan() {
		switch rec := reader.Result().(type) {
		case *benchfmt.SyntaxError:
			t.Fatal(rec)
		case *benchfmt.Result:
			if rec.GetConfig("campaign") != "example" || rec.GetConfig("emulated") != "qemu-tcg" {
				t.Fatalf("config %v", rec.Config)
			}
			k := series{string(rec.Name.Base()), arm.Project(rec).String(), metric.Project(rec).String(), rec.Values[0].Unit}
			values[k] = append(values[k], rec.Values[0].Value)
		}
	}
	must(t, reader.Err())
	if reader.Units().GetBetter("sec/op") != -1 || reader.Units().GetBetter("B/s") != 1 {
		t.Error("units have lost their direction")
	}
	n := 0
	for _, a := range analyzed(t, r).Arms {
		for _, m := range a.Metrics {
			n++
			_, unit := benchunit.Tidy(1, benchUnit(m.Unit))
			if m.Name == analyze.CPUTime {
				unit = "cpu-sec/op"
			}
			k := series{map[string]string{"sysbench-cpu": "SysbenchCpu", "dd-write": "DdWrite"}[a.Workload], "/arm:" + a.Arm,
				"/metric:" + m.Name, unit}
			s := benchmath.AssumeNothing.Summary(benchmath.NewSample(values[k], &benchmath.DefaultThresholds), 0.95)
			if len(values[k]) != m.N || math.Abs(s.Center/m.Median-1) > 1e-12 {
				t.Errorf("%v: benchstat has %d values with the median %v, analysis %d with %v", k, len(values[k]), s.Center, m.N,
					m.Median)
			}
		}
	}
	if n != len(values) {
		t.Errorf("%d series in the export, %d in the analysis", len(values), n)
	}
}

func TestBenchWords(t *testing.T) {
	names := benchNames([]store.Metric{{Workload: "a-b"}, {Workload: "a_b"}, {Workload: "a-b"}, {Workload: "-"}})
	if names["a-b"] != "AB" || names["a_b"] != "AB_2" || names["-"] != "_2" {
		t.Errorf("%v", names)
	}
	for unit, want := range map[string]string{"s": "sec/op", "1/s": "op/s", "B/s": "B/s", "": "value", "a b=c": "a_b_c",
		"%": "%"} {
		if got := benchUnit(unit); got != want {
			t.Errorf("%q: %q, want %q", unit, got, want)
		}
	}
}
