package builtin

import (
	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/workload"
	"github.com/tare-bench/tare/internal/workload/tool"
)

const ddFile = "tare-dd.tmp"

// ddPass is one run of dd over the whole file.
type ddPass struct{ name, about string }

// ddPasses are consecutive runs of dd.
type ddPasses []ddPass

// metrics returns those of all passes; flushed: a flush follows each pass.
func (p ddPasses) metrics(flushed bool) []workload.Metric {
	var all []workload.Metric
	for _, pass := range p {
		caveat := ""
		if flushed {
			caveat = ", as in the article, without the flush"
		}
		all = append(all, workload.HostTime(pass.name+"-time", pass.about+caveat))
		if flushed {
			all = append(all, workload.HostTime(pass.name+"-time-flushed", pass.about+" and flushing it"))
		}
		all = append(all, workload.Rate(pass.name+"-rate", "B/s", "", pass.about+": bytes / the seconds that dd prints"))
		if flushed {
			all = append(all, workload.Metric{Name: pass.name + "-rate-flushed", Unit: "B/s", Better: workload.Higher,
				Clock: workload.HostClock, About: pass.about + " and flushing it: bytes / the seconds by the host's clock"})
		}
		all = append(all, workload.Latency(pass.name+"-time-guest", "", pass.about+": the seconds that dd prints"))
	}
	return all
}

// evaluate reads the reports of the passes, and the time of the flush if a pass has
// a step for it.
func (p ddPasses) evaluate(size int64, by map[string]workload.StepResult) (map[string]float64, error) {
	m := map[string]float64{}
	for _, pass := range p {
		step := by[pass.name]
		r, err := tool.Read("dd", string(step.Stderr))
		if err != nil {
			return nil, workload.InStep(pass.name, err)
		}
		bytes, err := r.One("bytes")
		if err != nil {
			return nil, workload.InStep(pass.name, err)
		}
		if bytes.Value != float64(size<<20) {
			return nil, fault.Guestf("step %s: dd copied %.0f bytes instead of %d", pass.name, bytes.Value, size<<20)
		}
		wall := step.Wall.Seconds()
		m[pass.name+"-time"] = wall
		m[pass.name+"-time-guest"] = r.Value("seconds")
		m[pass.name+"-rate"] = r.Value("rate")
		if flush, ok := by[pass.name+"-flush"]; ok {
			flushed := wall + flush.Wall.Seconds()
			m[pass.name+"-time-flushed"] = flushed
			m[pass.name+"-rate-flushed"] = bytes.Value / flushed
		}
	}
	return m, nil
}

// parse reads the report of one pass, taken as the first one, or those of several
// passes in order.
func (p ddPasses) parse(output []byte) (map[string]float64, error) {
	r, err := tool.Read("dd", string(output))
	if err != nil {
		return nil, err
	}
	seconds, rates, walls := r.All("seconds"), r.All("rate"), r.All("wall time")
	if len(seconds) == 0 || len(seconds) > len(p) {
		return nil, fault.Guestf("the output contains %d reports of dd; expected one or two passes", len(seconds))
	}
	if len(walls) != 0 && len(walls) != len(seconds) {
		return nil, fault.Guestf("the output contains %d times for %d runs of dd", len(walls), len(seconds))
	}
	m := map[string]float64{}
	for i := range seconds {
		m[p[i].name+"-time-guest"] = seconds[i].Value
		m[p[i].name+"-rate"] = rates[i].Value
		if len(walls) > 0 {
			m[p[i].name+"-time"] = walls[i].Value
		}
	}
	return workload.Sane(m)
}

const ddRemove = "rm -f " + ddFile + " && sync -f ."

// ddBlock is how much dd reads and writes at a time.
var ddBlock = workload.Param{Name: "block", Default: "1024", Values: []string{"4", "16", "64", "256", "1024"},
	About: "KiB that dd reads and writes at a time"}

// ddCounts are the arguments that copy so many MiB in these blocks.
func ddCounts(set workload.Settings, size int64) []string {
	block := int64(set.Int(ddBlock.Name)) << 10
	return []string{"bs=" + decimal(block), "count=" + decimal(size<<20/block)}
}

func ddWrite() *workload.Workload {
	return workload.WithParams([]workload.Param{ddBlock}, func(set workload.Settings) *workload.Workload {
		passes := ddPasses{{"cold", "writing a new file"}, {"overwrite", "writing the same file again"}}
		steps := func(size int64) []workload.Step {
			// As in the article, the second pass truncates the file and writes it again.
			dd := append([]string{"dd", "if=/dev/zero", "of=" + ddFile}, ddCounts(set, size)...)
			flush := []string{"sync", ddFile}
			return []workload.Step{
				{Name: "prepare", Argv: bash(absent(ddFile))},
				{Name: "cold", Argv: dd, Timed: true},
				{Name: "cold-flush", Argv: flush, Timed: true},
				{Name: "overwrite", Argv: dd, Timed: true},
				{Name: "overwrite-flush", Argv: flush, Timed: true},
				{Name: "clean", Argv: bash(ddRemove)},
			}
		}
		w := passes.workload(steps, true)
		w.Name = "dd-write"
		w.Title = "write a large file twice: sequential writing"
		w.ArticleIDs = []string{"A4-disk", "L2-dd"}
		w.SizeUnit = "MiB written in each pass"
		w.WrittenBytes = func(size int64) int64 { return int64(len(passes)) * size << 20 }
		return w
	})
}

func ddRead() *workload.Workload {
	return workload.WithParams([]workload.Param{ddBlock}, func(set workload.Settings) *workload.Workload {
		passes := ddPasses{{"cold", "reading an uncached file"}, {"warm", "reading the same file again"}}
		w := passes.workload(func(size int64) []workload.Step {
			read := append([]string{"dd", "if=" + ddFile, "of=/dev/null"}, ddCounts(set, size)...)
			return []workload.Step{
				{Name: "prepare", Argv: bash(absent(ddFile))},
				{Name: "write", Argv: []string{"dd", "if=/dev/zero", "of=" + ddFile, "bs=1048576", "count=" + decimal(size),
					"conv=fsync"}},
				{Name: "cold", Argv: read, Timed: true, DropCaches: true},
				{Name: "warm", Argv: read, Timed: true},
				{Name: "clean", Argv: bash(ddRemove)},
			}
		}, false)
		w.Name = "dd-read"
		w.Title = "read a large file twice: from the device, then from the page cache if it fits"
		w.SizeUnit = "MiB read in each pass"
		w.ReadBytes = func(size int64) int64 { return size << 20 } // the first pass
		w.ReadsBack = true
		return w
	})
}

// workload returns what all dd workloads have in common.
func (p ddPasses) workload(steps func(int64) []workload.Step, flushed bool) *workload.Workload {
	w := &workload.Workload{
		Source: "dd and sync (coreutils)", Programs: []string{"bash", "dd", "rm", "sync"},
		Packages:    []string{"bash", "coreutils"},
		Metrics:     p.metrics(flushed),
		MinSize:     64,
		MaxSize:     114688, // the article's largest file, 112 GiB
		DefaultSize: 1000,
		DiskBytes:   func(size int64) int64 { return size<<20 + 16<<20 },
		Steps:       steps,
		Parse:       p.parse,
	}
	return w.EvaluatedBy(p.evaluate)
}
