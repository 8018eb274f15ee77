package campaign

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tare-bench/tare/internal/strict"
)

// Custom defines a workload in the file itself: its command, and how its output is
// read. In all commands and files, {size} stands for the size of a trial, {NAME} for
// a parameter, {server} for the address of the workload's server, and {build} for the
// path of Workload.Build in guests.
type Custom struct {
	Command       []string // nil: the workload is one of tare's, or has Requests
	Prepare       []string // untimed, before the command; nil: nothing
	Clean         []string // untimed, after it
	Server, Ready []string // runs beside the command, which waits until Ready succeeds
	Files         []File   // created in the data directory before all else
	Packages      []string
	Expect        string // regular expression that the output must match; ""
	Refuse        string // that it must not match; ""
	Metrics       []Metric
	SizeUnit      string
	// MinSize and MaxSize bound the sizes; 0 if {size} does not occur: then a trial is
	// one run of the command.
	MinSize, MaxSize int64
	Disk             Bytes
	Timeout          time.Duration // of each of its commands; 0: the campaign's
	Requests         Requests      // of the server, instead of a command; Port 0: none
}

// File is a small text file.
type File struct{ Name, Text string }

// Metric is one figure in the output of a command: where it is, given by exactly one
// of Regex, JSON and CSV, and what it means.
type Metric struct {
	Name   string
	Unit   string
	Better string // "lower" or "higher"
	About  string
	Regex  string // its one group is the figure; that of a curve has two, the value of the parameter and the figure
	JSON   string // the keys and indices that lead to it, separated by dots
	CSV    string // a column's name, or its number from 1 if there is no header
	Which  string // of several figures: "first" or "last"; "": there must be exactly one
	Scale  float64
	Over   Over // the parameter over which it is a curve; zero: it is none
}

// Over is the parameter of a metric that each trial measures at several values.
type Over struct {
	Name   string
	Unit   string
	Values []float64 // rising
}

// Custom reports whether the file itself defines the workload.
func (w Workload) Custom() bool { return len(w.Own.Command) > 0 || w.Own.Requests.Port > 0 }

const (
	filePattern = "^[A-Za-z0-9][A-Za-z0-9_.-]{0,99}$"
	maxFileText = 64 << 10
	maxCommand  = 1000 // words
)

var isFileName = regexp.MustCompile(filePattern).MatchString

var (
	argvKind = func() strict.Kind[[]string] {
		word := strict.Verbatim("a word", anyWord, noNUL, strict.Text, strict.Block, strict.Integer, strict.Float,
			strict.Bool)
		// Plain text is a line for the shell.
		return strict.Shorthand(strict.List("words", maxCommand, word), word,
			func(s string) []string { return []string{"sh", "-c", s} })
	}()

	regexKind = strict.Verbatim("a regular expression", strict.Schema{"type": "string"},
		func(s string) error {
			if _, err := regexp.Compile(s); err != nil {
				return fmt.Errorf("%s is not one: %w", strict.Quote(s), err)
			}
			return nil
		}, strict.Text, strict.Block)

	factorKind = strict.Scalar("a positive number", strict.Schema{"type": "number", "exclusiveMinimum": 0},
		func(s string) (float64, error) {
			f, err := strconv.ParseFloat(s, 64)
			if err != nil || !(f > 0 && f < 1e300) {
				return 0, fmt.Errorf("%s is not one", strict.Quote(s))
			}
			return f, nil
		},
		func(f float64) any { return f }, strict.Integer, strict.Float)

	fileNameKind = strict.Verbatim("the name of a file", strict.Schema{"type": "string", "pattern": filePattern},
		strict.Rule(isFileName, "up to 100 letters, digits and any of _.-, without a directory"), strict.Text)

	fileTextKind = strict.Verbatim("text", strict.Schema{"type": "string", "maxLength": maxFileText},
		func(s string) error {
			if len(s) > maxFileText {
				return fmt.Errorf("it is longer than %d KiB", maxFileText>>10)
			}
			return noNUL(s)
		}, strict.Text, strict.Block)
)

func noNUL(s string) error {
	if strings.ContainsRune(s, 0) {
		return fmt.Errorf("it has a NUL character")
	}
	return nil
}

var fileKeys = []strict.Key[File]{
	strict.Required(strict.Field("name", "Name of the file in the data directory, where the commands run.",
		fileNameKind, func(f *File) *string { return &f.Name })),
	strict.Required(strict.Field("text", "Content of the file; {size} and parameters are replaced by their values.",
		fileTextKind, func(f *File) *string { return &f.Text })),
}

// isParameterUnit is what a unit in the name of a point may be: see model.Point.
var isParameterUnit = regexp.MustCompile(`^[^\[\]=0-9.\s]{0,20}$`).MatchString

var overKeys = []strict.Key[Over]{
	strict.Required(strict.Field("name", "Name of the parameter, such as length.",
		strict.Name, func(o *Over) *string { return &o.Name })),
	strict.Field("unit", "Its unit; B is scaled for display. Absent: it has none.",
		strict.Verbatim("a unit", strict.Schema{"type": "string"}, strict.Rule(isParameterUnit,
			"up to 20 letters without digits, spaces, brackets, dots and ="), strict.Text),
		func(o *Over) *string { return &o.Unit }),
	strict.Required(strict.Field("values", "Its values, rising. A trial must print a figure for each.",
		strict.List("values", 200, factorKind), func(o *Over) *[]float64 { return &o.Values })),
}

var overKind = strict.Then(strict.Object("a parameter", overKeys), func(r *strict.Reader, at strict.Node, o *Over) {
	if !slices.IsSorted(o.Values) || len(slices.Compact(slices.Clone(o.Values))) != len(o.Values) {
		r.FailAt(at, "the values of %s must rise", o.Name)
	}
})

var metricKeys = []strict.Key[Metric]{
	strict.Required(strict.Field("name", "Name of the metric.",
		strict.Name, func(m *Metric) *string { return &m.Name })),
	strict.Required(strict.Field("unit", "Its unit: s, B/s, bit/s, 1/s and B are scaled for display, others are shown "+
		"as they are.",
		textKind, func(m *Metric) *string { return &m.Unit })),
	strict.Required(strict.Field("better", "Which direction is better.",
		strict.OneOf("lower", "higher"), func(m *Metric) *string { return &m.Better })),
	strict.Field("about", "What the figure means, in one line.",
		textKind, func(m *Metric) *string { return &m.About }),
	strict.Field("regex", "Where the figure is: a regular expression (RE2) with exactly one group, which is the number; "+
		"^ and $ match at line ends.",
		regexKind, func(m *Metric) *string { return &m.Regex }),
	strict.Field("json", "Where the figure is in JSON on standard output: keys and indices separated by dots, such as "+
		"jobs.0.read.iops.",
		textKind, func(m *Metric) *string { return &m.JSON }),
	strict.Field("csv", "Where the figure is in comma-separated values on standard output: the column's name, or its "+
		"number from 1 if there are no names.",
		strict.Verbatim("a column's name or number", strict.Schema{"type": []string{"string", "integer"}}, noNUL,
			strict.Text, strict.Integer),
		func(m *Metric) *string { return &m.CSV }),
	strict.Field("which", "Which one of several figures counts. Absent: there must be exactly one.",
		strict.OneOf("first", "last"), func(m *Metric) *string { return &m.Which }),
	strict.FieldOr("scale", "Factor that converts the figure to the unit: 0.001 for milliseconds in a metric with unit s.",
		factorKind, func(m *Metric) *float64 { return &m.Scale }, 1),
	strict.Field("over", "Parameter over which the metric is a curve: each trial measures it at several values. regex "+
		"has two groups then, the value of the parameter and the figure.",
		overKind, func(m *Metric) *Over { return &m.Over }),
}

// customKeys are the keys of a workload that the file itself defines.
var customKeys = []strict.Key[Workload]{
	strict.Field("command", "Command of a workload of your own, timed by the host's clock: a list of words, or a line "+
		"for the shell. {size} stands for the size of a trial.",
		argvKind, func(w *Workload) *[]string { return &w.Own.Command }),
	strict.Field("prepare", "Command that runs before each trial, untimed.",
		argvKind, func(w *Workload) *[]string { return &w.Own.Prepare }),
	strict.Field("clean", "Command that runs after each trial, untimed, after the server has stopped.",
		argvKind, func(w *Workload) *[]string { return &w.Own.Clean }),
	strict.Field("server", "Server that runs beside the command; it must stay in the foreground. {server} stands for "+
		"its address.",
		argvKind, func(w *Workload) *[]string { return &w.Own.Server }),
	strict.Field("ready", "Command that succeeds when the server is ready.",
		argvKind, func(w *Workload) *[]string { return &w.Own.Ready }),
	strict.Field("files", "Small files that are created in the data directory before each trial.",
		strict.List("files", 20, strict.Object("a file", fileKeys)), func(w *Workload) *[]File { return &w.Own.Files }),
	strict.Field("packages", "Debian packages that the commands need.",
		strict.List("packages", 100, packageKind), func(w *Workload) *[]string { return &w.Own.Packages }),
	strict.Field("requests", "Instead of a command: tare's load generator requests a page of the server, at a constant "+
		"rate, or at the largest rate at which 99 % of the requests are answered in time.",
		requestsKind, func(w *Workload) *Requests { return &w.Own.Requests }),
	strict.Field("expect", "Regular expression that the command's output must match for the trial to count: proof that "+
		"the work was done.",
		regexKind, func(w *Workload) *string { return &w.Own.Expect }),
	strict.Field("refuse", "Regular expression that the command's output must not match.",
		regexKind, func(w *Workload) *string { return &w.Own.Refuse }),
	strict.Field("metrics", "Figures in the command's output; the first is the primary one. The metric time, by the "+
		"host's clock, always exists.",
		strict.List("metrics", 50, strict.Object("a metric", metricKeys)),
		func(w *Workload) *[]Metric { return &w.Own.Metrics }),
	strict.Field("size_unit", "What a size counts. Absent: units.",
		textKind, func(w *Workload) *string { return &w.Own.SizeUnit }),
	strict.Field("min_size", "Smallest size, at which calibration begins. Absent: 1.",
		strict.Whole[int64](1, 1<<60), func(w *Workload) *int64 { return &w.Own.MinSize }),
	strict.Field("max_size", "Largest size. Absent: a million times the smallest.",
		strict.Whole[int64](1, 1<<60), func(w *Workload) *int64 { return &w.Own.MaxSize }),
	strict.Field("disk", "Space that a trial needs on the data volume.",
		sizeKind, func(w *Workload) *Bytes { return &w.Own.Disk }),
	strict.Field("timeout", "Time limit of each of its commands. Absent: the campaign's timeout.",
		durationKind, func(w *Workload) *time.Duration { return &w.Own.Timeout }),
}

// checkCustom checks entry i, a workload that the file defines, and fills in its bounds.
func (r *checker) checkCustom(c *Campaign, i int, workloads map[string]Sizes) {
	path := fmt.Sprintf("workloads[%d]", i)
	w := &c.Workloads[i]
	own := &w.Own
	if _, taken := workloads[w.Name]; taken {
		r.Fail(path+".name", "%q is one of tare's workloads; give yours another name", w.Name)
	}
	if own.Ready != nil && own.Server == nil {
		r.Fail(path+".ready", "ready is for a server, but %q has none", w.Name)
	}
	switch {
	case own.Requests.Port > 0:
		r.checkRequests(path, w)
	case w.mentions("size"):
		r.boundSizes(path, own)
	default:
		w.sizes = sizes{}
		for _, key := range []string{"size", "min_size", "max_size", "size_unit"} {
			if r.Has(path + "." + key) {
				r.Fail(path+"."+key, "%s has no effect, because no command or file of %q contains {size}", key, w.Name)
			}
		}
	}
	if named := w.mentions("build"); w.Build != "" && !named {
		r.Fail(path+".build", "no command or file of %q contains {build}", w.Name)
	} else if w.Build == "" && named {
		r.Fail(path, "{build} stands for a build of yours: give its path with build: /…")
	}
	for _, s := range w.sweeps {
		if s.name == "size" || s.name == "server" || s.name == "build" {
			r.Fail(path+".params."+s.name, "{%s} already has a meaning; give the parameter another name", s.name)
		} else if !w.mentions(s.name) {
			r.Fail(path+".params."+s.name, "no command or file of %q contains {%s}", w.Name, s.name)
		}
	}
	for j, m := range own.Metrics {
		r.checkMetric(fmt.Sprintf("%s.metrics[%d]", path, j), m, own.Metrics[:j])
	}
	for _, one := range w.series() {
		r.checkSize(c, path, one, Sizes{
			Unit: own.SizeUnit, Min: own.MinSize, Max: own.MaxSize, Disk: func(int64) int64 { return int64(own.Disk) },
		})
	}
}

// boundSizes fills in and checks the bounds of a workload that has sizes.
func (r *checker) boundSizes(path string, own *Custom) {
	if own.SizeUnit == "" {
		own.SizeUnit = "units"
	}
	if own.MinSize == 0 {
		own.MinSize = 1
	}
	if own.MaxSize == 0 {
		own.MaxSize = own.MinSize
		if own.MinSize < 1<<40 {
			own.MaxSize *= 1_000_000
		}
	}
	if own.MaxSize < own.MinSize {
		r.Fail(path+".max_size", "max_size %d is less than min_size %d", own.MaxSize, own.MinSize)
	}
}

// mentions reports whether {word} occurs in a command or a file of a workload.
func (w *Workload) mentions(word string) bool {
	return slices.ContainsFunc(w.texts(), func(text string) bool { return strings.Contains(text, "{"+word+"}") })
}

// texts are all commands and files of a workload, in which {size} may occur.
func (w *Workload) texts() []string {
	o := w.Own
	texts := slices.Concat(o.Command, o.Prepare, o.Clean, o.Server, o.Ready)
	for _, f := range o.Files {
		texts = append(texts, f.Text)
	}
	return texts
}

func (r *checker) checkMetric(path string, m Metric, before []Metric) {
	if m.Name == "time" {
		r.Fail(path+".name", "time is the command's time by the host's clock; give the metric another name")
	}
	if slices.ContainsFunc(before, func(b Metric) bool { return b.Name == m.Name }) {
		r.Fail(path+".name", "metric %q appears twice", m.Name)
	}
	ways := 0
	for _, way := range []string{m.Regex, m.JSON, m.CSV} {
		if way != "" {
			ways++
		}
	}
	if ways != 1 {
		r.Fail(path, "metric %q needs exactly one of regex, json and csv, to locate its figure", m.Name)
	}
	if m.Over.Name != "" {
		if m.Regex == "" || regexp.MustCompile(m.Regex).NumSubexp() != 2 {
			r.Fail(path+".over", "metric %q is a curve, so it needs a regex with two groups: the value of %s, and the figure",
				m.Name, m.Over.Name)
		}
	} else if m.Regex != "" {
		if n := regexp.MustCompile(m.Regex).NumSubexp(); n != 1 {
			r.Fail(path+".regex", "the regular expression of metric %q has %d groups; it needs exactly one, the figure; (?:…) "+
				"does not count as a group", m.Name, n)
		}
	}
	if m.JSON != "" && m.Which != "" {
		r.Fail(path+".which", "json selects one figure; which is for regex and csv")
	}
}
