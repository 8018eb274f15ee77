package tool

import (
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/tare-bench/tare/internal/fault"
)

var (
	fioTextGroup = line("groupid=", `^(\S[^\n]*?): \(groupid=\d+, jobs=(\d+)\): err= ?(\d+).*$`)
	fioTextHead  = regexp.MustCompile(`(?m)^([^\n]*): \(g=\d+\): rw=(\w+), .*ioengine=(\S+), iodepth=(\d+)`)
	fioTextSide  = regexp.MustCompile(`^ {2,3}(read|write|trim|mixed) ?: IOPS=([\d.]+)([kMG]?), BW=([\d.]+)([KMGT]?` +
		`i?B)/s [^\n]*\(([\d.]+)([KMGT]?i?B)/(\d+)msec\)`)
	// of --unified_rw_reporting=both; only the latencies are known
	fioTextNone = regexp.MustCompile(`^ {2,3}mixed: IOPS=0, BW=0 `)
	fioTextLat  = regexp.MustCompile(`^ +(c?lat) \(([num]?sec)\): .*avg= *([\d.]+)(k?)`)
	fioTextOps  = regexp.MustCompile(`^ +issued rwts: total=(\d+),(\d+),(\d+),(\d+) short=(\d+),(\d+),(\d+),(\d+) ` +
		`dropped=(\d+),(\d+),(\d+),(\d+)$`)
	fioTextEnd = regexp.MustCompile(`^ +latency +: target=`)
	fioTextAll = regexp.MustCompile(`^ +(READ|WRITE|TRIM|MIXED): bw=.*, io=.*, run=\d+-\d+msec$`)
	// fioTextHas are lines with words like avg=2.5k, of which a line with fsyncs is only a heading.
	fioTextHas  = regexp.MustCompile(`^( +)([\w ]*?)(?: \( *([\w/]+)\))? *:(.* \S+=.*)$`)
	fioTextPct  = regexp.MustCompile(`^ +(\w+) percentiles \((\w+)\):$`)
	fioTextBar  = regexp.MustCompile(`^ +\| (.*)$`)
	fioTextWord = regexp.MustCompile(fioWord)
	fioTextPair = regexp.MustCompile(`((?:>=)?[\w.]+)=\[? *(` + fioWord + `(?:[,/-]` + fioWord + `)*)`)
	fioUnit     = map[string]float64{
		"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40,
		"KB": 1e3, "kB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12,
		"": 1, "k": 1e3, "M": 1e6, "G": 1e9,
		"nsec": 1e-9, "usec": 1e-6, "msec": 1e-3, "sec": 1,
	}
	fioUnits = map[string]string{"nsec": "ns", "usec": "us", "msec": "ms", "sec": "s", "": "1"}
)

// fioWord is a number with its unit.
const fioWord = `\d[\d.]*(?:[kKMGT]?i?B(?:/s)?|msec|[kMG%])?`

// fioTextReader reads the text line by line.
type fioTextReader struct {
	details *Report
	runs    []fioRun
	side    string // of the lines that follow: a direction, or "fsync"
	percent string // the latency whose percentiles follow, and their unit
	unit    string
	open    bool // the figures of a job are not complete yet
	pending []string
}

// parseFioText reads the text. The printed rates are rounded, so tare calculates
// them from bytes, operations and run time, and only checks the printed ones.
func parseFioText(details *Report, text string) ([]fioRun, error) {
	r := &fioTextReader{details: details}
	for line := range strings.SplitSeq(text, "\n") {
		if err := r.read(line); err != nil {
			return nil, err
		}
	}
	if r.open || len(r.pending) > 0 {
		return nil, fault.Guestf("fio's output is incomplete: after the figures of %s, there is no line of all jobs",
			Quote(r.runs[len(r.runs)-1].name))
	}
	heads := map[string][]string{}
	for _, m := range fioTextHead.FindAllStringSubmatch(text, -1) {
		heads[quoteless(m[1])] = m
	}
	for i, run := range r.runs {
		if m := heads[run.name]; m != nil {
			r.runs[i].rw, r.runs[i].depth = m[2], fioDepth(m[3], m[4], number(run.depth))
		} else {
			r.runs[i].depth = 0
		}
	}
	return r.runs, nil
}

func (r *fioTextReader) read(line string) error {
	if m := fioTextGroup.re.FindStringSubmatch(line); m != nil {
		if m[3] != "0" {
			return fault.Guestf("fio failed: %s", Quote(line))
		}
		if r.open {
			return fault.Guestf("fio's output is incomplete before %s", Quote(line))
		}
		jobs, err := Number(m[2])
		if err != nil {
			return err
		}
		r.runs = append(r.runs, fioRun{name: quoteless(m[1]), depth: jobs})
		r.side, r.open = "", true
		return nil
	}
	if m := fioTextAll.FindStringSubmatch(line); m != nil {
		side := strings.ToLower(m[1])
		r.pending = slices.DeleteFunc(r.pending, func(s string) bool { return s == side })
		return r.pairs("all jobs "+side, "", strings.Replace(line, "), ", "), range=", 1))
	}
	if strings.HasPrefix(line, "Run status group") || strings.HasPrefix(line, "Disk stats") || !r.open && line == "" {
		r.side, r.percent = "", ""
		return nil
	}
	if len(r.runs) == 0 {
		return nil
	}
	run := &r.runs[len(r.runs)-1]
	if m := fioTextSide.FindStringSubmatch(line); m != nil {
		r.side = m[1]
		r.pending = append(r.pending, m[1])
		return run.sides[slices.Index(fioSides, m[1])].readFioText(m)
	}
	if fioTextNone.MatchString(line) {
		r.side = "mixed"
		r.pending = append(r.pending, r.side)
		return nil
	}
	if m := fioTextLat.FindStringSubmatch(line); m != nil && slices.Contains(fioSides, r.side) && strings.HasPrefix(line,
		"    ") {
		avg, err := Number(m[3])
		if err != nil {
			return err
		}
		s := &run.sides[slices.Index(fioSides, r.side)]
		avg *= fioUnit[m[2]] * fioUnit[m[4]]
		if m[1] == "clat" {
			s.clat = avg
		} else {
			s.lat = avg
		}
	}
	if m := fioTextOps.FindStringSubmatch(line); m != nil {
		if err := run.issued(m); err != nil {
			return err
		}
	}
	if fioTextEnd.MatchString(line) {
		r.open = false
	}
	return r.detail(line, run.name)
}

// detail adds the figures of a line that are not those of a fioSide.
func (r *fioTextReader) detail(line, job string) error {
	prefix := job + "\x00"
	if strings.HasPrefix(line, "  fsync/") {
		r.side = "fsync"
		return nil
	}
	if m := fioTextPct.FindStringSubmatch(line); m != nil {
		r.percent, r.unit = m[1]+" percentile", fioUnits[m[2]]
		return nil
	}
	if m := fioTextBar.FindStringSubmatch(line); m != nil && r.percent != "" {
		return r.pairs(strings.TrimSpace(prefix+r.side+" "+r.percent), r.unit, m[1])
	}
	m := fioTextHas.FindStringSubmatch(line)
	if m == nil {
		return nil
	}
	name := strings.TrimSpace(m[2])
	unit := m[3]
	switch {
	case name == "lat" && len(m[1]) == 2: // the distribution
		r.side, name, unit = "", "lat ("+m[3]+")", ""
	case len(m[1]) == 2 || name == "submit" || name == "complete" || name == "issued rwts" || name == "latency":
		r.side = ""
		if !r.open && name != "latency" {
			prefix, name = "", "disk "+name
		}
	}
	if printed, ok := fioUnits[unit]; ok {
		unit = printed
	}
	if name == "iops" {
		unit = "1/s"
	}
	return r.pairs(prefix+strings.TrimSpace(r.side+" "+quoteless(name)), unit, m[4])
}

// pairs adds the figures of words like avg=2.5k, min-max=1-2 and ios=34/73. unit is that of a bare number.
func (r *fioTextReader) pairs(name, unit, text string) error {
	for _, m := range fioTextPair.FindAllStringSubmatch(text, -1) {
		words := fioTextWord.FindAllString(m[2], -1)
		if strings.Contains(m[2], ",") && !slices.Contains([]string{"total", "short", "dropped"}, m[1]) {
			return damaged("fio", text) // a decimal comma
		}
		for i, word := range words {
			digits := strings.TrimRight(word, "kKMGTiB%/smec")
			v, err := Number(digits)
			if err != nil {
				return err
			}
			printed, of := strings.TrimSuffix(word[len(digits):], "/s"), unit
			switch {
			case printed == "%":
				of = "%"
			case printed == "msec":
				of = "ms"
			case strings.HasSuffix(printed, "B"):
				v, of = v*fioUnit[printed], "B"
				if strings.HasSuffix(name, " bw") || m[1] == "bw" || m[1] == "range" {
					of = "B/s"
				}
			case m[1] == "samples":
				of = "1"
			default:
				v *= fioUnit[printed]
			}
			key := m[1]
			if len(words) > 1 {
				key += " " + strconv.Itoa(i+1)
			}
			r.details.add(name+" "+key, v, of, "")
		}
	}
	return nil
}

// readFioText reads the line of a direction.
func (s *fioSide) readFioText(m []string) error {
	f, err := Numbers(m[2], m[4], m[6], m[8])
	if err != nil {
		return err
	}
	ms := f[3]
	*s = fioSide{runtime: ms / 1e3, bytes: f[2] * fioUnit[m[7]], rounded: ulp(m[6])}
	if s.runtime == 0 || s.bytes == 0 {
		return fault.Guestf("fio reports no data or no time: %s", Quote(m[0]))
	}
	s.bw, s.iops = s.bytes/s.runtime, f[0]*fioUnit[m[3]]
	s.iopsRounded = ulp(m[2])
	if bw := f[1] * fioUnit[m[5]]; math.Abs(bw-s.bw) > (0.001+ulp(m[4])+s.rounded+1/ms)*s.bw {
		return Contradiction("bandwidth × time is not the size: %s", Quote(m[0]))
	}
	return nil
}

// issued sets the numbers of operations of all directions. In a mixed report, they are those of the reads.
func (run *fioRun) issued(m []string) error {
	f, err := Numbers(m[1:]...)
	if err != nil {
		return err
	}
	for i := range run.sides {
		s, column := &run.sides[i], i
		if fioSides[i] == "mixed" {
			column = 0
		}
		if s.bytes == 0 {
			continue
		}
		s.ops, s.short, s.dropped = f[column], f[4+column], f[8+column]
		printed := s.iops
		s.iops = s.ops / s.runtime
		if math.Abs(printed-s.iops) > (0.001+s.iopsRounded+1/(1e3*s.runtime))*s.iops+1 {
			return Contradiction("IOPS × time is not the number of operations (%.0f): %s", s.ops, Quote(m[0]))
		}
	}
	return nil
}
