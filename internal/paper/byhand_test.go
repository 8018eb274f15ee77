package paper

import (
	"os"
	"path"
	"slices"
	"strings"
	"testing"
)

// byHand is a slip in a copy of an article: a number that is printed differently, or a
// sentence that it could have had.
type byHand struct {
	what, article string
	// row selects a figure: table, scenario, system, statistic and unit begin with these.
	row     [5]string
	value   string    // now in the file and in the article's words; "": as it was
	printed string    // now the article's words; "": only the value changes in them
	delta   string    // now the printed change
	unit    string    // now the unit
	system  string    // now the system
	with    [5]string // the figure with which it exchanges its value
	add     string    // claims or results to add, in YAML
}

const (
	xenKVM = "abclinuxu-xen-vs-kvm"
	habr   = "habr-truevds-xen-disk"
	latvia = "latgrid-xen-veiktspeja"
	runes  = "yunweiku-xen-kvm-lxc"
)

var slipsByHand = []byHand{
	// Columns, sums and differences.
	{what: "a mean of a column", article: latvia,
		add: `{claim: x, where: x, printed_value: 3000, unit: requests/s, of: {table: ab, system: native, take: mean}}`},
	{what: "a median of a column", article: latvia,
		add: `{claim: x, where: x, printed_value: 300, unit: transactions/s, of: {table: sysbench, system: native, take: median}}`},
	{what: "a sum of times in minutes", article: latvia,
		add: `{claim: x, where: x, printed_value: 3.5, unit: min, of: {table: dd, system: native, unit: s (time), take: sum}}`},
	{what: "a difference of a pair", article: xenKVM,
		add: `{claim: x, where: x, printed_value: 4.6, unit: s, of: {table: cpu.1, statistic: mean, take: range}}`},
	{what: "the smallest of a column", article: latvia,
		add: `{claim: x, where: x, printed_value: 43, unit: MB/s, of: {table: dd, unit: MB/s (dd), take: min}}`},
	{what: "the largest of a column", article: latvia,
		add: `{claim: x, where: x, printed_value: 468, unit: MB/s, of: {table: dd, unit: MB/s (dd), take: max}}`},
	{what: "a geometric mean that is arithmetic", article: latvia,
		add: `{claim: x, where: x, printed_value: 411.8, unit: transactions/s, of: {table: sysbench, system: native, take: geomean}}`},
	// Rough words.
	{what: "about twice, but 2.5 times", article: latvia,
		add: `{claim: x, where: x, printed_ratio: '~2', of: {table: ab, scenario: concurrency 50, workload: 'ab -c 50 -n 5000 http://serveris/index.html', system: native}, to: {system: xen-domu-512}}`},
	{what: "twice, but 2.5 times", article: latvia,
		add: `{claim: x, where: x, printed_ratio: 2, of: {table: ab, scenario: concurrency 50, workload: 'ab -c 50 -n 5000 http://serveris/index.html', system: native}, to: {system: xen-domu-512}}`},
	{what: "at least", article: latvia,
		add: `{claim: x, where: x, printed_value: '>=6000', unit: requests/s, of: {workload: 'ab -c 50 -n 5000 http://serveris/index.html', system: xen}}`},
	{what: "at most", article: xenKVM,
		add: `{claim: x, where: x, printed_delta_pct: '<=6', of: {table: cpu.2, system: xen}, to: {system: host}}`},
	{what: "between", article: latvia,
		add: `{claim: x, where: x, printed_value: '6000..8000', unit: requests/s, of: {workload: 'ab -c 50 -n 5000 http://serveris/index.html', system: xen-domu-512}}`},
	{what: "between, in percent", article: xenKVM,
		add: `{claim: x, where: x, printed_delta_pct: '6..8', of: {table: cpu.1, statistic: mean}, to: {system: host}}`},
	{what: "of N: too many", article: latvia,
		add: `{claim: x, where: x, printed_delta_pct: '<0', holds_for: 6 of 6, of: {table: sysbench, system: xen-domu-3g}, to: {system: native}}`},
	{what: "of N: the wrong N", article: latvia,
		add: `{claim: x, where: x, printed_delta_pct: '<=0', holds_for: 5 of 8, of: {table: sysbench, system: xen-domu-3g}, to: {system: native}}`},
	{what: "most, but two of six", article: latvia,
		add: `{claim: x, where: x, printed_delta_pct: '>=0', holds_for: most, of: {table: sysbench, system: xen-domu-3g}, to: {system: native}}`},
	{what: "half", article: xenKVM,
		add: `{claim: x, where: x, printed_ratio: '1:2', of: {table: kernel.1, system: host}, to: {system: kvm}}`},
	{what: "an order of magnitude", article: xenKVM,
		add: `{claim: x, where: x, printed_ratio: '~10', of: {table: disk.2, system: host, statistic: mean, unit: MiB/s (document prints MB/s)}, to: {system: kvm-1/1}}`},
	{what: "the same within 1 %", article: latvia,
		add: `{claim: x, where: x, printed_delta_pct: '-1..1', of: {table: iozone, system: xen}, to: {system: native}}`},
	{what: "a percentage as a factor", article: xenKVM,
		add: `{claim: x, where: x, printed_ratio: 29.7, of: {table: kernel.1, system: kvm}, to: {system: host}}`},
	{what: "a ratio of the wrong systems", article: xenKVM,
		add: `{claim: x, where: x, printed_ratio: 3.68, of: {table: untar.2, statistic: mean, system: kvm}, to: {system: xen-1/1}}`},
	{what: "a change with the base exchanged", article: xenKVM,
		add: `{claim: x, where: x, printed_delta_pct: -8.4, of: {table: cpu.1, statistic: mean, system: kvm}, to: {system: host}}`},
	{what: "a change in the opposite direction", article: xenKVM,
		add: `{claim: x, where: x, printed_delta_pct: '>0', of: {table: untar.1, statistic: mean, system: xen}, to: {system: host}}`},
	// Rankings.
	{what: "a ranking of three", article: xenKVM,
		add: `{claim: x, where: x, ranking: [host, kvm, xen], of: {table: cpu.1, statistic: mean}}`},
	{what: "a ranking where higher is better", article: latvia,
		add: `{claim: x, where: x, ranking: [xen-domu-3g, native], of: {table: sysbench, scenario: '16 threads, read-only'}}`},
	{what: "a ranking of rates, turned round", article: latvia,
		add: `{claim: x, where: x, ranking: [xen-domu-512, xen-domu-3g], of: {workload: 'ab -c 50 -n 5000 http://serveris/index.html'}}`},
	// Exchanged rows.
	{what: "means of two systems exchanged", article: xenKVM, row: [5]string{"cpu.1", "solo", "kvm-1/1", "mean"},
		with: [5]string{"cpu.1", "solo", "xen-1/1", "mean"}},
	{what: "minimum and maximum exchanged", article: xenKVM, row: [5]string{"kernel.3", "28", "kvm-1/4", "min"},
		with: [5]string{"kernel.3", "28", "kvm-1/4", "max"}},
	{what: "mean and maximum exchanged", article: xenKVM, row: [5]string{"kernel.3", "28", "xen-1/4", "mean"},
		with: [5]string{"kernel.3", "28", "xen-1/4", "max"}},
	{what: "rates of two systems exchanged", article: latvia, row: [5]string{"dd", "3GB file, pass 1", "native", "single",
		"MB/s"}, with: [5]string{"dd", "3GB file, pass 1", "xen-dom0", "single", "MB/s"}},
	{what: "times of two passes exchanged", article: latvia, row: [5]string{"dd", "3GB file, pass 1", "xen-domu-2g",
		"single", "s (time)"}, with: [5]string{"dd", "3GB file, pass 2", "xen-domu-2g", "single", "s (time)"}},
	{what: "indices of two systems exchanged", article: habr, row: [5]string{"unixbench", "", "native", "index"},
		with: [5]string{"unixbench", "", "xen-pv", "index"}},
	// Units.
	{what: "MB/s for MiB/s in the words", article: xenKVM, row: [5]string{"net.1", "", "kvm-1/1", "mean", "10^6 bit/s"},
		unit: "MiB/s"},
	{what: "MiB/s for MB/s", article: latvia, row: [5]string{"dd", "3GB file, pass 1", "native", "single", "MB/s"},
		unit: "MiB/s (dd)"},
	{what: "ms for s", article: xenKVM, row: [5]string{"kernel.3", "28", "xen-1/4", "mean"}, unit: "ms",
		value: "8109.248", printed: "8109,248 ms"},
	{what: "ms for us", article: habr, row: [5]string{"bonnie++", "", "native", "max latency", "us"}, unit: "ms",
		printed: "14923 ms", value: "14923"},
	{what: "us for ms in the words only", article: habr, row: [5]string{"bonnie++", "", "xen-pv", "max latency", "us"},
		printed: "10028ms"},
	{what: "minutes for hours", article: xenKVM,
		add: `{claim: x, where: x, printed_value: '~2', unit: min, of: {table: untar.2, system: kvm, statistic: max}}`},
	// Labels of other rows.
	{what: "a system twice", article: xenKVM, row: [5]string{"kernel.3", "28", "xen-1/4", "mean"}, system: "kvm-1/4"},
	{what: "a statistic twice", article: latvia, row: [5]string{"ab", "concurrency 50", "xen-domu-3g", "single"},
		system: "xen-domu-512"},
	// Changes.
	{what: "a change of another row", article: xenKVM, row: [5]string{"cpu.3", "28", "kvm-1/4", "mean"}, delta: "8.7"},
	{what: "a change with a lost sign", article: xenKVM, row: [5]string{"kernel.2", "7", "xen-1/1", "mean"}, delta: "3.6"},
	{what: "a change that is a difference in units", article: xenKVM, row: [5]string{"cpu.1", "solo", "xen-1/1", "mean"},
		delta: "3.0"},
	{what: "latency falls as much as operations", article: runes, row: [5]string{"fio", "", "domU-lvm", "latency"},
		delta: "-10"},
	{what: "throughput changes otherwise than IOPS", article: runes, row: [5]string{"fio", "", "domU-lvm", "throughput"},
		delta: "-12"},
}

func (s *byHand) find(t *testing.T, a *Article, words [5]string) *Row {
	t.Helper()
	for _, r := range a.figures() {
		if strings.HasPrefix(r.Table, words[0]) && strings.HasPrefix(r.Scenario, words[1]) && r.System == words[2] &&
			strings.HasPrefix(r.Statistic, words[3]) && strings.HasPrefix(r.Unit, words[4]) {
			return r
		}
	}
	t.Fatalf("%s: no row %q", s.what, words)
	return nil
}

// claimed returns the articles with all added claims of slipsByHand, in their order.
func claimed(t *testing.T) map[string]*Article {
	t.Helper()
	add := map[string]string{}
	for _, s := range slipsByHand {
		if s.add != "" {
			add[s.article] += "- " + s.add + "\n"
		}
	}
	all := map[string]*Article{}
	for name, claims := range add {
		text, err := files.ReadFile(path.Join("data", name+".yaml"))
		if err != nil {
			t.Fatal(err)
		}
		all[name], err = Parse(name, []byte(strings.Replace(string(text), "\nclaims:\n", "\nclaims:\n"+claims, 1)))
		if err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// plant returns a copy of the article with the slip. with has the added claims that are
// left, which it shortens.
func (s *byHand) plant(t *testing.T, with map[string]*Article) (*Article, []int) {
	t.Helper()
	published, err := Get(s.article)
	if err != nil {
		t.Fatal(err)
	}
	a := copyOf(published)
	if s.add != "" {
		claims := with[s.article].Claims
		a.Claims, with[s.article].Claims = append(a.Claims, claims[0]), claims[1:]
		a.Claims[len(a.Claims)-1].Line = 1_000_000
		return a, []int{1_000_000}
	}
	r := s.find(t, a, s.row)
	lines := []int{r.Line}
	if s.with != [5]string{} {
		o := s.find(t, a, s.with)
		x, y := r.Values[0], o.Values[0]
		reprint(r, x, y)
		reprint(o, y, x)
		lines = append(lines, o.Line)
	}
	if s.value != "" {
		n, _ := parseNumber(s.value)
		r.Values = []Number{n}
	}
	if s.printed != "" {
		r.Printed = s.printed
	}
	if s.system != "" {
		r.System = s.system
	}
	if s.unit != "" {
		r.Unit = s.unit
	}
	if s.delta != "" {
		n, _ := parseNumber(s.delta)
		reprintChange(r, &Figure{Number: n, Text: s.delta})
	}
	return a, lines
}

// TestUnitsOfSides: numbers in different units are compared as quantities. The three slips
// of the file are about places and words.
func TestUnitsOfSides(t *testing.T) {
	text, err := os.ReadFile("testdata/units.yaml")
	if err != nil {
		t.Fatal(err)
	}
	audit := func(from, to string) (found []string) {
		a, err := Parse("units.yaml", []byte(strings.Replace(string(text), from, to, 1)))
		if err != nil {
			t.Fatal(err)
		}
		r := Audit(a)
		for _, f := range r.Findings {
			found = append(found, f.Row+": "+f.Check)
		}
		for _, u := range r.Unchecked {
			found = append(found, u.Row+": "+u.Why)
		}
		return found
	}
	asIs := []string{
		"label | solo | kvm | mean: one figure in a place", "pct | solo | kvm | mean: value as printed",
		"conv | solo | host | mean: one figure in a place",
	}
	if found := audit("", ""); !slices.Equal(found, asIs) {
		t.Errorf("%q", found)
	}
	for from, to := range map[string]string{
		"printed_ratio: 2.0,":                   "printed_ratio: 20.0,",
		"(+20 %), printed_delta_pct: 20,":       "(+25 %), printed_delta_pct: 25,",
		"value: 1.5, unit: GB, printed: 1.5 GB": "value: 1.8, unit: GB, printed: 1.8 GB",
		"printed_ratio: 2, ":                    "printed_ratio: 3, ",
		"ranking: [host, kvm]":                  "ranking: [kvm, host]",
		"printed_value: 0.9, unit: ms":          "printed_value: 0.9, unit: us",
		// A sum of times and data is refused.
		"value: 500, unit: MB, printed: 500 MB": "value: 500, unit: s, printed: 500 s",
	} {
		if found := audit(from, to); len(found) != len(asIs)+1 {
			t.Errorf("%s: %q", to, found)
		}
	}
}

// TestSlipsByHand: each of these slips is found.
func TestSlipsByHand(t *testing.T) {
	before, with := map[string][]Finding{}, claimed(t)
	for _, s := range slipsByHand {
		a, lines := s.plant(t, with)
		if before[s.article] == nil {
			published, err := Get(s.article)
			if err != nil {
				t.Fatal(err)
			}
			before[s.article] = Audit(published).Findings
		}
		known := func(f Finding) bool {
			return slices.ContainsFunc(before[s.article], func(b Finding) bool {
				return b.Check == f.Check && b.Row == f.Row && b.PrintedText == f.PrintedText
			})
		}
		report := Audit(a)
		hit := false
		for _, f := range report.Findings {
			if known(f) {
				continue
			}
			if slices.ContainsFunc(lines, func(line int) bool { return f.Line == line || slices.Contains(f.uses, line) }) {
				hit = true
			} else {
				t.Errorf("%s: false: %+v", s.what, f)
			}
		}
		if !hit {
			var why []string
			for _, u := range report.Unchecked {
				if slices.Contains(lines, u.Line) {
					why = append(why, u.Why)
				}
			}
			t.Errorf("%s: missed %q", s.what, why)
		}
	}
}
