package paper

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tare-bench/tare/internal/analyze"
	"github.com/tare-bench/tare/internal/campaign"
	"github.com/tare-bench/tare/internal/dataset"
	"github.com/tare-bench/tare/internal/fault"
)

// here returns a machine on which all systems are usable except those named.
func here(without ...string) Machine {
	without = append(without, "xen-dom0", "vmware-workstation") // not booted as dom0, and no machine of VMware's
	return Machine{
		CPUs: 8, Memory: 16 << 30,
		Usable: func(system string) string {
			if slices.Contains(without, system) {
				return "there is none"
			}
			return ""
		},
		Supports: func(system, what string) bool {
			return !strings.HasPrefix(system, "xen") && (what == "bridged" || what == "nat" || what == "raw")
		},
	}
}

func repeat(t *testing.T, name string, m Machine, o RepeatOptions) *Repetition {
	t.Helper()
	a, err := Get(name)
	if err != nil {
		t.Fatal(err)
	}
	r, err := Repeat(a, m, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// answer returns the same values for every key.
func answer(Key) Stats {
	return Stats{N: 3, Min: 1, Mean: 2, Max: 3, Cost: &Cost{Percent: 5, Verdict: "costs +5 %", Interval: "+4 … +6 %"}}
}

// TestEveryFigure: each of the printed figures is measured again, or there is a reason
// why not. The golden has the reasons and the measurements.
func TestEveryFigure(t *testing.T) {
	var golden_ strings.Builder
	figures, repeated := 0, 0
	for _, a := range All() {
		r := repeat(t, a.Document.Name, here(), RepeatOptions{})
		fmt.Fprintf(&golden_, "%s, against %s\n", a.Document.Name, r.Baseline)
		for _, c := range r.Cells(answer) {
			figures++
			what := "- " + c.Why
			if c.Series != "" {
				repeated++
				f := r.Article.recipe.figure(&Row{Table: c.Table, Workload: c.Workload, Scenario: c.Scenario,
					Statistic: c.Statistic, Unit: c.Unit})
				what = fmt.Sprintf("%s %s %s by %s in %s, times %.6g", c.Series, c.Metric, f.in, c.As, f.stage, 1/f.per)
				if (c.Here == nil) == (c.Now == nil || f.shows != showsChange) {
					t.Errorf("%s %q of %s: here %v, now %v, why %q", c.Table, c.Statistic, c.System, c.Here, c.Now, c.Why)
				}
				if c.System == r.Baseline && c.Now != nil {
					t.Errorf("%s: the baseline costs %v", c.Table, c.Now)
				}
			} else if c.Why == "" {
				t.Errorf("%s %q of %s has neither a figure nor a reason", c.Table, c.Statistic, c.System)
			}
			fmt.Fprintf(&golden_, "%s | %s | %s | %s | %s | %s: %s\n", c.Table, short40(c.Workload), c.Scenario, c.Statistic,
				c.Unit, c.System, what)
		}
	}
	if figures != 369 {
		t.Errorf("%d figures, want 369", figures)
	}
	t.Logf("%d of them are measured again", repeated)
	golden(t, "repeat.txt", []byte(golden_.String()))
}

func short40(s string) string {
	if r := []rune(s); len(r) > 40 {
		return "…" + string(r[len(r)-39:])
	}
	return s
}

// TestEveryRule: some figure uses every rule, and every series of a stage is used.
func TestEveryRule(t *testing.T) {
	for _, a := range All() {
		r, name := &a.recipe, a.Document.Name
		used, series := map[*figure]bool{}, map[string]bool{}
		for _, row := range a.figures() {
			if f := r.figure(row); f != nil {
				used[f] = true
				series[f.stage+"/"+f.series] = true
			}
		}
		for i := range r.figures {
			if f := &r.figures[i]; !used[f] {
				t.Errorf("%s: no figure for %+v", name, *f)
			}
		}
		for _, e := range r.extras {
			series[e.Stage+"/"+e.Series] = true
		}
		for _, c := range r.claims {
			series[c.stage+"/"+c.series] = true
		}
		for _, s := range r.stages {
			for _, w := range s.work {
				if !series[s.name+"/"+w.series] {
					t.Errorf("%s: nothing needs %s of %s", name, w.series, s.name)
				}
			}
		}
	}
}

func TestRelatives(t *testing.T) {
	as := func(r *Repetition) string {
		var list []string
		for _, g := range r.Guests {
			list = append(list, g.System+"="+g.As)
		}
		return strings.Join(append(list, r.Also...), " ")
	}
	const habr, platov = "habr-truevds-xen-disk", "platov-vmware-vs-colinux"
	dom0 := here()
	dom0.Usable = func(system string) string {
		if system == "native" || system == "kvm" {
			return "the hypervisor is beneath it"
		}
		return ""
	}
	for _, c := range []struct {
		article string
		m       Machine
		o       RepeatOptions
		want    string
	}{
		{habr, here(), RepeatOptions{}, "native=native xen-pv=xen-pv"},
		{habr, here("xen-pv", "xen-pvh"), RepeatOptions{}, "native=native xen-pv=kvm"},
		{habr, here("xen-pv", "xen-pvh", "kvm"), RepeatOptions{}, "native=native xen-pv=qemu-tcg"},
		{habr, dom0, RepeatOptions{}, "native=xen-dom0 xen-pv=xen-pv"},
		{habr, here("xen-pv"), RepeatOptions{Systems: []string{"lxc"}}, "native=native xen-pv= lxc"},
		{habr, here("xen-pv"), RepeatOptions{Systems: []string{"runc", "kvm", "native"}}, "native=native xen-pv=kvm runc"},
	} {
		if got := as(repeat(t, c.article, c.m, c.o)); got != c.want {
			t.Errorf("%s, %v: %s, want %s", c.article, c.o, got, c.want)
		}
	}
	r := repeat(t, platov, here("kvm"), RepeatOptions{})
	notes := strings.Join(r.Notes, "\n")
	for _, want := range []string{"coLinux is discontinued",
		"no vmware-workstation: there is none; no kvm: there is none", "vmware_part"} {
		if !strings.Contains(notes, want) {
			t.Errorf("the notes have no %q:\n%s", want, notes)
		}
	}
	a, _ := Get(habr)
	for _, c := range []struct {
		m    Machine
		o    RepeatOptions
		want string
	}{
		{here("xen-pv", "xen-pvh", "kvm", "qemu-tcg"), RepeatOptions{}, "similar ones"},
		{here("lxc"), RepeatOptions{Systems: []string{"lxc"}}, "system lxc: there is none"},
		{here(), RepeatOptions{Scale: 2}, "a scale of 2"},
		{here(), RepeatOptions{Scale: math.NaN()}, "a scale of NaN"},
		{here(), RepeatOptions{Tables: []string{"bonie++"}}, "did you mean bonnie++?"},
	} {
		_, err := Repeat(a, c.m, c.o)
		if fault.KindOf(err) != fault.Campaign || !strings.Contains(fmt.Sprint(err), c.want) {
			t.Errorf("%+v: %v, want %q", c.o, err, c.want)
		}
	}
}

// TestCells: a system's cost comes from the analysis for a mean, and is a quotient for
// other statistics. A reason takes precedence over a figure.
func TestCells(t *testing.T) {
	r := repeat(t, "abclinuxu-xen-vs-kvm", here("xen-pv", "xen-pvh"), RepeatOptions{Tables: []string{"cpu", "disk.2"}})
	values := map[string]Stats{
		"native solo":           {N: 3, Min: 9, Mean: 10, Max: 11},
		"kvm solo":              {N: 3, Min: 18, Mean: 20, Max: 44, Cost: &Cost{Percent: 101, Verdict: "costs +101 %"}},
		"native mixed quarter":  {N: 3, Mean: 40},
		"native mixed whole":    {N: 3, Mean: 10},
		"kvm mixed quarter":     {N: 3, Mean: 60},
		"kvm mixed whole":       {N: 3, Mean: 20},
		"native parallel":       {N: 2, Min: 1, Mean: 50, Max: 99, Withheld: true},
		"kvm parallel":          {Why: "its trials failed: out of memory"},
		"native dd parallel":    {Higher: true, N: 2, Min: 1 << 20, Mean: 2 << 20, Max: 3 << 20},
		"kvm dd parallel":       {Higher: true, N: 2, Min: 1 << 19, Mean: 1 << 20, Max: 3 << 20},
		"native ddtime solo":    {},
		"kvm crowd not reached": {},
	}
	measured := func(k Key) Stats {
		name := k.System
		if k.Series == "dd-write" && k.Metric == "cold-rate" {
			name += " dd"
		} else if k.Series == "dd-write" {
			return Stats{}
		}
		return values[strings.TrimSpace(name+" "+k.Scenario+" "+k.Part)]
	}
	cells := map[string]Cell{}
	for _, c := range r.Cells(measured) {
		cells[c.Table+" "+c.System+" "+c.Statistic+" "+c.Unit[:1]] = c
	}
	for name, want := range map[string]string{
		"cpu.1 kvm-1/1 min s":  "here 18 then +9.1 now +100.0",
		"cpu.1 kvm-1/1 mean s": "here 20 then +9.1 now +101.0 costs +101 %",
		"cpu.1 host mean s":    "here 10",
		"cpu.2 host mean s":    "why the values are too far apart for a mean: 1 to 99",
		"cpu.2 host max s":     "here 99",
		"cpu.2 kvm-1/1 mean s": "then +8.9 why its trials failed: out of memory",
		"cpu.3 kvm-1/4 mean s": "then +11.6 why the budget was used up before it, or none of its trials " +
			"succeeded",
		"cpu.4 kvm-1/1 mean, 1/1 tasks s":        "here 20 then +8.8 now +100.0",
		"cpu.4 kvm-1/4 mean, 1/4 tasks s":        "here 60 then +8.7 now +50.0",
		"cpu.4 kvm ratio mean(1/4)/mean(1/1) 1":  "here 3",
		"cpu.4 host ratio mean(1/4)/mean(1/1) 1": "here 4",
		"disk.2 kvm-1/1 min M":                   "here 0.5 then +646.3 now +100.0",
		"disk.2 host mean M":                     "here 2",
	} {
		c, ok := cells[name]
		if !ok {
			t.Errorf("there is no %s", name)
			continue
		}
		got := ""
		if c.Here != nil {
			got += fmt.Sprintf(" here %g", *c.Here)
		}
		if c.Then != nil {
			got += fmt.Sprintf(" then %+.1f", c.Then.Percent)
		}
		if c.Now != nil {
			got += fmt.Sprintf(" now %+.1f %s", c.Now.Percent, c.Now.Verdict)
		}
		if c.Why != "" {
			got += " why " + c.Why
		}
		if got = strings.TrimSpace(got); got != want {
			t.Errorf("%s:\n got %s\nwant %s", name, got, want)
		}
	}
}

// TestScale: sizes depend on the scale within the workload's bounds, a scenario on the
// machine's CPUs, and memory on the largest scenario.
func TestScale(t *testing.T) {
	small := here()
	small.CPUs, small.Memory = 2, 2<<30
	for _, c := range []struct {
		m    Machine
		o    RepeatOptions
		want []string
	}{
		{here(), RepeatOptions{}, []string{"{name: openssl-enc}", "{name: parallel, guests: 7}", "memory: 256MiB",
			"budget: 1m30s", "timeout: 1m30s"}},
		{here(), RepeatOptions{Scale: 0.1}, []string{"{name: openssl-enc, size: 512}"}},
		{small, RepeatOptions{Scale: 1e-9}, []string{"{name: openssl-enc, size: 32}", "guests: 2}", "memory: 256MiB"}},
	} {
		r := repeat(t, "abclinuxu-xen-vs-kvm", c.m, c.o)
		text := string(r.Campaign(r.Stages[0], 90*time.Second))
		for _, want := range c.want {
			if !strings.Contains(text, want) {
				t.Errorf("%+v: no %q in\n%s", c.o, want, text)
			}
		}
	}
	// Only what the tables need.
	r := repeat(t, "abclinuxu-xen-vs-kvm", here(), RepeatOptions{Tables: []string{"cpu.1"}})
	if text := string(r.Campaign(r.Stages[0], time.Minute)); len(r.Stages) != 1 || strings.Contains(text, "parallel") ||
		strings.Contains(text, "untar") {
		t.Errorf("for one table:\n%s", text)
	}
}

// TestReasons: a series without a figure says why. What counts is what the analysis says of an arm; a
// control's values do not.
func TestReasons(t *testing.T) {
	a, err := Get("platov-vmware-vs-colinux")
	if err != nil {
		t.Fatal(err)
	}
	p := NewResults(&Repetition{Article: a, Stages: []Stage{{Name: "cpu"}, {Name: "disk"}, {Name: "net"}}})
	p.Ended(Stage{Name: "cpu"}, errors.New("no space left\nto fix: make some"))
	add := func(stage string, in dataset.Set, arms ...analyze.ArmResult) error {
		return p.Add(stage+".tare", &campaign.Campaign{Name: a.Document.Name + "-" + stage}, in, &analyze.Result{Arms: arms})
	}
	if err := add("cpu", dataset.Set{},
		analyze.ArmResult{Workload: "x", Metrics: []analyze.SeriesSummary{{Name: "there", N: 1}}}); err != nil {
		t.Fatal(err)
	}
	in := dataset.Set{
		Controls: map[string]string{"control": "native"},
		Metrics:  []dataset.Metric{{Workload: "y", Name: "time"}, {Workload: "silent", Name: "time", Better: "higher"}},
		Failures: []dataset.Failure{{Workload: "y", Arm: "a", Text: "out of memory\nmore"}},
	}
	parts := map[string]analyze.SeriesSummary{"whole": {Name: "time", N: 1, Mean: 7}, "quarter": {Name: "time"}}
	err = add("disk", in, analyze.ArmResult{Arm: "a", Workload: "y", Failures: 1},
		analyze.ArmResult{Arm: "a", Workload: "silent", Metrics: []analyze.SeriesSummary{{Name: "time", N: 2, Parts: parts}}},
		analyze.ArmResult{Arm: "control", Workload: "y", Metrics: []analyze.SeriesSummary{{Name: "time", N: 2}}})
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[Key]string{
		{Stage: "cpu", Series: "x", Metric: "there", Scenario: "solo"}: "",
		{Stage: "cpu", Series: "y", Metric: "time", Scenario: "solo"}:  "its campaign ended early: no space left",
		{Stage: "net"}: "no run of campaign platov-vmware-vs-colinux-net",
		{Stage: "disk", Series: "x", Scenario: "solo"}:                              "",
		{Stage: "disk", Series: "y", Metric: "time", System: "a", Scenario: "solo"}: "its trials failed: out of memory",
		{Stage: "disk", Series: "silent", Metric: "iops", System: "a",
			Scenario: "solo"}: "the program did not report this figure; if the work was too little, a larger --scale helps",
	} {
		if got := p.measured(key).Why; got != want {
			t.Errorf("%+v: %q, want %q", key, got, want)
		}
	}
	if st := p.measured(Key{Stage: "disk", Series: "silent", Metric: "time", System: "a", Scenario: "solo",
		Part: "whole"}); st.Mean != 7 || !st.Higher {
		t.Errorf("a part: %+v", st)
	}
	if err := add("disk", in); fault.KindOf(err) != fault.Campaign || !strings.Contains(err.Error(), "second run") {
		t.Error(err)
	}
	if err := add("other", in); fault.KindOf(err) != fault.Campaign ||
		!strings.Contains(err.Error(), "not a campaign of platov") {
		t.Error(err)
	}
}
