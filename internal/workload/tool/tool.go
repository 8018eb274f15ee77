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

	// factor converts to s, B, B/s or 1/s, where the tool means something else by the unit than
	// units says; 0: it does not.
	factor float64
}

// units are the factors that convert to s, B, B/s or 1/s.
var units = map[string]float64{
	"": 1, "1": 1, "index": 1, "1/s": 1,
	"s": 1, "ms": 1e-3, "us": 1e-6, "ns": 1e-9, "us/op": 1e-6,
	"B": 1, "256 B": 256, "512 B": 512, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40, "MB": 1e6,
	"B/s": 1, "K/s": 1 << 10, "kB/s": 1 << 10, "KB/s": 1 << 10, "KiB/s": 1 << 10, "MiB/s": 1 << 20, "MB/s": 1e6,
	"GiB/s": 1 << 30, "TiB/s": 1 << 40, "2^10 bit/s": (1 << 10) / 8, "2^30 bit/s": (1 << 30) / 8,
	"bit/s": 1. / 8, "Mbit/s": 1e6 / 8, "10^6 bit/s": 1e6 / 8, "2^20 bit/s": (1 << 20) / 8, "Gbit/s": 1e9 / 8,
}

// In returns the value in another unit of the same dimension: of time, data, data per second, or
// events per second. It is 0 for a unit that this package does not know.
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
	Tool    string
	Figures []Figure // in the order of the output, or of the tool's table
	// Words are what the output says about the run besides figures, such as the "test" of sysbench.
	Words map[string]string

	err   error             // the first number that is not usable
	timed bool              // withTimes has read the text
	lines map[string]string // words of the lines that figures are expected in, by the figures' names
}

func (r *Report) add(name string, v float64, unit string, better Better) {
	r.Figures = append(r.Figures, Figure{Name: name, Value: v, Unit: unit, Better: better})
}

// addAs adds a figure whose unit means factor s, B, B/s or 1/s.
func (r *Report) addAs(factor float64, name string, v float64, unit string, better Better) {
	r.Figures = append(r.Figures, Figure{name, v, unit, better, factor})
}

// include adds the figures of a part of the output, with a prefix to their names.
func (r *Report) include(prefix string, part *Report) {
	for _, f := range part.Figures {
		f.Name = prefix + f.Name
		r.Figures = append(r.Figures, f)
	}
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
	read func(text string, r *Report) error
}

// tools are all tools, in order of their names.
var tools = []Tool{
	{"ab", lines(abLines)}, {"bonnie++", readBonnie}, {"cpio", readCpio}, {"cpuinfo", readCPUInfo},
	{"dbench", lines(dbenchLines)},
	{"dd", readDD}, {"fio", readFio}, {"hyperfine", readHyperfine}, {"ioping", readIoping}, {"iozone", readIozone},
	{"iperf2", readIperf2}, {"iperf3", readIperf3}, {"kernel-build", readMake},
	{"lmbench", readLmbench},
	{"mbw", readMbw}, {"memaslap", readMemaslap},
	{"nbench", lines(nbenchLines)}, {"netperf", readNetperf}, {"netpipe", readNetpipe},
	{"nuttcp", readNuttcp}, {"openssl", readOpenssl}, {"perf-bench", readPerfBench},
	{"pgbench", readPgbench}, {"python", readPython}, {"qperf", readQperf}, {"redis-benchmark", readRedis},
	{"rt-tests", readRTTests}, {"sockperf", lines(sockperfLines)}, {"stress-ng", readStressNG}, {"sysbench", readSysbench},
	{"tar", readTar}, {"tare-http", readTareHTTP}, {"tcpbench", lines(tcpbenchLines)}, {"tiobench", readTiobench},
	{"ttcp", lines(ttcpLines)},
	{"unixbench", readUnixbench}, {"wrk", readWrk}, {"zstd", readZstd},
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
	r := &Report{Tool: t.Name}
	text = plain(text)
	if strings.TrimSpace(text) == "" && len(wanted) == 0 {
		return nil, fault.Guestf("the output of %s is empty", t.Name)
	}
	err := t.read(text, r)
	if err := cmp.Or(r.err, err); err != nil {
		return nil, err
	}
	if len(r.Figures) == 0 {
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
