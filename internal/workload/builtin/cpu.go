package builtin

import (
	"slices"
	"strconv"
	"time"

	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/workload"
	"github.com/tare-bench/tare/internal/workload/tool"
)

// encrypt is the article's command line, corrected. As printed, it has a bare word
// after -salt, at which openssl fails within milliseconds. With pipefail, bash
// reports a failure of either program.
const encrypt = `set -o pipefail
dd if=/dev/zero bs=1048576 count="$1" |
openssl enc -aes-256-cbc -salt -pbkdf2 -pass pass:opravduhloupeheslo >/dev/null`

func opensslEnc() *workload.Workload {
	w := &workload.Workload{
		Name: "openssl-enc", Title: "encrypt zeros with AES-256-CBC: user CPU",
		ArticleIDs: []string{"A1-cpu"}, Source: "openssl enc (openssl), fed by dd (coreutils)",
		Programs: []string{"bash", "dd", "openssl"}, Packages: []string{"bash", "coreutils", "openssl"},
		Metrics: []workload.Metric{
			workload.Time("the whole pipeline, from start to end"),
			workload.GuestTime("dd's time", "the time of dd, which feeds openssl, as dd prints it"),
		},
		SizeUnit: "MiB encrypted", MinSize: 32, MaxSize: 1 << 20, DefaultSize: 5120,
		Steps: timed("encrypt", func(size int64) []string { return bash(encrypt, "openssl-enc", decimal(size)) }),
	}
	return w.MeasuredBy(workload.Measurement{Step: "encrypt", Tool: "openssl", Did: "bytes", Per: 1 << 20})
}

// threadsParam is a tool's number of threads. The default is one, because the
// smallest guests have one CPU.
var threadsParam = workload.Param{Name: "threads", Default: "1", Min: 1, Max: 1024,
	About: "threads that share the work"}

// sysbench completes a workload that is one test of sysbench. The step with the report has the test's
// name. reading has what differs from that.
func sysbench(w *workload.Workload, test string, reading workload.Measurement) *workload.Workload {
	w.Source = "sysbench " + test + " (sysbench)"
	w.Programs, w.Packages = []string{"sysbench", "sync"}, []string{"coreutils", "sysbench"}
	reading.Step, reading.Tool = test, "sysbench"
	accept := reading.Accept
	reading.Accept = func(r *tool.Report) error {
		is := r.Words["test"]
		if is != test && (is != "threads or mutex" || test != "threads" && test != "mutex") {
			return fault.Guestf("this is a report of sysbench %s, not of sysbench %s", is, test)
		}
		if accept != nil {
			return accept(r)
		}
		return nil
	}
	return w.MeasuredBy(reading)
}

// sysbenchSingles are the counts that sysbench prints with --histogram=on.
var sysbenchSingles = tool.Singles{Before: "latencies of ", After: " ms", Unit: "ms", Count: "events"}

// sysbenchLine returns the command line of one of sysbench's tests, without a time limit.
func sysbenchLine(test string, args ...string) []string {
	return append([]string{"sysbench", test, "--time=0"}, args...)
}

// sysbenchTime is the time that sysbench prints.
func sysbenchTime() workload.Metric {
	return workload.GuestTime("total time", "the total time that sysbench prints")
}

func sysbenchCPU() *workload.Workload {
	return workload.WithParams([]workload.Param{threadsParam}, func(set workload.Settings) *workload.Workload {
		w := &workload.Workload{
			Name: "sysbench-cpu", Title: "find primes by division: integer arithmetic without memory access",
			Metrics: []workload.Metric{
				workload.Time("all events, and the start of sysbench"),
				workload.Rate("rate", "1/s", "events per second", "events per second, as sysbench prints it"),
				sysbenchTime(),
			},
			SizeUnit: "events (each finds the primes up to 10000)", MinSize: 150, MaxSize: 100_000_000,
			DefaultSize: 10_000,
			Steps: timed("cpu", func(size int64) []string {
				return []string{"sysbench", "cpu", "--threads=" + set["threads"], "--events=" + decimal(size), "--time=0", "run"}
			}),
		}
		return sysbench(w, "cpu", workload.Measurement{Did: "events"})
	})
}

// cpuKernels are the kernels of kernelBench, one for each of nbench's indices.
var cpuKernels = []struct {
	name, about string
	args        []string
	ops         int64 // for a size of 1
}{
	{"memory", "sorting an array of integers", []string{"--qsort", "1", "--qsort-size", "65536", "--qsort-ops"}, 1},
	{"integer", "adding, multiplying and shifting integers of 64 bits",
		[]string{"--cpu", "1", "--cpu-method", "int64", "--cpu-ops"}, 60},
	{"float", "multiplying matrices of floating-point numbers",
		[]string{"--cpu", "1", "--cpu-method", "matrixprod", "--cpu-ops"}, 6},
}

// kernelBench runs small kernels of arithmetic and sorting, like nbench.
func kernelBench() *workload.Workload {
	w := &workload.Workload{
		Name: "cpu-kernels", Title: "sorting, integer and floating-point arithmetic",
		ArticleIDs: []string{"P2-nbench"}, Source: "stress-ng (stress-ng)",
		StandIn: "for nbench: three of stress-ng's kernels for nbench's memory, integer and floating-point indices. " +
			"There is no index against a K6-233, only rates that compare on one machine",
		Programs: []string{"stress-ng"}, Packages: []string{"stress-ng"},
		Metrics:  []workload.Metric{workload.Time("all three, including the starts of stress-ng")},
		SizeUnit: "rounds (a sort, 60 of the integer and 6 of the floating-point kernel)",
		MinSize:  2, MaxSize: 1_000_000, DefaultSize: 50,
		Sparse: true, // saved output may be of one kernel only
	}
	for _, k := range cpuKernels {
		w.Metrics = append(w.Metrics, workload.Rate(k.name, "1/s", "", k.about+": rounds per second, from stress-ng's rate"))
	}
	w.Steps = func(size int64) []workload.Step {
		var steps []workload.Step
		for _, k := range cpuKernels {
			argv := slices.Concat([]string{"stress-ng"}, k.args,
				[]string{strconv.FormatInt(size*k.ops, 10), "--no-rand-seed", "--metrics"})
			steps = append(steps, workload.Step{Name: k.name, Timed: true, Argv: argv})
		}
		return steps
	}
	w.Parse = workload.ParsedBy("stress-ng", func(r *tool.Report) (map[string]float64, error) {
		if is := r.Words["stressors"]; is != "qsort" {
			return nil, fault.Guestf("the output is of the stressors %s; only that of qsort names its kernel, so only that "+
				"can be read", tool.Quote(is))
		}
		return map[string]float64{"memory": r.Value("qsort bogo ops per real second")}, nil
	})
	return w.EvaluatedBy(func(size int64, by map[string]workload.StepResult) (map[string]float64, error) {
		m := map[string]float64{}
		for _, k := range cpuKernels {
			stressor := k.args[0][2:]
			r, err := tool.Read("stress-ng", by[k.name].Output())
			if err == nil {
				err = onlyStressor(r, stressor)
			}
			if err != nil {
				return nil, workload.InStep(k.name, err)
			}
			if ops := r.Value(stressor + " bogo ops"); ops < float64(size*k.ops) {
				return nil, fault.Guestf("step %s: stress-ng did %.0f operations of %s instead of %d", k.name, ops, stressor,
					size*k.ops)
			}
			m[k.name] = r.Value(stressor+" bogo ops per real second") / float64(k.ops)
			m["time"] += by[k.name].Wall.Seconds()
		}
		return m, nil
	})
}

// onlyStressor returns an error if stress-ng's report is not of this stressor alone.
func onlyStressor(r *tool.Report, name string) error {
	if is := r.Words["stressors"]; is != name {
		return fault.Guestf("the output of stress-ng is of the stressors %s, not of %s alone", tool.Quote(is), name)
	}
	return nil
}

// nbench runs all of BYTE's benchmark of CPU and memory.
func nbench() *workload.Workload {
	index := func(name, about string) workload.Metric {
		return workload.Rate(name, "index", "", about+" against an AMD K6-233")
	}
	w := &workload.Workload{
		Name: "nbench", Title: "nbench (BYTEmark): ten tests of CPU and memory; takes minutes on any machine",
		ArticleIDs: []string{"P2-nbench"}, OwnBuild: true,
		Source: "your build of nbench: build is the path of its directory, with NNET.DAT",
		Metrics: []workload.Metric{
			index("memory", "string sort, bit field and assignment"),
			index("integer", "numeric sort, FP emulation, IDEA and Huffman"),
			index("float", "Fourier, neural net and LU decomposition"),
			workload.Time("the whole run of nbench, which repeats each test for a few seconds"),
		},
		SizeUnit: "runs of nbench", MinSize: 1, MaxSize: 1, DefaultSize: 1,
		Programs: []string{"sh"},
		Steps: func(int64) []workload.Step {
			return []workload.Step{{Name: "nbench", Timed: true, Timeout: time.Hour,
				Argv: sh(`cd "$1" && exec ./nbench`, "sh", workload.OwnBuildPath)}}
		},
	}
	return w.MeasuredBy(workload.Measurement{Step: "nbench", Tool: "nbench",
		Values: func(r *tool.Report) (map[string]float64, error) {
			// The indices against the K6-233 are the last ones; those against a Pentium 90 come first.
			memory, integer, float := r.All("MEMORY INDEX"), r.All("INTEGER INDEX"), r.All("FLOATING-POINT INDEX")
			if len(memory) != 1 || len(integer) != 2 || len(float) != 2 {
				return nil, fault.Guestf("nbench printed %d indices instead of 5: this is not the complete output of one run",
					len(memory)+len(integer)+len(float))
			}
			return map[string]float64{"memory": memory[0].Value, "integer": integer[1].Value, "float": float[1].Value}, nil
		}})
}

// bogomips reads the rate of the kernel's calibrated delay loop, which the article
// printed and called useless. The timed work is reading /proc/cpuinfo.
func bogomips() *workload.Workload {
	w := &workload.Workload{
		Name: "bogomips", Title: "BogoMIPS in /proc/cpuinfo: a constant of the kernel, no measure of speed",
		ArticleIDs: []string{"P1-bogomips"}, Source: "the kernel's /proc/cpuinfo, read by grep (grep)",
		Programs: []string{"sh", "seq", "grep", "sort", "uniq"}, Packages: []string{"coreutils", "dash", "grep"},
		Metrics: []workload.Metric{
			workload.Time("all reads of /proc/cpuinfo, each by a new process"),
			workload.Rate("bogomips", "1", "", "BogoMIPS of the first CPU, calibrated or derived from the CPU's frequency"),
		},
		SizeUnit: "readings", MinSize: 20, MaxSize: 1_000_000, DefaultSize: 500,
		Steps: timed("read", func(size int64) []string {
			const read = `for i in $(seq "$1"); do grep -im1 '^bogomips' /proc/cpuinfo || exit; done | sort | uniq -c`
			return sh(read, "sh", decimal(size))
		}),
	}
	return w.MeasuredBy(workload.Measurement{Step: "read", Tool: "cpuinfo", Did: "readings",
		Values: func(r *tool.Report) (map[string]float64, error) {
			return map[string]float64{"bogomips": r.Value("bogomips")}, nil
		}})
}
