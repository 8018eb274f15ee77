package workload

import (
	"cmp"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/workload/tool"
)

// Spec is a workload that a campaign defines: a command, and the places of the
// figures in its output; or a server, and what is requested of it. In all commands
// and files, {size} stands for the size, {NAME} for a parameter, and {server} for the
// server's address.
type Spec struct {
	Name          string
	Command       []string
	Prepare       []string // nil: nothing
	Clean         []string // nil: nothing
	Server, Ready []string // nil: none
	Files         []SpecFile
	Packages      []string
	Params        map[string]string
	Expect        string // regular expression; "": any output is accepted
	Refuse        string // regular expression; "": no output is refused
	Metrics       []SpecMetric
	SizeUnit      string
	// MinSize and MaxSize bound the sizes; 0: there is only one size.
	MinSize, MaxSize int64
	DiskBytes        int64
	Timeout          time.Duration // of each command; 0: the campaign's
	As               *Process      // how the commands run; nil: as root, in the data directory
	Requests         *Requests     // of the server, instead of Command; nil: none
}

// SpecFile is a file that tare creates before each trial.
type SpecFile struct{ Name, Text string }

// SpecMetric is a metric and the place of its figure, given by exactly one of
// Regex, JSON and CSV.
type SpecMetric struct {
	Metric
	Regex string  // its only group is the figure
	JSON  string  // keys and indices separated by dots, on stdout
	CSV   string  // a column's name, or its number from 1 without a header line, on stdout
	Which string  // "first" or "last" of several figures; "": there must be exactly one
	Scale float64 // converts the figure to the unit by multiplication; 0: 1
	// Over has the parameter over which the metric is a curve, and its values; without values, it is none. Regex has two
	// groups then, the value of the parameter and the figure.
	Over Curve
}

// curve is the metric as a curve.
func (m SpecMetric) curve() Curve {
	c := m.Over
	c.Metric = m.Metric
	return c
}

// Custom makes a workload of a spec. The error is of the kind fault.Campaign.
func Custom(s Spec) (*Workload, error) {
	w := &Workload{
		Name: s.Name, Title: "defined by the campaign", Source: "the campaign's own command", Packages: s.Packages,
		SizeUnit: cmp.Or(s.SizeUnit, "runs of the command"),
		MinSize:  max(s.MinSize, 1), MaxSize: max(s.MaxSize, s.MinSize, 1), DefaultSize: max(s.MinSize, 1),
		Uneven: "how a campaign's own command scales with its size is not known",
	}
	if s.DiskBytes > 0 {
		w.DiskBytes = func(int64) int64 { return s.DiskBytes }
	}
	if s.Requests != nil {
		return w.requested(s), nil
	}
	patterns := map[string]*regexp.Regexp{}
	for _, text := range append([]string{s.Expect, s.Refuse}, regexes(s.Metrics)...) {
		re, err := regexp.Compile("(?m)" + text)
		if err != nil {
			return nil, fault.Campaignf("workload %s: %w", s.Name, err)
		}
		patterns[text] = re
	}
	for _, m := range s.Metrics {
		if m.Over.At != nil {
			w.Curves = append(w.Curves, m.curve())
		} else {
			w.Metrics = append(w.Metrics, m.Metric)
		}
	}
	w.Metrics = append(w.Metrics, Time("the command, from its start to its end"))
	if s.Server != nil {
		w.Serve = func(size int64) []Step {
			return []Step{{Name: "server", Background: true, Argv: s.put(s.Server, size), Ready: s.put(s.Ready, size),
				As: s.As}}
		}
	}
	w.Steps = s.steps
	w.Evaluate = func(size int64, results []StepResult) (map[string]float64, error) {
		by, err := Ran(w.Trial(size, ""), results)
		if err != nil {
			return nil, err
		}
		m, err := s.read(by["command"], patterns)
		if err != nil {
			return nil, InStep("command", err)
		}
		m["time"] = by["command"].Wall.Seconds()
		return Sane(m)
	}
	return w, nil
}

func regexes(metrics []SpecMetric) []string {
	var all []string
	for _, m := range metrics {
		all = append(all, m.Regex)
	}
	return all
}

// steps are the commands of one trial, without the server's.
func (s Spec) steps(size int64) []Step {
	var steps []Step
	for i, f := range s.Files {
		steps = append(steps, Step{
			Name: fmt.Sprintf("file-%d", i+1), Argv: []string{"sh", "-c", `printf '%s' "$2" >"$1"`, "sh", f.Name,
				s.put([]string{f.Text}, size)[0]},
		})
	}
	if s.Prepare != nil {
		steps = append(steps, Step{Name: "prepare", Argv: s.put(s.Prepare, size), As: s.As})
	}
	steps = append(steps, Step{Name: "command", Argv: s.put(s.Command, size), Timed: true, As: s.As})
	if s.Clean != nil {
		steps = append(steps, Step{Name: "clean", Argv: s.put(s.Clean, size), ServersEnded: true, As: s.As})
	}
	for i := range steps {
		steps[i].Timeout = s.Timeout
	}
	return steps
}

// put returns a command with the size and the parameters filled in.
func (s Spec) put(argv []string, size int64) []string {
	pairs := []string{"{size}", strconv.FormatInt(size, 10)}
	for name, value := range s.Params {
		pairs = append(pairs, "{"+name+"}", value)
	}
	r := strings.NewReplacer(pairs...)
	argv = slices.Clone(argv)
	for i := range argv {
		argv[i] = r.Replace(argv[i])
	}
	return argv
}

// read finds the metrics in the command's output.
func (s Spec) read(r StepResult, patterns map[string]*regexp.Regexp) (map[string]float64, error) {
	text := r.Output()
	if s.Expect != "" && !patterns[s.Expect].MatchString(text) {
		return nil, fault.Guestf("the output does not match the required pattern %s%s", tool.Quote(s.Expect), r.Said())
	}
	if s.Refuse != "" {
		if found := patterns[s.Refuse].FindString(text); patterns[s.Refuse].MatchString(text) {
			return nil, fault.Guestf("the output matches the forbidden pattern %s: %s", tool.Quote(s.Refuse), tool.Quote(found))
		}
	}
	m := map[string]float64{}
	for _, metric := range s.Metrics {
		var figures []string
		var err error
		switch {
		case metric.Over.At != nil:
			if err := metric.points(m, patterns[metric.Regex].FindAllStringSubmatch(text, -1)); err != nil {
				return nil, fault.Guestf("metric %s: %w", metric.Name, err)
			}
			continue
		case metric.Regex != "":
			for _, found := range patterns[metric.Regex].FindAllStringSubmatch(text, -1) {
				figures = append(figures, found[1])
			}
		case metric.JSON != "":
			figures, err = jsonFigure(r.Stdout, metric.JSON)
		default:
			figures, err = csvFigures(r.Stdout, metric.CSV)
		}
		if err == nil {
			m[metric.Name], err = metric.one(figures)
		}
		if err != nil {
			return nil, fault.Guestf("metric %s: %w", metric.Name, err)
		}
	}
	return m, nil
}

// points adds the points of a curve to m, of what its regular expression found: pairs of a value of the parameter and a
// figure.
func (m SpecMetric) points(into map[string]float64, found [][]string) error {
	figures := map[float64][]string{}
	for _, f := range found {
		at, err := tool.Number(strings.TrimSpace(f[1]))
		if err != nil {
			return err
		}
		figures[at] = append(figures[at], f[2])
	}
	for _, at := range m.Over.At {
		v, err := m.one(figures[at])
		if err != nil {
			return fmt.Errorf("%s %.10g: %w", m.Over.Parameter, at, err)
		}
		into[m.curve().Point(at)] = v
	}
	return nil
}

// one selects the figure that counts and converts it to the metric's unit.
func (m SpecMetric) one(figures []string) (float64, error) {
	n := len(figures)
	if n == 0 || n > 1 && m.Which == "" {
		return 0, fmt.Errorf("%d figures in the output instead of one", n)
	}
	figure := figures[0]
	if m.Which == "last" {
		figure = figures[n-1]
	}
	f, err := tool.Number(strings.TrimSpace(figure))
	if m.Scale != 0 {
		f *= m.Scale
	}
	return f, err
}

// jsonFigure returns the number at path in the first JSON value of the output.
// Other lines may precede the JSON.
func jsonFigure(output []byte, path string) ([]string, error) {
	text := string(output)
	at := strings.IndexAny(text, "{[")
	if at < 0 {
		return nil, errors.New("there is no JSON in the output")
	}
	var v any
	d := json.NewDecoder(strings.NewReader(text[at:]))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		return nil, fmt.Errorf("the output's JSON is damaged or cut off: %s", tool.Quote(err.Error()))
	}
	for i, step := range strings.Split(path, ".") {
		ok := false
		switch at := v.(type) {
		case map[string]any:
			v, ok = at[step]
		case []any:
			if n, err := strconv.Atoi(step); err == nil && n >= 0 && n < len(at) {
				v, ok = at[n], true
			}
		}
		if !ok {
			return nil, fmt.Errorf("the output's JSON has no %s", tool.Quote(strings.Join(strings.Split(path, ".")[:i+1], ".")))
		}
	}
	switch v := v.(type) {
	case json.Number:
		return []string{v.String()}, nil
	case string:
		return []string{v}, nil
	}
	return nil, fmt.Errorf("the value at %s in the output's JSON is not a number", tool.Quote(path))
}

// csvFigures returns the values of a column. column is its number or its name. The
// first line that contains the name is the header; the values are those of the
// lines after it that have as many columns.
func csvFigures(output []byte, column string) ([]string, error) {
	r := csv.NewReader(strings.NewReader(string(output)))
	r.FieldsPerRecord, r.LazyQuotes, r.TrimLeadingSpace = -1, true, true
	n, err := strconv.Atoi(column)
	named := err != nil
	at, width := n-1, 0
	var figures []string
	for {
		fields, err := r.Read()
		switch {
		case errors.Is(err, io.EOF):
			if named && width == 0 {
				return nil, fmt.Errorf("the output has no column %s", tool.Quote(column))
			}
			return figures, nil
		case err != nil:
			return nil, fmt.Errorf("the output is not comma-separated values: %s", tool.Quote(err.Error()))
		case named && width == 0:
			if at = slices.IndexFunc(fields, func(f string) bool { return strings.TrimSpace(f) == column }); at >= 0 {
				width = len(fields)
			}
		case named && len(fields) != width, !named && (at < 0 || at >= len(fields)):
		default:
			figures = append(figures, fields[at])
		}
	}
}
