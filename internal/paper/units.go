package paper

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// seconds are the units of time, in seconds.
var seconds = map[string]float64{
	"s": 1, "sec": 1, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ns": 1e-9, "min": 60, "h": 3600,
}

// bytesPer are the units of data, in bytes. Units with two common meanings, 1000 and
// 1024, have both.
var bytesPer = map[string][]float64{
	"B": {1}, "bytes": {1}, "kB": {1e3, 1 << 10}, "KB": {1e3, 1 << 10}, "K": {1 << 10, 1e3}, "KiB": {1 << 10},
	"MB": {1e6}, "MiB": {1 << 20}, "GB": {1e9}, "GiB": {1 << 30},
	"Mb": {1e6 / 8}, "Gb": {1e9 / 8}, "TB": {1e12}, "TiB": {1 << 40},
	"bit": {1. / 8}, "kbit": {1e3 / 8}, "Mbit": {1e6 / 8}, "Gbit": {1e9 / 8}, "10^6 bit": {1e6 / 8},
}

// splitUnit separates a unit from its remark: "MB/s (dd)".
func splitUnit(unit string) (bare, remark string) {
	bare, remark, _ = strings.Cut(unit, "(")
	return strings.TrimSpace(bare), strings.TrimSuffix(strings.TrimSpace(remark), ")")
}

// timeUnit returns a unit of time in seconds, or false.
func timeUnit(unit string) (float64, bool) {
	bare, _ := splitUnit(unit)
	s, ok := seconds[bare]
	return s, ok
}

// rateUnit returns a unit of data rates in bytes per second, or false.
func rateUnit(unit string) ([]float64, bool) {
	bare, _ := splitUnit(unit)
	data, ok := strings.CutSuffix(bare, "/s")
	if !ok {
		return nil, false
	}
	factors, ok := bytesPer[data]
	return factors, ok
}

// counted are the other units that tare knows. They convert to nothing else.
var counted = []string{
	"1", "%", "%CP", "index", "score", "points", "IOPS", "1/s", "operations/s", "ops/s", "requests/s", "transactions/s",
	"queries/s", "events/s",
	"files/s", "pages/s", "packets/s", "seeks/s", "MFLOPS", "GFLOPS", "BogoMIPS", "cycles", "W",
}

// measure is what a unit measures, and how much of it one unit is. Units with two common
// meanings have two factors.
type measure struct {
	dimension string // "s", "B", "B/s", or the unit itself
	factors   []float64
}

var (
	powerOfTen = regexp.MustCompile(`^10\^([0-9]{1,2}) (.+)$`)
	blockUnit  = regexp.MustCompile(`^([0-9]{1,7})-byte blocks$`)
)

// measureOf returns what a unit means, with or without a remark; false: tare does not
// know the unit.
func measureOf(unit string) (measure, bool) {
	bare, _ := splitUnit(unit)
	if m := blockUnit.FindStringSubmatch(bare); m != nil {
		n, _ := strconv.ParseFloat(m[1], 64)
		return measure{"B", []float64{n}}, true
	}
	if s, ok := seconds[bare]; ok {
		return measure{"s", []float64{s}}, true
	}
	if data, ok := bytesPer[bare]; ok {
		return measure{"B", data}, true
	}
	if rate, ok := rateUnit(bare); ok {
		return measure{"B/s", rate}, true
	}
	if m := powerOfTen.FindStringSubmatch(bare); m != nil {
		of, ok := measureOf(m[2])
		places, _ := strconv.Atoi(m[1])
		scaled := make([]float64, len(of.factors))
		for i, factor := range of.factors {
			scaled[i] = factor * power10(places)
		}
		return measure{of.dimension, scaled}, ok
	}
	return measure{bare, []float64{1}}, slices.Contains(counted, bare)
}

// measure is measureOf with the units that the article declares.
func (a *Article) measure(unit string) (measure, bool) {
	bare, _ := splitUnit(unit)
	of := bare
	if m := powerOfTen.FindStringSubmatch(bare); m != nil {
		of = m[2]
	}
	if slices.Contains(a.Units, of) {
		m, _ := measureOf(bare)
		return m, true
	}
	return measureOf(bare)
}

// scale returns one of r's unit in the unit of like; false: they do not convert.
func (a *Article) scale(r, like *Row) (float64, bool) {
	if have, _ := splitUnit(r.Unit); have == like.unit() {
		return 1, true
	}
	have, ok := a.measure(r.Unit)
	want, ok2 := a.measure(like.Unit)
	if !ok || !ok2 || have.dimension != want.dimension {
		return 0, false
	}
	return have.factors[0] / want.factors[0], true
}

// unit returns a row's unit without its remark.
func (r *Row) unit() string {
	bare, _ := splitUnit(r.Unit)
	return bare
}

// alternative reports whether two rows have different units that convert, and the same
// remark: then they are in different units only in words.
func (a *Article) alternative(r, o *Row) bool {
	_, remark := splitUnit(r.Unit)
	_, other := splitUnit(o.Unit)
	_, ok := a.scale(r, o)
	return ok && r.unit() != o.unit() && remark == other
}

// sameLine reports whether two figures are of one line of a table, in units that convert.
func (a *Article) sameLine(r, o *Row) bool {
	return r.Table == o.Table && r.Workload == o.Workload && r.Scenario == o.Scenario && r.Statistic == o.Statistic &&
		(r.Unit == o.Unit || a.alternative(r, o))
}

// like returns s in the unit of other; s itself if one is a constant, or if their units
// do not convert.
func (a *Article) like(s, other *side) *side {
	if s == nil || other == nil || s.any() == nil || other.any() == nil {
		return s
	}
	scale, ok := a.scale(s.any(), other.any())
	if !ok || scale == 1 {
		return s
	}
	converted := *s
	converted.number = s.number.times(scale)
	return &converted
}

// any returns a row with the unit of a side; nil: it is a constant.
func (s *side) any() *Row {
	if s.row == nil && len(s.rows) > 0 {
		return s.rows[0]
	}
	return s.row
}

// times returns n in a unit of which one is scale of n's.
func (n Number) times(scale float64) Number { return Number{n.Value * scale, n.Resolution * scale} }

// knownUnits are the names of all units that tare knows, for messages.
func knownUnits() []string {
	list := slices.Clone(counted)
	for unit := range seconds {
		list = append(list, unit)
	}
	for unit := range bytesPer {
		list = append(list, unit, unit+"/s")
	}
	slices.Sort(list)
	return list
}

// ddUnits are the suffixes of dd's numbers.
var ddUnits = map[string]float64{
	"": 1, "c": 1, "w": 2, "b": 512, "k": 1 << 10, "K": 1 << 10, "kB": 1e3, "KB": 1e3, "KiB": 1 << 10,
	"M": 1 << 20, "MB": 1e6, "MiB": 1 << 20, "G": 1 << 30, "GB": 1e9, "GiB": 1 << 30,
}

var (
	ddBlock  = regexp.MustCompile(`\bdd\b.*\bbs=([0-9]{1,12})([A-Za-z]{0,3})\b`)
	ddCount  = regexp.MustCompile(`\bdd\b.*\bcount=([0-9]{1,12})\b`)
	fioDepth = regexp.MustCompile(`\bfio\b.*-iodepth[= ]([0-9]{1,6})\b`)
	fioBlock = regexp.MustCompile(`\bfio\b.*-(?:bs|blocksize)[= ]([0-9]{1,12})([A-Za-z]{0,3})\b`)
	fioJobs  = regexp.MustCompile(`-numjobs[= ]([0-9]{1,6})\b`)
)

// size returns how many bytes r's workload moves, from the file or from a dd command
// line in the workload's words. 0: not known.
func (r *Row) size() float64 {
	if r.SizeBytes > 0 {
		return r.SizeBytes
	}
	block, count := ddBlock.FindStringSubmatch(r.Workload), ddCount.FindStringSubmatch(r.Workload)
	if block == nil || count == nil {
		return 0
	}
	bs, _ := strconv.ParseFloat(block[1], 64)
	n, _ := strconv.ParseFloat(count[1], 64)
	return bs * ddUnits[block[2]] * n
}

// blockSize returns the size of one operation in bytes, from a fio command line in the
// workload's words, whose units are powers of 1024. 0: not known.
func (r *Row) blockSize() float64 {
	m := fioBlock.FindStringSubmatch(r.Workload)
	if m == nil {
		return 0
	}
	n, _ := strconv.ParseFloat(m[1], 64)
	return n * ddUnits[strings.ToUpper(strings.TrimRight(m[2], "iB"))]
}

// depth returns how many operations r's workload keeps in flight, from the file or
// from a fio command line in the workload's words. 0: not known.
func (r *Row) depth() float64 {
	if r.Depth > 0 {
		return r.Depth
	}
	m := fioDepth.FindStringSubmatch(r.Workload)
	if m == nil {
		return 0
	}
	depth, _ := strconv.ParseFloat(m[1], 64)
	if jobs := fioJobs.FindStringSubmatch(r.Workload); jobs != nil {
		n, _ := strconv.ParseFloat(jobs[1], 64)
		depth *= n
	}
	return depth
}
