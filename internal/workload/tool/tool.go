// Package tool reads the output of benchmark programs. There is one reader for each tool; it finds
// all figures that the tool prints, with the tool's own words and units, whatever its parameters
// were. Workloads choose their metrics from them by name, and `tare parse` prints them.
package tool

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/tare-bench/tare/internal/fault"
)

// Better says which direction of a figure is good; "": neither.
type Better string

const (
	Lower  Better = "lower"
	Higher Better = "higher"
)

// Figure is one value in the output of a tool, in the tool's own unit. Unlike metrics, figures may
// be 0.
type Figure struct {
	Name   string  `json:"metric"`
	Value  float64 `json:"value"`
	Unit   string  `json:"unit"`
	Better Better  `json:"better,omitempty"`
	// Printed is the number and its unit as the tool printed them, if Value and Unit are not: "218.37us".
	Printed string `json:"printed,omitempty"`

	// factor converts to s, B, B/s or 1/s, where the tool means something else by the unit than
	// units says; 0: it does not.
	factor float64
}

// units are the factors that convert to s, B, B/s or 1/s.
var units = map[string]float64{
	"": 1, "1": 1, "index": 1, "%CP": 1, "1/s": 1,
	"s": 1, "ms": 1e-3, "us": 1e-6, "ns": 1e-9, "us/op": 1e-6,
	"B": 1, "256 B": 256, "512 B": 512, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40, "MB": 1e6,
	"B/s": 1, "K/s": 1 << 10, "kB/s": 1 << 10, "KB/s": 1 << 10, "KiB/s": 1 << 10, "MiB/s": 1 << 20, "MB/s": 1e6,
	"GiB/s": 1 << 30, "TiB/s": 1 << 40, "2^10 bit/s": (1 << 10) / 8, "2^30 bit/s": (1 << 30) / 8,
	"bit/s": 1. / 8, "Mbit/s": 1e6 / 8, "10^6 bit/s": 1e6 / 8, "2^20 bit/s": (1 << 20) / 8, "Gbit/s": 1e9 / 8,
}

// In returns the value in another unit of the same dimension: of time, data, data per second,
// events per second, or shares of a CPU. It is 0 for a unit that this package does not know.
func (f Figure) In(unit string) float64 {
	factor, to := f.factor, units[unit]
	if factor == 0 {
		factor = units[f.Unit]
	}
	if to == 0 {
		return 0
	}
	return f.Value * factor / to
}

// Report is everything that a tool's output says.
type Report struct {
	Tool string
	// Version is that of the tool as far as the output tells it: what it prints, or "0.4 or 0.5" for a form that only
	// these versions have. "": the output does not tell.
	Version string
	Figures []Figure // in the order of the output, or of the tool's table
	// Words are what the output says about the run besides figures, such as the "test" of sysbench.
	Words map[string]string
	// Doubts are failures of a part of the run, and figures that contradict each other. Only Examine returns a report
	// that has some.
	Doubts []error

	text    string            // the output
	lenient bool              // doubts are no errors
	err     error             // the first number that is not usable
	timed   bool              // withTimes has read the text
	lines   map[string]string // words of the lines that figures are expected in, by the figures' names
}

func (r *Report) add(name string, v float64, unit string, better Better) {
	r.Figures = append(r.Figures, Figure{Name: name, Value: v, Unit: unit, Better: better})
}

// addAs adds a figure whose unit means factor s, B, B/s or 1/s.
func (r *Report) addAs(factor float64, name string, v float64, unit string, better Better) {
	r.Figures = append(r.Figures, Figure{Name: name, Value: v, Unit: unit, Better: better, factor: factor})
}

// addScaled adds a figure that was printed as word and the unit printed, as word × factor of unit.
func (r *Report) addScaled(name, word, printed string, factor float64, unit string, better Better) {
	v := r.number(word)
	if factor != 1 && v != 0 {
		v = times(word, factor)
	}
	f := Figure{Name: name, Value: v, Unit: unit, Better: better}
	if factor != 1 || printed != unit && printed != "" {
		f.Printed = word + printed
	}
	r.Figures = append(r.Figures, f)
}

// addFrom adds a figure that was calculated from what the tool printed, which is empty if it printed the same.
func (r *Report) addFrom(printed, name string, v float64, unit string, better Better) {
	v = exact(v)
	if same, err := strconv.ParseFloat(printed, 64); err == nil && same == v {
		printed = ""
	}
	r.Figures = append(r.Figures, Figure{Name: name, Value: v, Unit: unit, Better: better, Printed: printed})
}

// doubt returns an error about a part of the output, unless the caller wants the other parts nevertheless: then it
// keeps the error for the report, and returns nil. nil is no doubt.
func (r *Report) doubt(err error) error {
	if err != nil && r.lenient {
		if !slices.ContainsFunc(r.Doubts, func(known error) bool { return known.Error() == err.Error() }) {
			r.Doubts = append(r.Doubts, err)
		}
		return nil
	}
	return err
}

// part returns a report for a part of the output, which include adds to this one.
func (r *Report) part() *Report { return &Report{Tool: r.Tool, lenient: r.lenient} }

// include adds the figures of a part of the output, with a prefix to their names.
func (r *Report) include(prefix string, part *Report) {
	for _, f := range part.Figures {
		f.Name = prefix + f.Name
		r.Figures = append(r.Figures, f)
	}
	r.Doubts = append(r.Doubts, part.Doubts...)
	r.Version = cmp.Or(r.Version, part.Version)
}

func (r *Report) seconds(name string, v float64) { r.add(name, v, "s", Lower) }

// number parses a word as Number does. Read returns the first error, whatever the reader does with the 0.
func (r *Report) number(word string) float64 {
	v, err := Number(word)
	if r.err == nil {
		r.err = err
	}
	return v
}

// numbers parses several of them.
func (r *Report) numbers(words ...string) []float64 {
	f := make([]float64, len(words))
	for i, word := range words {
		f[i] = r.number(word)
	}
	return f
}

func (r *Report) say(name, word string) {
	if r.Words == nil {
		r.Words = map[string]string{}
	}
	r.Words[name] = word
}

// expect names the words of the line with a figure, for the error where there is none.
func (r *Report) expect(name, words string) {
	if r.lines == nil {
		r.lines = map[string]string{}
	}
	r.lines[name] = words
}

// All returns the figures of that name.
func (r *Report) All(name string) []Figure {
	var all []Figure
	for _, f := range r.Figures {
		if f.Name == name {
			all = append(all, f)
		}
	}
	return all
}

// Value returns the first figure of that name as printed, or 0 if there is none.
func (r *Report) Value(name string) float64 {
	if all := r.All(name); len(all) > 0 {
		return all[0].Value
	}
	return 0
}

// One returns the figure of that name. It is an error if the output has none, or several. A tool
// may print a figure in several units; the first counts.
func (r *Report) One(name string) (Figure, error) {
	all := r.All(name)
	n := 0
	for _, f := range all {
		if f.Unit == all[0].Unit {
			n++
		}
	}
	switch {
	case n == 1:
		return all[0], nil
	case n > 1:
		return Figure{}, fault.Guestf("the output of %s has %d figures %s instead of one; save each run in its own file",
			r.Tool, n, Quote(name))
	case r.lines[name] != "":
		return Figure{}, fault.Guestf("the output of %s has no line %s", r.Tool, Quote(r.lines[name]))
	}
	return Figure{}, fault.Guestf("the output of %s has no figure %s", r.Tool, Quote(name))
}

// ErrContradiction is wrapped by errors about figures that contradict each other, such as a rate
// that is not size / time.
var ErrContradiction = errors.New("impossible arithmetic")

// Contradiction is the error for figures of a tool that cannot all be true.
func Contradiction(format string, args ...any) error {
	return fault.Guestf("%w: %w", ErrContradiction, fmt.Errorf(format, args...))
}

// Tool is a program whose output tare reads. Some tools are run by no workload.
type Tool struct {
	Name string
	// Versions are those whose output tare reads, for people.
	Versions string

	read func(text string, r *Report) error
	// starts returns where the second run and those after it begin in a text; nil: no line tells.
	starts func(text string) []int
}

// All returns all tools, in order of their names.
func All() []Tool { return slices.Clone(tools) }

// Get returns the tool of that name.
func Get(name string) (t Tool, ok bool) {
	for _, t := range tools {
		if t.Name == name {
			return t, true
		}
	}
	return Tool{}, false
}

// Read finds what the output of a tool says, stdout and stderr together in any order. The output of
// a failed run, output without figures, and figures that contradict each other are errors, all of
// the kind fault.Guest. wanted are the figures that the caller needs; the error for output without
// figures names the first. text is not trusted.
func Read(tool, text string, wanted ...string) (*Report, error) {
	t, ok := Get(tool)
	if !ok {
		return nil, fmt.Errorf("there is no tool %q", tool)
	}
	return t.Read(text, wanted...)
}

// Read is the same for one tool.
func (t Tool) Read(text string, wanted ...string) (*Report, error) {
	return t.readPasted(plain(text), wanted...)
}

// Examine is Read for a person who wants to see what there is: the report says what of the run failed, and which
// figures contradict each other (Doubts). The names of the figures of several runs begin with "run 1: ", "run 2: " and
// so on.
func (t Tool) Examine(text string) (*Report, error) {
	text = plain(text)
	r, err := t.examine(text)
	bare := pasted(text)
	for _, other := range []string{bare, outdented(bare, 4)} { // the second as in Markdown
		if other == text {
			continue
		}
		again, failed := t.examine(other)
		if failed == nil && (err != nil || len(again.Doubts) <= len(r.Doubts) && again.unknown() < r.unknown()) {
			r, err = again, nil
		}
	}
	// What lines have in common may belong to the tool, too.
	if other := unlogged(bare); other != bare && (err != nil || len(r.Doubts) > 0 || r.unknown() > 0) {
		if again, failed := t.examine(other); failed == nil && len(again.Doubts) == 0 && again.unknown() == 0 {
			return again, nil
		}
	}
	return r, err
}

// examine is Examine for a text without the marks of a page that it was copied from.
func (t Tool) examine(text string) (*Report, error) {
	if runs := t.runs(text); len(runs) > 1 {
		if r, err := t.readRuns(runs); err == nil {
			r.text = text
			return r, nil
		}
	}
	r, err := t.readText(text, true)
	if err == nil && !slices.Contains(repeating, t.Name) {
		r.numberRuns()
	}
	return r, err
}

// repeating are tools that print the same names several times in one run: of jobs, streams or intervals.
var repeating = []string{"fio", "ioping", "iperf2", "tcpbench"}

// numberRuns numbers the figures of several runs of a tool that has no first line of its own, if each name is there as
// often as every other. The figures of a name are in the order of the output.
func (r *Report) numberRuns() {
	type kind struct{ name, unit string }
	times := map[kind]int{}
	of := make([]int, len(r.Figures)) // the run of each figure
	for i, f := range r.Figures {
		times[kind{f.Name, f.Unit}]++
		of[i] = times[kind{f.Name, f.Unit}]
	}
	runs := 0
	for _, n := range times {
		if runs == 0 {
			runs = n
		}
		if n != runs {
			return
		}
	}
	if runs < 2 {
		return
	}
	for i := range r.Figures {
		r.Figures[i].Name = fmt.Sprintf("run %d: %s", of[i], r.Figures[i].Name)
	}
	var sorted []Figure
	for run := 1; run <= runs; run++ {
		for i, f := range r.Figures {
			if of[i] == run {
				sorted = append(sorted, f)
			}
		}
	}
	r.Figures = sorted
}

// runs returns the outputs of the runs in a text.
func (t Tool) runs(text string) []string {
	if t.starts == nil {
		return []string{text}
	}
	var runs []string
	from := 0
	for _, at := range t.starts(text) {
		runs = append(runs, text[from:at])
		from = at
	}
	return append(runs, text[from:])
}

// readRuns reads several runs, all of which must be complete.
func (t Tool) readRuns(runs []string) (*Report, error) {
	all := &Report{Tool: t.Name}
	for i, run := range runs {
		r, err := t.readText(run, true)
		if err != nil {
			return nil, err
		}
		prefix := fmt.Sprintf("run %d: ", i+1)
		for j, doubt := range r.Doubts {
			r.Doubts[j] = fmt.Errorf("%s%w", prefix, doubt)
		}
		if r.Version != "" && all.Version != "" && r.Version != all.Version {
			all.Doubts = append(all.Doubts, fmt.Errorf("%sthe tool has another version, whose figures may not be comparable: "+
				"%s, not %s", prefix, r.Version, all.Version))
		}
		all.include(prefix, r)
		for name, word := range r.Words {
			all.say(prefix+name, word)
		}
	}
	return all, nil
}

// readPasted reads the text of a run as it is and, if that leaves something out, without the indent and the quotes of
// a mail or a page that it was copied from.
func (t Tool) readPasted(text string, wanted ...string) (*Report, error) {
	r, err := t.readText(text, false, wanted...)
	bare := pasted(text)
	if bare != text {
		again, failed := t.readText(bare, false, wanted...)
		if failed == nil && (err != nil || again.unknown() < r.unknown()) {
			return again, nil
		}
	}
	return r, err
}

func (t Tool) readText(text string, lenient bool, wanted ...string) (*Report, error) {
	r := &Report{Tool: t.Name, text: text, lenient: lenient}
	if strings.TrimSpace(text) == "" && len(wanted) == 0 {
		return nil, fault.Guestf("the output of %s is empty", t.Name)
	}
	err := t.read(text, r)
	if err := cmp.Or(r.err, err); err != nil {
		if len(r.Doubts) > 0 { // what failed first is why the rest is missing
			err = r.Doubts[0]
		}
		return nil, err
	}
	if len(r.Figures) == 0 {
		if len(r.Doubts) > 0 {
			return nil, r.Doubts[0]
		}
		if len(wanted) > 0 {
			_, err := r.One(wanted[0])
			return nil, err
		}
		return nil, fault.Guestf("the output contains no figures of %s: %s", t.Name, Quote(text))
	}
	if !r.timed {
		err := withTimes(r, text)
		if err := cmp.Or(r.err, err); err != nil {
			return nil, err
		}
	}
	for _, f := range r.Figures {
		if math.IsNaN(f.Value) || math.IsInf(f.Value, 0) || f.Value < 0 {
			return nil, fault.Guestf("the output of %s has the figure %s with the value %v", t.Name, Quote(f.Name), f.Value)
		}
	}
	return r, nil
}

// notOnce is the error for a line that a tool prints once.
func notOnce(tool, word string, n int) error {
	if n == 0 {
		return fault.Guestf("the output has no line with %q: this is not the complete output of one run of %s", word, tool)
	}
	return fault.Guestf("%d lines with %q instead of one: this is not the complete output of one run of %s", n, word, tool)
}

// once returns the submatches of a line that a tool prints once.
func (p *pattern) once(tool, text string) ([]string, error) {
	m := p.all(text)
	if len(m) != 1 {
		return nil, notOnce(tool, p.word, len(m))
	}
	return m[0], nil
}

// quoteless returns a tool's word in a form fit to be part of a name.
func quoteless(s string) string {
	q := Quote(s)
	return strings.ToValidUTF8(q[1:len(q)-1], "?")
}
