package tool

import (
	"cmp"
	"math"
	"strconv"
	"strings"

	"github.com/tare-bench/tare/internal/fault"
)

// fioRun is one job, or one group of equal jobs, of fio.
type fioRun struct {
	name  string     // of the job, "" if the output does not say
	rw    string     // --rw, "" if the output does not say
	depth float64    // operations in flight, 0 if the output does not say
	sides [4]fioSide // in the order of fioSides
	// failed is fio's error code
	failed float64
	part   bool // nobody pasted the line with the error code
}

// fioSides are the directions of a run; with --unified_rw_reporting, mixed is all of them.
var fioSides = []string{"read", "write", "trim", "mixed"}

// fioSide is one direction of a run. Zero: the output does not say.
type fioSide struct {
	bytes, bw, iops, ops float64
	short, dropped       float64
	runtime              float64 // seconds
	clat, lat            float64 // mean, seconds
	rounded              float64 // relative rounding error of bytes and bw
	iopsRounded          float64 // that of the printed IOPS
	printed              struct{ bw, iops, size, clat, lat string }
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
	fioTerse = line(";", `^(?:[345];fio-.*|2;[^;\n]*;\d+;\d+;\d+;.*)$`)
	fioError = line("fio: ", `^fio: .*(?:err=|error|No space left|unrecognized|failed|terminating on signal).*$`)
)

// readFio reads fio's JSON, its text, and terse lines (of the formats 2 to 5), of any number of
// jobs. Warnings may precede and follow them. It says the number of "jobs" (a group counts as one), and the
// "rw" of each; with several jobs, names begin with the job's.
func readFio(text string, r *Report) error {
	if line := fioError.find(text); line != "" {
		if err := r.doubt(fault.Guestf("fio failed: %s", Quote(line))); err != nil {
			return err
		}
	}
	objects, others, err := jsonObjects("fio", text)
	if err != nil {
		return err
	}
	runs, details := []fioRun(nil), r.part()
	if len(objects) > 0 { // with --output-format=normal,json, the text repeats it
		for _, object := range objects {
			if runs, err = parseFioJobs(runs, details, object); err != nil {
				return err
			}
		}
	} else if lines := fioTerse.all(others); lines != nil {
		for _, m := range lines {
			if runs, err = parseFioTerse(runs, details, m[0]); err != nil {
				return err
			}
		}
	} else if fioTextGroup.find(text) != "" || r.lenient && fioTextPart.MatchString(text) {
		if runs, err = parseFioText(details, text); err != nil {
			return err
		}
	} else if err := r.refused(text); err != nil {
		return err
	} else {
		return fault.WithRemedy(fault.Guestf("this is not output of fio: %s", Quote(text)),
			"run fio with --output-format=json")
	}
	r.say("jobs", strconv.Itoa(len(runs)))
	for _, run := range runs {
		job := ""
		if len(runs) > 1 {
			job = run.name + " "
		}
		r.say(job+"rw", run.rw)
		for i, side := range fioSides {
			if err := run.sides[i].figures(r, job+side+" ", run.depth); err != nil {
				return err
			}
		}
		if !run.part {
			r.add(job+"error code", run.failed, "", Lower) // others than 0 are errors, or in doubt
		}
	}
	r.err = cmp.Or(r.err, details.err)
	r.Version = details.Version
	r.Doubts = append(r.Doubts, details.Doubts...)
	for _, f := range details.Figures { // their names begin with the job's
		if job, name, ok := strings.Cut(f.Name, "\x00"); ok && len(runs) > 1 {
			f.Name = job + " " + name
		} else if ok {
			f.Name = name
		}
		r.Figures = append(r.Figures, f)
	}
	return nil
}

func (s fioSide) figures(r *Report, name string, depth float64) error {
	if s.bytes == 0 {
		return nil
	}
	r.addFrom(s.printed.bw, name+"bandwidth", s.bw, "B/s", Higher)
	r.addFrom(s.printed.bw, name+"bandwidth", s.bw/(1<<20), "MiB/s", Higher)
	r.addFrom(s.printed.iops, name+"IOPS", s.iops, "1/s", Higher)
	if s.clat != 0 { // fio may be told not to print latencies
		r.addFrom(s.printed.clat, name+"mean completion latency", s.clat*1e9, "ns", Lower)
	}
	if s.lat != 0 {
		r.addFrom(s.printed.lat, name+"mean latency", s.lat*1e9, "ns", Lower)
	}
	r.seconds(name+"run time", s.runtime)
	r.addFrom(s.printed.size, name+"size", s.bytes, "B", "")
	if s.ops != 0 {
		r.add(name+"operations", s.ops, "1", "")
		r.add(name+"short operations", s.short, "1", Lower)
		r.add(name+"dropped operations", s.dropped, "1", Lower)
	}
	return r.doubt(s.consistent(depth))
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

// ulp returns one unit in the last place of a printed number, relative to it.
func ulp(s string) float64 {
	f, err := Number(s)
	if err != nil || f == 0 {
		return 1
	}
	_, decimals, _ := strings.Cut(s, ".")
	return math.Pow10(-len(decimals)) / f
}
