package workload

import (
	"math"
	"regexp"
	"strconv"

	"github.com/tare-bench/tare/internal/fault"
)

const ddFile = "tare-dd.tmp"

// ddPass is one run of dd over the whole file.
type ddPass struct{ name, about string }

// ddPasses are consecutive runs of dd.
type ddPasses []ddPass

// metrics returns those of all passes; flushed: a flush follows each pass.
func (p ddPasses) metrics(flushed bool) []Metric {
	var all []Metric
	for _, pass := range p {
		caveat := ""
		if flushed {
			caveat = ", as in the article, without the flush"
		}
		all = append(all, Metric{pass.name + "-time", "s", Lower, HostClock, pass.about + caveat})
		if flushed {
			all = append(all, Metric{pass.name + "-time-flushed", "s", Lower, HostClock, pass.about + " and flushing it"})
		}
		all = append(all, Metric{pass.name + "-rate", "B/s", Higher, GuestClock, pass.about + ": bytes / the seconds that dd prints"})
		if flushed {
			all = append(all, Metric{pass.name + "-rate-flushed", "B/s", Higher, HostClock, pass.about + " and flushing it: bytes / the seconds by the host's clock"})
		}
		all = append(all, Metric{pass.name + "-time-guest", "s", Lower, GuestClock, pass.about + ": the seconds that dd prints"})
	}
	return all
}

// evaluate reads the reports of the passes, and the time of the flush if a pass has
// a step for it.
func (p ddPasses) evaluate(steps func(int64) []Step, size int64, results []StepResult) (map[string]float64, error) {
	by, err := ran(steps(size), results)
	if err != nil {
		return nil, err
	}
	m := map[string]float64{}
	for _, pass := range p {
		r := by[pass.name]
		d, err := ddOf(r, size<<20)
		if err != nil {
			return nil, err
		}
		wall := r.Wall.Seconds()
		m[pass.name+"-time"] = wall
		m[pass.name+"-time-guest"] = d.seconds
		m[pass.name+"-rate"] = d.bytes / d.seconds
		if flush, ok := by[pass.name+"-flush"]; ok {
			flushed := wall + flush.Wall.Seconds()
			m[pass.name+"-time-flushed"] = flushed
			m[pass.name+"-rate-flushed"] = d.bytes / flushed
		}
	}
	return sane(m)
}

// parse reads the report of one pass, taken as the first one, or those of several
// passes in order.
func (p ddPasses) parse(output []byte) (map[string]float64, error) {
	text := string(output)
	if err := refused("dd", text); err != nil {
		return nil, err
	}
	reports, err := parseDD(text)
	if err != nil {
		return nil, err
	}
	if len(reports) == 0 || len(reports) > len(p) {
		return nil, fault.Guestf("the output contains %d reports of dd; expected one or two passes", len(reports))
	}
	walls, err := wallTimes(text)
	if err != nil {
		return nil, err
	}
	if len(walls) != 0 && len(walls) != len(reports) {
		return nil, fault.Guestf("the output contains %d times for %d runs of dd", len(walls), len(reports))
	}
	m := map[string]float64{}
	for i, d := range reports {
		m[p[i].name+"-time-guest"] = d.seconds
		m[p[i].name+"-rate"] = d.bytes / d.seconds
		if len(walls) > 0 {
			m[p[i].name+"-time"] = walls[i]
		}
	}
	return sane(m)
}

const ddRemove = "rm -f " + ddFile + " && sync -f ."

func ddWrite() *Workload {
	passes := ddPasses{{"cold", "writing a new file"}, {"overwrite", "writing the same file again"}}
	steps := func(size int64) []Step {
		// As in the article, the second pass truncates the file and writes it again.
		dd := []string{"dd", "if=/dev/zero", "of=" + ddFile, "bs=1048576", "count=" + strconv.FormatInt(size, 10)}
		flush := []string{"sync", ddFile}
		return []Step{
			{Name: "prepare", Argv: []string{"bash", "-c", ddRemove}},
			{Name: "cold", Argv: dd, Timed: true},
			{Name: "cold-flush", Argv: flush, Timed: true},
			{Name: "overwrite", Argv: dd, Timed: true},
			{Name: "overwrite-flush", Argv: flush, Timed: true},
			{Name: "clean", Argv: []string{"bash", "-c", ddRemove}},
		}
	}
	w := passes.workload(steps, true)
	w.Name = "dd-write"
	w.Title = "write a large file twice: sequential writing"
	w.ArticleIDs = []string{"A4-disk", "L2-dd"}
	w.SizeUnit = "MiB written in each pass"
	w.WrittenBytes = func(size int64) int64 { return int64(len(passes)) * size << 20 }
	return w
}

func ddRead() *Workload {
	passes := ddPasses{{"cold", "reading an uncached file"}, {"warm", "reading the same file again"}}
	w := passes.workload(func(size int64) []Step {
		count := "count=" + strconv.FormatInt(size, 10)
		read := []string{"dd", "if=" + ddFile, "of=/dev/null", "bs=1048576", count}
		return []Step{
			{Name: "prepare", Argv: []string{"bash", "-c", ddRemove}},
			{Name: "write", Argv: []string{"dd", "if=/dev/zero", "of=" + ddFile, "bs=1048576", count, "conv=fsync"}},
			{Name: "cold", Argv: read, Timed: true, DropCaches: true},
			{Name: "warm", Argv: read, Timed: true},
			{Name: "clean", Argv: []string{"bash", "-c", ddRemove}},
		}
	}, false)
	w.Name = "dd-read"
	w.Title = "read a large file twice: from the device, then from the page cache if it fits"
	w.SizeUnit = "MiB read in each pass"
	w.ReadsBack = true
	return w
}

// workload returns what all dd workloads have in common.
func (p ddPasses) workload(steps func(int64) []Step, flushed bool) *Workload {
	return &Workload{
		Source:      "dd and sync (coreutils)",
		Tools:       []string{"bash", "dd", "rm", "sync"},
		Packages:    []string{"bash", "coreutils"},
		Metrics:     p.metrics(flushed),
		MinSize:     64,
		MaxSize:     114688, // the article's largest file, 112 GiB
		DefaultSize: 1000,
		DiskBytes:   func(size int64) int64 { return size<<20 + 16<<20 },
		Steps:       steps,
		Parse:       p.parse,
		Evaluate: func(size int64, results []StepResult) (map[string]float64, error) {
			return p.evaluate(steps, size, results)
		},
	}
}

// ddReport is the last line of dd's output.
type ddReport struct {
	bytes, seconds float64
	line           string
}

var (
	ddLine = regexp.MustCompile(`(?m)^(\d+) bytes?(?: \([^)\n]*\))? copied, (\d+(?:\.\d+)?(?:e-?\d+)?) s(?:econds)?(?:, (\d+(?:\.(\d+))?) ([kMGTP]?B)/s)?`)
	// The same line in other languages or with a decimal comma.
	ddForeign = regexp.MustCompile(`(?m)^\d+ \pL+ (?:\([^)\n]*\) )?[^\n]*\d[,.]\d+(?:e-?\d+)? \pL+, [\d.,]+ \S*B/s\s*$`)
	ddUnit    = map[string]float64{"B": 1, "kB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12, "PB": 1e15}
)

// parseDD returns all reports of dd in the text. The printed rate is rounded, so it
// is only checked against bytes and seconds.
func parseDD(text string) ([]ddReport, error) {
	var all []ddReport
	for _, m := range ddLine.FindAllStringSubmatch(grep(text, " copied, "), -1) {
		f, err := numbers(m[1], m[2])
		if err != nil {
			return nil, err
		}
		d := ddReport{bytes: f[0], seconds: f[1], line: m[0]}
		if d.bytes == 0 || d.seconds == 0 {
			return nil, fault.Guestf("dd reports no data or no time: %s", quote(d.line))
		}
		if m[3] != "" {
			printed, err := number(m[3])
			if err != nil {
				return nil, err
			}
			unit := ddUnit[m[5]]
			rate, last := d.bytes/d.seconds, math.Pow10(-len(m[4]))
			if off := math.Abs(printed*unit - rate); off > last*unit+1e-4*rate {
				return nil, contradiction("rate × time is not the size: %.0f bytes in %v s are %.4g B/s: %s", d.bytes, d.seconds, rate, quote(d.line))
			}
		}
		all = append(all, d)
	}
	if len(all) == 0 {
		if line := ddForeign.FindString(grep(text, "B/s")); line != "" {
			return nil, foreignLocale(text, line)
		}
	}
	return all, nil
}

// ddOf returns the only report of dd in a step's stderr. It is an error if dd copied
// another number of bytes.
func ddOf(r StepResult, bytes int64) (ddReport, error) {
	reports, err := parseDD(string(r.Stderr))
	if err != nil {
		return ddReport{}, inStep(r.Name, err)
	}
	if len(reports) != 1 {
		return ddReport{}, fault.Guestf("step %s: %d reports of dd instead of one%s", r.Name, len(reports), said(r))
	}
	if d := reports[0]; d.bytes != float64(bytes) {
		return ddReport{}, fault.Guestf("step %s: dd copied %.0f bytes instead of %d: %s", r.Name, d.bytes, bytes, quote(d.line))
	}
	return reports[0], nil
}
