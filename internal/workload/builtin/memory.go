package builtin

import (
	"strconv"

	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/workload"
	"github.com/tare-bench/tare/internal/workload/tool"
)

// sysbenchMemory writes or reads blocks of 1 MiB in memory ("write", "read").
func sysbenchMemory(op string) *workload.Workload {
	return workload.WithParams([]workload.Param{threadsParam}, func(set workload.Settings) *workload.Workload {
		threads := set.Int("threads")
		w := &workload.Workload{
			Name:       "sysbench-memory-" + op,
			Title:      op + " the same 1 MiB of memory repeatedly: bandwidth of the caches",
			ArticleIDs: []string{"P3-bw_mem"},
			StandIn: "for lmbench's bw_mem (rd, wr): sysbench also covers 1 MB, but with threads of one process instead " +
				"of processes, and in C loops of 8 bytes that are not unrolled; for cp, see memory-copy",
			Metrics: []workload.Metric{
				workload.Rate("bandwidth", "B/s", "bandwidth", "as sysbench prints it, in bytes"),
				workload.Time("all blocks, and the start of sysbench"),
				sysbenchTime(),
			},
			SizeUnit: "MiB by each thread", MinSize: 512, MaxSize: 1 << 30, DefaultSize: 64 << 10,
			Steps: timed("memory", func(size int64) []string {
				return sysbenchLine("memory", "--threads="+set["threads"], "--memory-block-size=1M", "--memory-oper="+op,
					"--memory-total-size="+strconv.FormatInt(int64(threads)*size, 10)+"M", "run")
			}),
		}
		return sysbench(w, "memory", workload.Measurement{Did: "transferred", Per: float64(threads << 20),
			Accept: func(r *tool.Report) error {
				if did := r.Words["operation"]; did != op {
					return fault.Guestf("sysbench memory did the operation %s, not %s", tool.Quote(did), op)
				}
				return nil
			}})
	})
}

// mbw copies an array that exceeds the caches, in three ways.
func mbw() *workload.Workload {
	const array = "32" // MiB; there are two of them
	w := &workload.Workload{
		Name: "memory-copy", Title: "copy memory: bandwidth",
		ArticleIDs: []string{"P3-bw_mem"}, Source: "mbw (mbw)",
		StandIn: "for lmbench's bw_mem (cp): mbw copies 32 MiB in one process; bw_mem copied 1 MB in each of 1, 10 and " +
			"50 processes",
		Programs: []string{"mbw"}, Packages: []string{"mbw"},
		Metrics: []workload.Metric{
			workload.Rate("memcpy", "B/s", "MEMCPY bandwidth", "with the C library's memcpy"),
			workload.Rate("loop", "B/s", "DUMB bandwidth", "with a loop over long integers (mbw's DUMB)"),
			workload.Rate("blocks", "B/s", "MCBLOCK bandwidth", "with memcpy of 256 KiB at a time (mbw's MCBLOCK)"),
			workload.Time("all copies, and initializing the arrays"),
		},
		SizeUnit: "copies of 32 MiB in each way", MinSize: 2, MaxSize: 1_000_000, DefaultSize: 50,
		Steps: timed("mbw", func(size int64) []string { return []string{"mbw", "-q", "-n", decimal(size), array} }),
	}
	return w.MeasuredBy(workload.Measurement{Step: "mbw", Tool: "mbw", Did: "runs of each method"})
}

// memoryPressure writes random bytes to all of a working set of memory again and again. One that is larger than the
// guest's memory shows what its swap costs, or that it runs out of memory.
func memoryPressure() *workload.Workload {
	return workload.WithParams([]workload.Param{
		{Name: "mib", Default: "256", Min: 16, Max: 2000, About: "MiB of the working set"},
	}, func(set workload.Settings) *workload.Workload {
		w := &workload.Workload{
			Name:     "memory-pressure",
			Title:    "write random bytes to the same memory repeatedly: what swap costs if it exceeds the guest's memory",
			Source:   "dd (coreutils), with one large block",
			Programs: []string{"dd"}, Packages: []string{"coreutils"},
			Metrics: []workload.Metric{
				workload.Time("all passes, and the start of dd"),
				workload.Rate("rate", "B/s", "rate", "bytes written to memory / the seconds that dd prints"),
			},
			SizeUnit: "passes over the memory", MinSize: 2, MaxSize: 1_000_000, DefaultSize: 8,
			Steps: timed("touch", func(size int64) []string {
				// A kernel does not write pages of zeros to its swap.
				return []string{"dd", "if=/dev/urandom", "of=/dev/null", "iflag=fullblock", "bs=" + set["mib"] + "M",
					"count=" + decimal(size)}
			}),
		}
		return w.MeasuredBy(workload.Measurement{Step: "touch", Tool: "dd", Did: "bytes", Per: float64(set.Int("mib") << 20)})
	})
}

// pipeCopy sends zeros through a pipe, 64 KiB at a time.
func pipeCopy() *workload.Workload {
	w := &workload.Workload{
		Name: "pipe-copy", Title: "send data from one process to another through a pipe, 64 KiB at a time",
		ArticleIDs: []string{"P10-bw_pipe"}, Source: "dd (coreutils), twice",
		StandIn: "for lmbench's bw_pipe: dd | dd with the same block size. For each block, the writer also reads zeros " +
			"from the kernel; bw_pipe wrote the same buffer repeatedly",
		Programs: []string{"bash", "dd"}, Packages: []string{"bash", "coreutils"},
		Metrics: []workload.Metric{
			workload.Rate("bandwidth", "B/s", "rate", "bytes / the seconds that the reading dd prints"),
			workload.Time("both programs, from start to end"),
			workload.GuestTime("seconds", "the seconds that the reading dd prints"),
		},
		SizeUnit: "MiB", MinSize: 64, MaxSize: 1 << 30, DefaultSize: 8192,
		Steps: timed("pipe", func(size int64) []string {
			return bash(`set -o pipefail
dd if=/dev/zero bs=65536 count="$1" status=none | dd of=/dev/null bs=65536 iflag=fullblock`, "pipe",
				strconv.FormatInt(size*16, 10))
		}),
	}
	return w.MeasuredBy(workload.Measurement{Step: "pipe", Tool: "dd", Did: "bytes", Per: 1 << 20})
}

// lmbenchWorkload completes a workload of lmbench's programs. script is a shell
// script, and its $1 is the number of repetitions, each 50 ms long. The programs are
// not in a directory of the default PATH.
func lmbenchWorkload(w *workload.Workload, script string, args ...string) *workload.Workload {
	w.Source, w.Packages, w.NonFree, w.Programs = "lmbench (lmbench)", []string{"lmbench"}, true, []string{"sh"}
	w.SizeUnit, w.MinSize, w.MaxSize, w.DefaultSize = "repetitions, of which lmbench prints the median", 1, 10_000, 11
	w.Metrics = append(w.Metrics, workload.Time("the whole run; each program repeats for at least 50 ms"))
	w.Steps = timed("lmbench", func(size int64) []string {
		return append([]string{"sh", "-euc",
			"PATH=$(echo /usr/lib/lmbench/bin/*-linux-gnu*):$PATH ENOUGH=50000 TIMING_O=0 LOOP_O=0\n" +
				"export PATH ENOUGH TIMING_O LOOP_O\n" + script,
			"sh", decimal(size)}, args...)
	})
	return w.MeasuredBy(workload.Measurement{Step: "lmbench", Tool: "lmbench"})
}

// lmbenchBandwidth is the metric of lmbench's measurements of bandwidth.
func lmbenchBandwidth(figure string) []workload.Metric {
	return []workload.Metric{workload.Rate("bandwidth", "B/s", figure, "all processes together, as lmbench prints it")}
}

func lmbenchMemory() *workload.Workload {
	params := []workload.Param{
		{Name: "operation", Default: "rd", Values: []string{"rd", "wr", "cp"}, About: "read, write or copy"},
		{Name: "processes", Default: "1", Min: 1, Max: 1024, About: "concurrent processes, each with its own 1 MB"},
	}
	return workload.WithParams(params, func(set workload.Settings) *workload.Workload {
		return lmbenchWorkload(&workload.Workload{
			Name: "lmbench-memory", Title: "lmbench's bw_mem: the same 1 MB of memory repeatedly, in one or more processes",
			ArticleIDs: []string{"P3-bw_mem"}, Metrics: lmbenchBandwidth("bandwidth"),
		}, `bw_mem -P "$2" -W 1 -N "$1" 1024K "$3"`, set["processes"], set["operation"])
	})
}

func lmbenchPipe() *workload.Workload {
	return lmbenchWorkload(&workload.Workload{
		Name: "lmbench-pipe", Title: "lmbench's bw_pipe: send 32 MB to another process over a pipe, in blocks of 64 KiB",
		ArticleIDs: []string{"P10-bw_pipe"}, Metrics: lmbenchBandwidth("pipe bandwidth"),
	}, `bw_pipe -P 1 -W 1 -N "$1" -M 32768K`)
}
