package workload

import (
	"strconv"

	"github.com/tare-bench/tare/internal/fault"
)

// lmbenchWorkload completes a workload of lmbench's programs. script is a shell
// script, and its $1 is the number of repetitions, each 50 ms long. The programs are
// not in a directory of the default PATH.
func (w *Workload) lmbenchWorkload(script string, read func(figures map[string]float64) (reading, error), args ...string) *Workload {
	w.Source, w.Packages, w.NonFree, w.Tools = "lmbench (lmbench)", []string{"lmbench"}, true, []string{"sh"}
	w.SizeUnit, w.MinSize, w.MaxSize, w.DefaultSize = "repetitions, of which lmbench prints the median", 1, 10_000, 11
	w.Metrics = append(w.Metrics, wallMetric("the whole run; each program repeats for at least 50 ms"))
	w.Steps = func(size int64) []Step {
		return []Step{{Name: "lmbench", Timed: true, Argv: append([]string{"sh", "-euc",
			"PATH=$(echo /usr/lib/lmbench/bin/*-linux-gnu*):$PATH ENOUGH=50000 TIMING_O=0 LOOP_O=0\nexport PATH ENOUGH TIMING_O LOOP_O\n" + script,
			"sh", strconv.FormatInt(size, 10)}, args...)}}
	}
	return w.measuredBy("lmbench", func(text string) (reading, error) {
		figures, err := GetTool("lmbench").Read(text)
		if err != nil {
			return reading{}, err
		}
		by := map[string]float64{}
		for _, f := range figures {
			if _, twice := by[f.Metric]; twice {
				return reading{}, fault.Guestf("the output contains two figures of lmbench's %s", f.Metric)
			}
			by[f.Metric] = f.Value
		}
		return read(by)
	})
}

// lmbenchLatencies are the metrics of lmbench, with the words of its output.
var lmbenchLatencies = []struct {
	name, words, about string
	unit               float64 // in seconds
}{
	{"syscall", "Simple syscall", "one system call, getppid()", 1e-6},
	{"read", "Simple read", "a read of one byte from /dev/zero", 1e-6},
	{"write", "Simple write", "a write of one byte to /dev/null", 1e-6},
	{"stat", "Simple stat", "stat() of a file", 1e-6},
	{"open-close", "Simple open/close", "open() and close() of a file", 1e-6},
	{"signal", "Signal handler installation", "sigaction()", 1e-6},
	{"fork", "Process fork+exit", "fork() and the child's exit()", 1e-6},
	{"pipe", "Pipe latency", "sending a byte to another process and back over a pipe", 1e-6},
	{"unix-socket", "AF_UNIX sock stream latency", "the same over a Unix socket", 1e-6},
	{"integer-add", "integer add", "an addition", 1e-9},
	{"integer-div", "integer div", "a division", 1e-9},
	{"double-mul", "double mul", "a multiplication of floating-point numbers", 1e-9},
}

func lmbench() *Workload {
	w := &Workload{
		Name: "lmbench", Title: "lmbench: latency of system calls, processes, messages and arithmetic",
		ArticleIDs: []string{"C3-lmbench"},
	}
	for _, l := range lmbenchLatencies {
		w.Metrics = append(w.Metrics, latencyMetric(l.name, l.about))
	}
	return w.lmbenchWorkload(`for call in null read write stat open; do
	lat_syscall -P 1 -W 1 -N "$1" $call /etc/passwd
done
lat_sig -P 1 -W 1 -N "$1" install
lat_proc -P 1 -W 1 -N "$1" fork
lat_pipe -P 1 -W 1 -N "$1"
lat_unix -P 1 -W 1 -N "$1"
lat_ops -W 1 -N "$1"`, func(figures map[string]float64) (reading, error) {
		r := reading{values: map[string]float64{}}
		for _, l := range lmbenchLatencies {
			v := figures[l.words]
			if v == 0 {
				return r, fault.Guestf("the output contains no line %q of lmbench", l.words)
			}
			r.values[l.name] = v * l.unit
		}
		return r, nil
	})
}

// lmbenchBandwidth completes one of lmbench's bandwidth measurements.
func lmbenchBandwidth(w *Workload, words, script string, args ...string) *Workload {
	w.Metrics = []Metric{rateMetric("bandwidth", "B/s", "all processes together, as lmbench prints it")}
	return w.lmbenchWorkload(script, func(figures map[string]float64) (reading, error) {
		v := figures[words]
		if v == 0 {
			return reading{}, fault.Guestf("the output contains no %s of lmbench", words)
		}
		return reading{values: map[string]float64{"bandwidth": v * 1e6}}, nil
	}, args...)
}

func lmbenchMemory() *Workload {
	params := []Param{
		{Name: "operation", Default: "rd", Values: []string{"rd", "wr", "cp"}, About: "read, write or copy"},
		{Name: "processes", Default: "1", Min: 1, Max: 1024, About: "concurrent processes, each with its own 1 MB"},
	}
	return withParams(params, func(set Settings) *Workload {
		w := &Workload{
			Name: "lmbench-memory", Title: "lmbench's bw_mem: the same 1 MB of memory repeatedly, in one or more processes",
			ArticleIDs: []string{"P3-bw_mem"},
		}
		return lmbenchBandwidth(w, "bandwidth", `bw_mem -P "$2" -W 1 -N "$1" 1024K "$3"`, set["processes"], set["operation"])
	})
}

func lmbenchPipe() *Workload {
	w := &Workload{
		Name: "lmbench-pipe", Title: "lmbench's bw_pipe: send 32 MB to another process over a pipe, in blocks of 64 KiB",
		ArticleIDs: []string{"P10-bw_pipe"},
	}
	return lmbenchBandwidth(w, "pipe bandwidth", `bw_pipe -P 1 -W 1 -N "$1" -M 32768K`)
}
