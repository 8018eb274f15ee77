package tool

import (
	"cmp"
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
	// Versions 2.14 to 2.99 leave out the B of some units.
	fioTextSide = regexp.MustCompile(`^ *(read|write|trim|mixed) ?: IOPS=([\d.]+)([kMG]?), BW=([\d.]+)([KMGT]?` +
		`i?B?)(?:/s)? [^\n]*\(([\d.]+)([KMGT]?i?B?)/(\d+)msec\)`)
	// Version 2 and before: K is 1024 in amounts and rates of data, and 1000 elsewhere.
	fioTextSide2 = regexp.MustCompile(`^ *(read|write|trim|mixed) ?: io=([\d.]+)([KMGT]?)i?B?, bw=([\d.]+)([KMGT]?)i?B?/s, ` +
		`iops=([\d.]+)([kKMG]?) ?, runt= *(\d+)msec`)
	fioTextOf     = regexp.MustCompile(`\(groupid=(\d+),`)
	fioTextStatus = regexp.MustCompile(`^Run status group (\d+)`)
	// fioTextPart is the line of a direction, in any version.
	fioTextPart    = regexp.MustCompile(`(?m)^ *(?:read|write|trim|READ|WRITE|TRIM) ?: (?:IOPS=|io=|bw=).*msec`)
	fioTextVersion = regexp.MustCompile(`(?m)^fio[- ](\d[\w.]*(?:-[\w.]+)*)$`)
	// of --unified_rw_reporting=both; only the latencies are known
	fioTextNone = regexp.MustCompile(`^ {2,3}mixed: IOPS=0, BW=0 `)
	fioTextLat  = regexp.MustCompile(`^ +(c?lat) \(([num]?sec)\): .*avg= *([\d.]+)([kKM]?)`)
	fioTextOps  = regexp.MustCompile(`^ +issued rwts?: total=(\d+),(\d+),(\d+)(?:,(\d+))?,? short=(\d+),(\d+),(\d+)(?:,(\d+))?,? ` +
		`dropped=(\d+),(\d+),(\d+)(?:,(\d+))?$`)
	fioTextOps2 = regexp.MustCompile(`^ +issued +(?:: total=r=(\d+)/w=(\d+)/d=(\d+), short=r=(\d+)/w=(\d+)/d=(\d+)` +
		`(?:, drop=r=(\d+)/w=(\d+)/d=(\d+))?|r/w/d: total=(\d+)/(\d+)/(\d+), short=(\d+)/(\d+)/(\d+))$`)
	fioTextEnd = regexp.MustCompile(`^ +latency +: target=`)
	fioTextAll = regexp.MustCompile(`^ *(READ|WRITE|TRIM|MIXED): (?:bw=.*, io=.*, run=\d+-\d+msec|io=.*, aggrb=.*, maxt=\d+msec)$`)
	// fioTextHas are lines with words like avg=2.5k, of which a line with fsyncs is only a heading.
	fioTextHas  = regexp.MustCompile(`^( +)([\w -]*?)(?: \( *([\w/ ]+)\))? *:(.* \S+=.*)$`)
	fioTextPct  = regexp.MustCompile(`^ +(\w+) percentiles \((\w+)\):$`)
	fioTextBar  = regexp.MustCompile(`^ +\| (.*)$`)
	fioTextWord = regexp.MustCompile(fioWord)
	fioTextPair = regexp.MustCompile(`((?:>=)?[\w.]+)=\[? *(` + fioWord + `(?:[,/-]` + fioWord + `)*)`)
	fioUnit     = map[string]float64{
		"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40,
		"Ki": 1 << 10, "Mi": 1 << 20, "Gi": 1 << 30, "Ti": 1 << 40,
		"KB": 1e3, "kB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12,
		"": 1, "k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12,
		"nsec": 1e-9, "usec": 1e-6, "msec": 1e-3, "sec": 1,
	}
	fioUnits = map[string]string{"nsec": "ns", "usec": "us", "msec": "ms", "sec": "s", "": "1"}
	// fioUnit2 are the units of data in version 2.
	fioUnit2  = map[string]float64{"B": 1, "KB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30, "TB": 1 << 40}
	fioUnits2 = map[string]string{"B/s": "B/s", "KB/s": "KiB/s", "MB/s": "MiB/s", "GB/s": "GiB/s"}
)

// fioWord is a number with its unit.
const fioWord = `\d[\d.]*(?:[kKMGT]?i?B(?:/s)?|msec|[kKMGT]i|[kKMG%])?`

// fioTextReader reads the text line by line.
type fioTextReader struct {
	details *Report
	runs    []fioRun
	side    string // of the lines that follow: a direction, or "fsync"
	percent string // the latency whose percentiles follow, and their unit
	unit    string
	open    bool   // the figures of a job are not complete yet
	old     bool   // the output is that of version 2 or before
	group   string // of the job whose figures follow
	status  string // the group whose lines of all jobs follow
	pending []string
}

// parseFioText reads the text. The printed rates are rounded, so tare calculates
// them from bytes, operations and run time, and only checks the printed ones.
func parseFioText(details *Report, text string) ([]fioRun, error) {
	r := &fioTextReader{details: details}
	if m := fioTextVersion.FindStringSubmatch(text); m != nil {
		details.Version = m[1]
	}
	if fioTextGroup.find(text) == "" { // a part that somebody published
		r.runs, r.open = []fioRun{{part: true}}, true
		if err := details.doubt(fault.Guestf("fio's output is incomplete: it has no line with groupid and err")); err != nil {
			return nil, err
		}
	}
	for line := range strings.SplitSeq(text, "\n") {
		if err := r.read(line); err != nil {
			return nil, err
		}
	}
	if r.open || len(r.pending) > 0 {
		if err := details.doubt(fault.Guestf("fio's output is incomplete: after the figures of %s, there is no line of "+
			"all jobs", Quote(r.runs[len(r.runs)-1].name))); err != nil {
			return nil, err
		}
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
		r.group = fioTextOf.FindStringSubmatch(line)[1] + " "
		if m[3] != "0" {
			if err := r.details.doubt(fault.Guestf("fio failed: %s", Quote(line))); err != nil {
				return err
			}
		}
		if r.open && !r.old {
			return fault.Guestf("fio's output is incomplete before %s", Quote(line))
		}
		jobs, err := Number(m[2])
		if err != nil {
			return err
		}
		r.runs = append(r.runs, fioRun{name: quoteless(m[1]), depth: jobs, failed: r.details.number(m[3])})
		r.side, r.open = "", true
		return nil
	}
	if m := fioTextAll.FindStringSubmatch(line); m != nil {
		side := strings.ToLower(m[1])
		r.pending = slices.DeleteFunc(r.pending, func(s string) bool {
			return s == r.status+side || r.status == "" && strings.HasSuffix(s, side)
		})
		return r.pairs("all jobs "+side, "", strings.Replace(line, "), ", "), range=", 1))
	}
	if m := fioTextStatus.FindStringSubmatch(line); m != nil {
		r.status = m[1] + " "
	}
	if strings.HasPrefix(line, "Run status group") || strings.HasPrefix(line, "Disk stats") || !r.open && line == "" {
		r.side, r.percent = "", ""
		if r.old { // version 1 ends the figures of a job with nothing else
			r.open = false
		}
		return nil
	}
	if len(r.runs) == 0 {
		return nil
	}
	run := &r.runs[len(r.runs)-1]
	if fioTextNone.MatchString(line) {
		r.side = "mixed"
		r.pending = append(r.pending, r.group+r.side)
		return nil
	}
	if m := fioTextSide.FindStringSubmatch(line); m != nil {
		r.side = m[1]
		r.pending = append(r.pending, r.group+m[1])
		return r.details.doubt(run.sides[slices.Index(fioSides, m[1])].readFioText(m))
	}
	if m := fioTextSide2.FindStringSubmatch(line); m != nil {
		r.side, r.old = m[1], true
		r.details.Version = cmp.Or(r.details.Version, "2 or before")
		r.pending = append(r.pending, r.group+m[1])
		side := &run.sides[slices.Index(fioSides, m[1])]
		// The words in the order and with the units of version 3.
		err := side.readFioText([]string{m[0], m[1], m[6], m[7], m[4], binaryUnit(m[5]), m[2], binaryUnit(m[3]), m[8]})
		side.printed.bw, side.printed.size = m[4]+m[5]+"B/s", m[2]+m[3]+"B"
		return r.details.doubt(err)
	}
	if m := fioTextLat.FindStringSubmatch(line); m != nil && slices.Contains(fioSides, r.side) && strings.HasPrefix(line,
		"    ") {
		avg, err := Number(m[3])
		if err != nil {
			return err
		}
		s := &run.sides[slices.Index(fioSides, r.side)]
		avg *= fioUnit[m[2]] * fioUnit[m[4]]
		printed := m[3] + m[4] + " " + m[2]
		if m[1] == "clat" {
			s.clat, s.printed.clat = avg, printed
		} else {
			s.lat, s.printed.lat = avg, printed
		}
	}
	if m := fioTextOps.FindStringSubmatch(line); m != nil {
		if err := r.details.doubt(run.issued(m)); err != nil {
			return err
		}
	}
	if m := fioTextOps2.FindStringSubmatch(line); m != nil {
		return r.issued(run, m)
	}
	if fioTextEnd.MatchString(line) {
		r.open = false
	}
	return r.detail(line, run.name)
}

// binaryUnit is the unit of version 3 for that of an amount of data in version 2.
func binaryUnit(prefix string) string {
	if prefix == "" {
		return "B"
	}
	return prefix + "iB"
}

// issued reads the numbers of operations in the form of version 2, or of version 1.
func (r *fioTextReader) issued(run *fioRun, m []string) error {
	words := slices.Clone(m[1:10])
	if m[10] != "" {
		words = append(slices.Clone(m[10:]), "", "", "")
	}
	all := []string{m[0]}
	for i, kind := range []string{"total", "short", "dropped"} {
		for j, side := range fioSides[:3] {
			if word := words[3*i+j]; word != "" {
				r.details.add(run.name+"\x00issued "+kind+" "+side, r.details.number(word), "1", "")
			}
		}
		all = append(append(all, words[3*i:3*i+3]...), "")
	}
	r.side = ""
	return r.details.doubt(run.issued(all))
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
	unit := strings.ReplaceAll(m[3], " ", "")
	if of, ok := fioUnits2[unit]; ok && r.old {
		unit = of
	}
	switch {
	case name == "lat" && !strings.Contains(line, "min="): // the distribution
		r.side, name, unit = "", "lat ("+unit+")", ""
	case len(m[1]) == 2 || !r.open && strings.Contains(m[4], " ios=") || name == "submit" || name == "complete" ||
		strings.HasPrefix(name, "issued rwt") || name == "latency":
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
			if i+1 < len(words) && digits == word && strings.Contains(m[2], "-") { // 1-2msec
				last := words[len(words)-1]
				word += last[len(strings.TrimRight(last, "kKMGTiB%/smec")):]
			}
			suffix := word[len(digits):]
			printed, of, factor := strings.TrimSuffix(suffix, "/s"), unit, 1.
			switch {
			case printed == "%":
				of = "%"
			case printed == "msec":
				of = "ms"
			case strings.HasSuffix(printed, "B"):
				of, factor = "B", fioUnit[printed]
				if two, ok := fioUnit2[printed]; ok && r.old {
					factor = two
				}
				if strings.HasSuffix(name, " bw") || suffix != printed {
					of = "B/s"
				}
			case strings.HasSuffix(printed, "i"):
				of, factor = "B", fioUnit[printed]
				if m[1] == "bw" || m[1] == "range" {
					of = "B/s"
				}
			case m[1] == "samples":
				of = "1"
			default:
				factor = fioUnit[printed]
			}
			key := m[1]
			if len(words) > 1 {
				key += " " + strconv.Itoa(i+1)
			}
			if of == "%" || of == "ms" {
				suffix = ""
			}
			r.details.addScaled(name+" "+key, digits, suffix, factor, of, "")
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
	s.printed.iops, s.printed.bw, s.printed.size = m[2]+m[3], m[4]+m[5]+"/s", m[6]+m[7]
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
	words := slices.Clone(m[1:])
	for i, word := range words { // some versions do not count syncs, or drops
		words[i] = cmp.Or(word, "0")
	}
	f, err := Numbers(words...)
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
