package tool

import (
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/tare-bench/tare/internal/fault"
)

// fioRun is one job, or one group of equal jobs, of fio.
type fioRun struct {
	name        string  // of the job, "" if the output does not say
	rw          string  // --rw, "" if the output does not say
	depth       float64 // operations in flight, 0 if the output does not say
	read, write fioSide
}

// fioSide is one direction of a run. Zero: the output does not say.
type fioSide struct {
	bytes, bw, iops, ops float64
	short, dropped       float64
	runtime              float64 // seconds
	clat, lat            float64 // mean, seconds
	rounded              float64 // relative rounding error of bytes and bw
}

// consistent checks that the figures are of one run: each rate × time is the
// amount of work, and latency × rate does not exceed the operations in flight.
func (s fioSide) consistent(depth float64) error {
	if s.runtime == 0 {
		return nil
	}
	const ms, slack = 0.001, 0.001 // fio rounds run times to milliseconds
	if got := s.bw * s.runtime; math.Abs(got-s.bytes) > (slack+s.rounded)*s.bytes+s.bw*ms {
		return Contradiction("bandwidth × time is not the size: %.0f B/s × %v s, but %.0f bytes", s.bw, s.runtime, s.bytes)
	}
	if got := s.iops * s.runtime; s.ops != 0 && s.iops != 0 && math.Abs(got-s.ops) > slack*s.ops+s.iops*ms+s.runtime {
		return Contradiction("IOPS × time is not the number of operations: %.1f/s × %v s, but %.0f", s.iops, s.runtime, s.ops)
	}
	if got := s.lat * s.iops; depth != 0 && got > depth*(1.05+ms/s.runtime) {
		return Contradiction("latency × IOPS is more than the depth: %v s × %.1f/s with %.0f in flight", s.lat, s.iops, depth)
	}
	return nil
}

var (
	fioTerse = line(";fio-", `^[345];fio-.*$`)
	fioError = line("fio: ", `^fio: .*(?:err=|error|No space left|unrecognized|failed).*$`)
)

// readFio reads fio's JSON, the text output of fio 3, and terse lines (versions 3 to 5). Warnings may
// precede and follow them. It says the number of "jobs" (a group counts as one), and the "rw" of each;
// with several jobs, names begin with the job's.
func readFio(text string, r *Report) error {
	runs, err := parseFio(text)
	if err != nil {
		return err
	}
	r.say("jobs", strconv.Itoa(len(runs)))
	for _, run := range runs {
		job := ""
		if len(runs) > 1 {
			job = run.name + " "
		}
		r.say(job+"rw", run.rw)
		if err := run.read.figures(r, job+"read ", run.depth); err != nil {
			return err
		}
		if err := run.write.figures(r, job+"write ", run.depth); err != nil {
			return err
		}
		r.add(job+"error code", 0, "", Lower) // others are errors
	}
	return nil
}

func (s fioSide) figures(r *Report, name string, depth float64) error {
	if s.bytes == 0 {
		return nil
	}
	r.add(name+"bandwidth", s.bw, "B/s", Higher)
	r.add(name+"bandwidth", s.bw/(1<<20), "MiB/s", Higher)
	r.add(name+"IOPS", s.iops, "1/s", Higher)
	r.add(name+"mean completion latency", s.clat*1e9, "ns", Lower)
	r.add(name+"mean latency", s.lat*1e9, "ns", Lower)
	r.seconds(name+"run time", s.runtime)
	r.add(name+"size", s.bytes, "B", "")
	if s.ops != 0 {
		r.add(name+"operations", s.ops, "1", "")
		r.add(name+"short operations", s.short, "1", Lower)
		r.add(name+"dropped operations", s.dropped, "1", Lower)
	}
	return s.consistent(depth)
}

func parseFio(text string) ([]fioRun, error) {
	if line := fioError.find(text); line != "" {
		return nil, fault.Guestf("fio failed: %s", Quote(line))
	}
	if at := jsonAt(text); at >= 0 {
		return parseFioJobs(text[at:])
	}
	var run fioRun
	var err error
	if lines := fioTerse.all(text); lines != nil {
		if len(lines) > 1 {
			return nil, fault.Guestf("the output is of %d jobs; run fio with --group_reporting", len(lines))
		}
		run, err = parseFioTerse(lines[0][0])
	} else if fioTextGroup.find(text) != "" {
		run, err = parseFioText(text)
	} else if err = refused("fio", text); err == nil {
		err = fault.WithRemedy(fault.Guestf("this is not output of fio 3: %s", Quote(text)),
			"run fio with --output-format=json")
	}
	return []fioRun{run}, err
}

// parseFioJobs reads fio's JSON and returns a run for each job or group.
func parseFioJobs(text string) ([]fioRun, error) {
	type latency struct {
		Mean float64 `json:"mean"`
	}
	type side struct {
		IOBytes  float64 `json:"io_bytes"`
		BWBytes  float64 `json:"bw_bytes"`
		IOPS     float64 `json:"iops"`
		Runtime  float64 `json:"runtime"`
		TotalIOs float64 `json:"total_ios"`
		ShortIOs float64 `json:"short_ios"`
		DropIOs  float64 `json:"drop_ios"`
		Clat     latency `json:"clat_ns"`
		Lat      latency `json:"lat_ns"`
	}
	var doc struct {
		Global map[string]any `json:"global options"`
		Jobs   []struct {
			Name    string         `json:"jobname"`
			Error   float64        `json:"error"`
			Options map[string]any `json:"job options"`
			Read    side           `json:"read"`
			Write   side           `json:"write"`
		} `json:"jobs"`
	}
	if err := json.NewDecoder(strings.NewReader(text)).Decode(&doc); err != nil {
		return nil, fault.Guestf("fio's JSON is damaged or cut off: %w", err)
	}
	if len(doc.Jobs) == 0 {
		return nil, fault.Guestf("fio's JSON has no jobs")
	}
	convert := func(s side) fioSide {
		return fioSide{
			bytes: s.IOBytes, bw: s.BWBytes, iops: s.IOPS, ops: s.TotalIOs, short: s.ShortIOs, dropped: s.DropIOs,
			runtime: s.Runtime / 1e3, clat: s.Clat.Mean / 1e9, lat: s.Lat.Mean / 1e9,
		}
	}
	var runs []fioRun
	for _, job := range doc.Jobs {
		if job.Error != 0 {
			return nil, fault.Guestf("fio failed: \"error\" : %.0f", job.Error)
		}
		option := func(name, otherwise string) string {
			for _, from := range []map[string]any{job.Options, doc.Global} {
				if v, ok := from[name]; ok {
					return fmt.Sprint(v)
				}
			}
			return otherwise
		}
		runs = append(runs, fioRun{
			name:  job.Name,
			rw:    option("rw", option("readwrite", "")),
			depth: fioDepth(option("ioengine", "psync"), option("iodepth", "1"), option("numjobs", "1")),
			read:  convert(job.Read), write: convert(job.Write),
		})
	}
	return runs, nil
}

// fioDepth returns how many operations can be in flight; 0: not known.
func fioDepth(engine, iodepth, jobs string) float64 {
	n, err := Number(jobs)
	if err != nil {
		return 0
	}
	switch engine {
	case "sync", "psync", "vsync", "pvsync", "pvsync2", "mmap":
		return n // synchronous: --iodepth has no effect
	}
	d, err := Number(iodepth)
	if err != nil {
		return 0
	}
	return n * d
}

var (
	fioTextGroup = line("groupid=", `^[^\n]*: \(groupid=\d+, jobs=(\d+)\): err= ?(\d+).*$`)
	fioTextHead  = regexp.MustCompile(`(?m)^[^\n]*: \(g=\d+\): rw=(\w+), .*ioengine=(\S+), iodepth=(\d+)`)
	fioTextSide  = regexp.MustCompile(`(?m)^  (read|write): IOPS=([\d.]+)([kMG]?), BW=([\d.]+)([KMGT]?i?B)/s [^\n]*\(([\d.]+)([KMGT]?i?B)/(\d+)msec\)`)
	fioTextLat   = regexp.MustCompile(`(?m)^ +(c?lat) \(([num]?sec)\): [^\n]*avg= *([\d.]+)(k?)`)
	fioTextOps   = regexp.MustCompile(`(?m)^ +issued rwts: total=(\d+),(\d+),\d+,\d+ short=(\d+),(\d+),\d+,\d+ dropped=(\d+),(\d+),`)
	fioUnit      = map[string]float64{
		"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40,
		"KB": 1e3, "kB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12,
		"": 1, "k": 1e3, "M": 1e6, "G": 1e9,
		"nsec": 1e-9, "usec": 1e-6, "msec": 1e-3, "sec": 1,
	}
)

// parseFioText reads the text. The printed rates are rounded, so tare calculates
// them from bytes, operations and run time, and only checks the printed ones.
func parseFioText(text string) (fioRun, error) {
	group := fioTextGroup.all(text)
	if len(group) != 1 {
		return fioRun{}, fault.Guestf("the output is of %d jobs instead of one or one group", len(group))
	}
	if group[0][2] != "0" {
		return fioRun{}, fault.Guestf("fio failed: %s", Quote(group[0][0]))
	}
	var run fioRun
	if m := fioTextHead.FindStringSubmatch(text); m != nil {
		run.rw, run.depth = m[1], fioDepth(m[2], m[3], group[0][1])
	}
	sides := fioTextSide.FindAllStringSubmatchIndex(text, -1)
	ops := fioTextOps.FindStringSubmatch(text)
	if len(sides) == 0 || ops == nil {
		return fioRun{}, fault.Guestf("fio's output is incomplete after %s", Quote(group[0][0]))
	}
	issued, err := Numbers(ops[1:]...)
	if err != nil {
		return fioRun{}, err
	}
	for i, at := range sides {
		m := fioTextSide.FindStringSubmatch(text[at[0]:at[1]])
		f, err := Numbers(m[2], m[4], m[6], m[8])
		if err != nil {
			return fioRun{}, err
		}
		ms := f[3]
		s := fioSide{runtime: ms / 1e3, bytes: f[2] * fioUnit[m[7]], rounded: ulp(m[6])}
		if s.runtime == 0 || s.bytes == 0 {
			return fioRun{}, fault.Guestf("fio reports no data or no time: %s", Quote(m[0]))
		}
		dst, col := &run.read, 0
		if m[1] == "write" {
			dst, col = &run.write, 1
		}
		s.ops, s.short, s.dropped = issued[col], issued[2+col], issued[4+col]
		s.bw, s.iops = s.bytes/s.runtime, s.ops/s.runtime
		if bw := f[1] * fioUnit[m[5]]; math.Abs(bw-s.bw) > (0.001+ulp(m[4])+s.rounded+1/ms)*s.bw {
			return fioRun{}, Contradiction("bandwidth × time is not the size: %s", Quote(m[0]))
		}
		if iops := f[0] * fioUnit[m[3]]; math.Abs(iops-s.iops) > (0.001+ulp(m[2])+1/ms)*s.iops+1 {
			return fioRun{}, Contradiction("IOPS × time is not the number of operations (%.0f): %s", s.ops, Quote(m[0]))
		}
		end := len(text)
		if i+1 < len(sides) {
			end = sides[i+1][0]
		}
		for _, l := range fioTextLat.FindAllStringSubmatch(text[at[1]:end], -1) {
			avg, err := Number(l[3])
			if err != nil {
				return fioRun{}, err
			}
			avg *= fioUnit[l[2]] * fioUnit[l[4]]
			if l[1] == "clat" {
				s.clat = avg
			} else {
				s.lat = avg
			}
		}
		*dst = s
	}
	return run, nil
}

// ulp returns one unit in the last place of a printed number, relative to it.
func ulp(s string) float64 {
	f, err := Number(s)
	if err != nil || f == 0 {
		return 1
	}
	_, decimals, _ := strings.Cut(s, ".")
	return math.Pow10(-len(decimals)) / f
}

// parseFioTerse reads a line of --output-format=terse: five fields, then one group
// of fields for reading and one for writing. Each group begins with KiB, KiB/s,
// IOPS and milliseconds. Then follow minimum, maximum, mean and deviation of the
// submission latency and of the completion latency, 20 percentiles, and the same
// four of the total latency, all in microseconds.
func parseFioTerse(line string) (fioRun, error) {
	fields := strings.Split(line, ";")
	perSide := 41
	if fields[0] == "5" {
		perSide = 47
	}
	if len(fields) < 5+2*perSide {
		return fioRun{}, fault.Guestf("fio's line is cut off after %d fields", len(fields))
	}
	if fields[4] != "0" {
		return fioRun{}, fault.Guestf("fio failed with error %s: %s", Quote(fields[4]), Quote(line))
	}
	var run fioRun
	for i, dst := range []*fioSide{&run.read, &run.write} {
		at := fields[5+i*perSide:]
		f, err := Numbers(at[0], at[1], at[2], at[3], at[10], at[34])
		if err != nil {
			return fioRun{}, err
		}
		*dst = fioSide{bytes: f[0] * 1024, bw: f[1] * 1024, iops: f[2], runtime: f[3] / 1e3, clat: f[4] / 1e6,
			lat:     f[5] / 1e6,
			rounded: 1 / max(f[1], 1)}
	}
	return run, nil
}
