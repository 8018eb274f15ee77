package model

import (
	"math"
	"regexp"
	"strconv"
	"strings"
)

// Solo is the name of the scenario in which one guest runs at a time.
const Solo = "solo"

// ArmName is the name of an arm in results: the arm of the campaign, and the scenario that it is in.
type ArmName struct {
	Of       string // the arm without its scenario
	Scenario string
}

// String writes "lxc", or "lxc@four" in a scenario other than Solo.
func (n ArmName) String() string {
	if n.Scenario == Solo {
		return n.Of
	}
	return n.Of + "@" + n.Scenario
}

// Setting is the value of one option of an arm's system, or of one parameter of a workload.
type Setting struct{ Name, Value string }

// Values returns settings by name.
func Values(all []Setting) map[string]string {
	set := map[string]string{}
	for _, s := range all {
		set[s.Name] = s.Value
	}
	return set
}

// ParseSettings reads "threads=4,time=1". Text after a comma that is not a name with a value belongs to the
// value before it. ok is false if the text does not begin with a name and a value.
func ParseSettings(text string) (all []Setting, ok bool) {
	for part := range strings.SplitSeq(text, ",") {
		name, value, named := strings.Cut(part, "=")
		switch name = strings.TrimSpace(name); {
		case named && name != "":
			all = append(all, Setting{name, value})
		case all == nil:
			return nil, false
		default:
			all[len(all)-1].Value += "," + part
		}
	}
	return all, true
}

// Series is the name of a workload in results, which may have it several times with different values of
// its parameters.
type Series struct {
	Workload string
	Params   []Setting
}

// String writes "sysbench-cpu", or "sysbench-cpu[threads=4,time=1]" with parameters.
func (s Series) String() string {
	if len(s.Params) == 0 {
		return s.Workload
	}
	return s.Workload + "[" + s.Settings() + "]"
}

// Settings writes the parameters alone: "threads=4,time=1".
func (s Series) Settings() string {
	parts := make([]string, len(s.Params))
	for i, p := range s.Params {
		parts[i] = p.Name + "=" + p.Value
	}
	return strings.Join(parts, ",")
}

// ParseSeries reads what String writes.
func ParseSeries(text string) Series {
	workload, list, _ := strings.Cut(strings.TrimSuffix(text, "]"), "[")
	params, _ := ParseSettings(list)
	return Series{workload, params}
}

// Point is the name of a metric that is one point of a curve: a quantity that each trial measures at several values of
// a parameter, such as a rate by the length of messages.
type Point struct {
	Curve     string  // the quantity: "rate"
	Parameter string  // what varies: "length"
	At        float64 // its value, above 0
	Unit      string  // of At: "B"
}

// String writes "rate[length=65536B]".
func (p Point) String() string {
	return p.Curve + "[" + p.Parameter + "=" + strconv.FormatFloat(p.At, 'f', -1, 64) + p.Unit + "]"
}

var pointName = regexp.MustCompile(`^([^\[\]=]+)\[([^\[\]=]+)=([0-9.]{1,24})([^\[\]=0-9.]*)\]$`)

// ParsePoint reads what String writes; ok is false for the name of any other metric.
func ParsePoint(name string) (p Point, ok bool) {
	m := pointName.FindStringSubmatch(name)
	if m == nil {
		return Point{}, false
	}
	at, err := strconv.ParseFloat(m[3], 64)
	p = Point{m[1], m[2], at, m[4]}
	return p, err == nil && at > 0 && !math.IsInf(at, 0) && p.String() == name
}
