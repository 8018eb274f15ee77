package workload

import (
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tare-bench/tare/internal/fault"
)

func custom(t testing.TB, s Spec) *Workload {
	t.Helper()
	w, err := Custom(s)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func picked(name string, m SpecMetric) SpecMetric {
	m.Metric = Metric{Name: name, Unit: "1/s", Better: Higher, Clock: GuestClock}
	return m
}

// answered returns a trial in which the command wrote this output.
func answered(w *Workload, size int64, stdout, stderr string) []StepResult {
	var rs []StepResult
	for _, s := range w.Trial(size, "") {
		r := StepResult{Name: s.Name, Wall: time.Second}
		if s.Name == "command" {
			r.Stdout, r.Stderr, r.Wall = []byte(stdout), []byte(stderr), 2*time.Second
		}
		rs = append(rs, r)
	}
	return rs
}

func checkRefused(t *testing.T, m map[string]float64, err error, says ...string) {
	t.Helper()
	if err == nil || m != nil || fault.KindOf(err) != fault.Guest {
		t.Fatalf("%v, %v", m, err)
	}
	for _, s := range says {
		if !strings.Contains(err.Error(), s) {
			t.Errorf("the error does not say %q: %v", s, err)
		}
	}
}

func TestCustomSteps(t *testing.T) {
	w := custom(t, Spec{
		Name: "mine[threads=4]", Command: []string{"bench", "-n{size}", "-t", "{threads}", "{server}"},
		Prepare: []string{"mk", "{size}"}, Clean: []string{"rm", "x"},
		Server: []string{"srv", "{server}"}, Ready: []string{"ping", "{server}"}, Files: []SpecFile{{"job", "size={size}\n"}},
		Params: map[string]string{"threads": "4"}, SizeUnit: "rounds", MinSize: 10, MaxSize: 1000, Timeout: time.Minute,
	})
	var got []string
	for _, s := range w.Trial(70, "192.0.2.7") {
		got = append(got, s.Name+": "+strings.Join(append(s.Argv, s.Ready...), " "))
	}
	want := []string{
		"server: srv 192.0.2.7 ping 192.0.2.7", "file-1: sh -c printf '%s' \"$2\" >\"$1\" sh job size=70\n", "prepare: mk 70",
		"command: bench -n70 -t 4 192.0.2.7", "clean: rm x",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if w.MinSize != 10 || w.MaxSize != 1000 || w.SizeUnit != "rounds" || w.Metrics[len(w.Metrics)-1].Name != "time" {
		t.Errorf("%+v", w)
	}
	if w.Steps(1)[2].Timeout != time.Minute {
		t.Error("no time limit")
	}
	if one := custom(t, Spec{Name: "once", Command: []string{"true"}}); one.MinSize != 1 || one.MaxSize != 1 {
		t.Errorf("without sizes there are %d to %d", one.MinSize, one.MaxSize)
	}
}

func TestCustomMetrics(t *testing.T) {
	const text = "warming up\nrate: 12.5 k/s\nrate: 13.5 k/s\n"
	const doc = "note\n{\"runs\": [{\"ops\": 7, \"name\": \"4.5\"}, {\"ops\": 0}]}\nbye"
	const table = "# a comment\nname, rate,p95\nwarm,1,2\nmain,300,4\n"
	for name, tc := range map[string]struct {
		metric SpecMetric
		stdout string
		want   float64
		says   string
	}{
		"last":             {SpecMetric{Regex: `^rate: ([\d.]+) k/s$`, Which: "last", Scale: 1000}, text, 13500, ""},
		"first":            {SpecMetric{Regex: `^rate: ([\d.]+)`, Which: "first"}, text, 12.5, ""},
		"two":              {SpecMetric{Regex: `^rate: ([\d.]+)`}, text, 0, "2 figures"},
		"none":             {SpecMetric{Regex: `^speed: ([\d.]+)`}, text, 0, "0 figures"},
		"no number":        {SpecMetric{Regex: `^(warming)`}, text, 0, "not a usable number"},
		"json":             {SpecMetric{JSON: "runs.0.ops"}, doc, 7, ""},
		"json text":        {SpecMetric{JSON: "runs.0.name"}, doc, 4.5, ""},
		"json zero":        {SpecMetric{JSON: "runs.1.ops"}, doc, 0, "a run that did its work"},
		"json missing":     {SpecMetric{JSON: "runs.2.ops"}, doc, 0, `no "runs.2"`},
		"json not whole":   {SpecMetric{JSON: "runs.0.ops"}, doc[:20], 0, "cut off"},
		"no json":          {SpecMetric{JSON: "runs"}, text, 0, "no JSON"},
		"json of a list":   {SpecMetric{JSON: "runs"}, doc, 0, "not a number"},
		"csv":              {SpecMetric{CSV: "rate", Which: "last"}, table, 300, ""},
		"csv by number":    {SpecMetric{CSV: "3", Which: "last"}, table, 4, ""},
		"csv two lines":    {SpecMetric{CSV: "p95"}, table, 0, "2 figures"},
		"csv no column":    {SpecMetric{CSV: "p99"}, table, 0, `no column "p99"`},
		"csv column 9":     {SpecMetric{CSV: "9"}, table, 0, "0 figures"},
		"csv of huge text": {SpecMetric{CSV: "p95"}, strings.Repeat("x", 1<<20), 0, "no column"},
	} {
		t.Run(name, func(t *testing.T) {
			w := custom(t, Spec{Name: "mine", Command: []string{"x"}, Metrics: []SpecMetric{picked("rate", tc.metric)}})
			m, err := w.Evaluate(1, answered(w, 1, tc.stdout, "noise\n"))
			if tc.says != "" {
				checkRefused(t, m, err, tc.says)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if want := map[string]float64{"rate": tc.want, "time": 2}; !maps.Equal(m, want) {
				t.Errorf("%v, want %v", m, want)
			}
		})
	}
}

func TestCustomCurves(t *testing.T) {
	const text = "64: 1.5 MB/s\n1024: 20 MB/s\n2048: 30 MB/s\n"
	curve := SpecMetric{Regex: `^(\d+): ([\d.]+) MB/s$`, Scale: 1e6, Over: Curve{Parameter: "length", In: "B", At: []float64{64, 1024}}}
	w := custom(t, Spec{Name: "mine", Command: []string{"x"}, Metrics: []SpecMetric{picked("rate", curve)}})
	if len(w.Metrics) != 1 || len(w.Curves) != 1 || w.Curves[0].Name != "rate" {
		t.Fatalf("%+v, %+v", w.Metrics, w.Curves)
	}
	m, err := w.Evaluate(1, answered(w, 1, text, ""))
	want := map[string]float64{"rate[length=64B]": 1.5e6, "rate[length=1024B]": 20e6, "time": 2}
	if err != nil || !maps.Equal(m, want) {
		t.Errorf("%v, %v", m, err)
	}
	m, err = w.Evaluate(1, answered(w, 1, text[:13], ""))
	checkRefused(t, m, err, "length 1024: 0 figures")
	m, err = w.Evaluate(1, answered(w, 1, text+text, ""))
	checkRefused(t, m, err, "length 64: 2 figures")
}

func TestCustomChecks(t *testing.T) {
	w := custom(t, Spec{Name: "mine", Command: []string{"x"}, Expect: `^done: \d+ rows$`, Refuse: "(?i)warning"})
	m, err := w.Evaluate(1, answered(w, 1, "done: 7 rows\n", ""))
	if err != nil || m["time"] != 2 {
		t.Errorf("%v, %v", m, err)
	}
	m, err = w.Evaluate(1, answered(w, 1, "done: no rows\n", ""))
	checkRefused(t, m, err, "does not match", "done: no rows")
	m, err = w.Evaluate(1, answered(w, 1, "done: 7 rows\n", "Warning: slow\n"))
	checkRefused(t, m, err, "forbidden", "Warning")
	rs := answered(w, 1, "done: 7 rows\n", "")
	rs[0].ExitCode = 1
	m, err = w.Evaluate(1, rs)
	checkRefused(t, m, err, "step command failed with exit status 1")
	if _, err := Custom(Spec{Name: "mine", Expect: "("}); fault.KindOf(err) != fault.Campaign {
		t.Errorf("%v", err)
	}
}

func FuzzCustom(f *testing.F) {
	f.Add([]byte("rate: 12.5\n{\"a\": [1, {\"b\": 2}]}\n"), "a.1.b")
	f.Add([]byte("a,b\n1,2\n"), "b")
	f.Fuzz(func(t *testing.T, output []byte, where string) {
		for _, m := range []SpecMetric{{Regex: `(\d+\.\d+)`, Which: "last"}, {JSON: where},
			{CSV: where, Which: "first", Scale: 1e300}} {
			w := custom(t, Spec{Name: "mine", Command: []string{"x"}, Metrics: []SpecMetric{picked("rate", m)}})
			got, err := w.Evaluate(1, answered(w, 1, string(output), ""))
			if (err == nil) != (len(got) > 0) {
				t.Errorf("%v, %v", got, err)
			}
			for name, v := range got {
				if math.IsNaN(v) || math.IsInf(v, 0) || v <= 0 {
					t.Errorf("%s is %v", name, v)
				}
			}
		}
	})
}
