package builtin

import (
	"strconv"
	"strings"

	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/workload"
	"github.com/tare-bench/tare/internal/workload/tool"
)

// spawn runs its arguments as nobody if it runs as root: for root, stress-ng skips
// its exec stressor and still exits with status 0.
const spawn = `if [ "$(id -u)" = 0 ]; then
	exec setpriv --reuid=65534 --regid=65534 --clear-groups -- "$@"
fi
exec "$@"`

func stressExec() *workload.Workload {
	const dir = "tare-stress"
	w := &workload.Workload{
		Name: "stress-ng-exec", Title: "start processes, one after the other",
		Source:   "stress-ng --exec (stress-ng)",
		Programs: []string{"bash", "id", "mkdir", "rm", "setpriv", "sh", "stress-ng"},
		Packages: []string{"bash", "coreutils", "dash", "stress-ng", "util-linux"},
		Metrics: []workload.Metric{
			workload.Time("starting all processes, and the start of stress-ng"),
			workload.Rate("rate", "1/s", "exec bogo ops per real second",
				"processes per second of real time, as stress-ng prints it"),
			workload.GuestTime("", "processes / the rate that stress-ng prints"),
		},
		SizeUnit: "processes", MinSize: 10, MaxSize: 10_000_000, DefaultSize: 1000,
		DiskBytes: func(int64) int64 { return 1 << 20 },
		Steps: func(size int64) []workload.Step {
			return []workload.Step{
				{Name: "prepare", Argv: bash("rm -rf " + dir + " && mkdir -m 1777 " + dir)},
				{Name: "exec", Timed: true, Argv: sh(spawn, "stress-ng-exec",
					// One process after the other, all started in the same way. With more
					// than --exec-max 1, stress-ng exceeds the requested number of operations.
					"stress-ng", "--exec", "1", "--exec-ops", decimal(size), "--exec-max", "1",
					"--exec-method", "execve", "--exec-fork-method", "fork", "--exec-no-pthread",
					"--no-rand-seed", "--temp-path", dir, "--metrics")},
				{Name: "clean", Argv: []string{"rm", "-rf", dir}},
			}
		},
	}
	return w.MeasuredBy(workload.Measurement{Step: "exec", Tool: "stress-ng", Did: "exec bogo ops",
		Accept: func(r *tool.Report) error { return onlyStressor(r, "exec") },
		Values: func(r *tool.Report) (map[string]float64, error) {
			return map[string]float64{"time-guest": r.Value("exec bogo ops") / r.Value("exec bogo ops per real second")}, nil
		}})
}

func sysbenchThreads() *workload.Workload {
	w := &workload.Workload{
		Name: "sysbench-threads", Title: "four threads yield the CPU and wait for locks: the scheduler",
		Metrics: []workload.Metric{
			workload.Time("all events, and the start of sysbench"),
			workload.Latency("latency", "mean latency", "mean per event, as sysbench prints it"),
			sysbenchTime(),
		},
		SizeUnit: "events (each locks, yields and unlocks 1000 times)", MinSize: 50, MaxSize: 100_000_000,
		DefaultSize: 2000,
		Steps: timed("threads", func(size int64) []string {
			return sysbenchLine("threads", "--threads=4", "--events="+decimal(size), "run")
		}),
	}
	return sysbench(w, "threads", workload.Measurement{Did: "events"})
}

func sysbenchMutex() *workload.Workload {
	w := &workload.Workload{
		Name: "sysbench-mutex", Title: "four threads lock and unlock 4096 mutexes: contention in user space",
		Metrics:  []workload.Metric{workload.Time("all locks, and the start of sysbench"), sysbenchTime()},
		SizeUnit: "locks of each thread", MinSize: 5000, MaxSize: 1_000_000_000, DefaultSize: 100_000,
		Steps: timed("mutex", func(size int64) []string {
			return sysbenchLine("mutex", "--threads=4", "--mutex-locks="+decimal(size), "run")
		}),
	}
	// Each thread is one event; sysbench does not print the number of locks.
	return sysbench(w, "mutex", workload.Measurement{})
}

// hackbench runs groups of processes that send each other messages over "pipe" or
// "socket".
func hackbench(over string) *workload.Workload {
	const groups = 2 // each with 20 senders and 20 receivers
	args := []string{"hackbench", "--groups", strconv.Itoa(groups)}
	if over == "pipe" {
		args = append(args, "--pipe")
	}
	w := &workload.Workload{
		Name:   "hackbench-" + over,
		Title:  "80 processes send each other messages over " + over + "s: scheduler and system calls",
		Source: "hackbench (rt-tests)", Programs: []string{"hackbench"}, Packages: []string{"rt-tests"},
		Metrics: []workload.Metric{
			workload.Time("all messages, and the start of the processes"),
			workload.GuestTime("time", "the time that hackbench prints, for the messages alone"),
		},
		SizeUnit: "messages of each sender", MinSize: 50, MaxSize: 10_000_000, DefaultSize: 2000,
		Steps: timed("hackbench", func(size int64) []string {
			return append(args[:len(args):len(args)], "--loops", decimal(size))
		}),
	}
	return w.MeasuredBy(workload.Measurement{Step: "hackbench", Tool: "rt-tests", Did: "messages of each sender"})
}

// cyclictestMost is where cyclictest's histogram ends, in us.
const cyclictestMost = "100000"

// cyclictest sleeps for a millisecond at a time and records how late it wakes up. Its JSON has only those ranges of the
// histogram, of a microsecond each, in which there are any wake-ups; its text has all of them. With --laptop, it leaves
// the idle states of the CPUs as they are: guests have no /dev/cpu_dma_latency, and must not set it for their
// neighbours.
func cyclictest() *workload.Workload {
	w := &workload.Workload{
		Name: "cyclictest", Title: "delay of a thread's timed wake-ups: timers and scheduler",
		Source: "cyclictest (rt-tests)", Programs: []string{"cyclictest", "sh"}, Packages: []string{"rt-tests"},
		RealTime: true,
		Metrics: []workload.Metric{
			workload.Latency("latency-mean", "mean wake-up latency", "mean delay, by the guest's clock alone"),
			workload.Latency("latency-max", "max wake-up latency", "the longest delay"),
			workload.Time("the whole run, which is mostly sleep"),
		},
		SizeUnit: "wake-ups (one each millisecond)", MinSize: 200, MaxSize: 100_000_000, DefaultSize: 3000,
		Steps: timed("cyclictest", func(size int64) []string {
			return sh(`exec cyclictest "$@" 2>&1 >/dev/null`, "sh", "--quiet", "--laptop", "--threads=1",
				"--interval=1000", "--histogram="+cyclictestMost, "--json=/dev/stderr", "--loops="+decimal(size))
		}),
	}
	w.MeasuredBy(workload.Measurement{Step: "cyclictest", Tool: "rt-tests", Did: "wake-ups",
		SingleOf: "latency-mean", Singles: tool.Singles{Before: "wake-ups of ", After: " us", Unit: "us", Width: 1,
			Count: "wake-ups", Beyond: "max wake-up latency"}})
	evaluate := w.Evaluate
	w.Evaluate = func(size int64, results []workload.StepResult) (map[string]float64, error) {
		for _, r := range results {
			if strings.Contains(r.Output(), noRealTime) {
				return nil, fault.WithRemedy(fault.Guestf("step %s: the guest may not use real-time priorities: either its "+
					"system takes the capability SYS_NICE from it (OCI runtimes do), or the kernel has CONFIG_RT_GROUP_SCHED "+
					"and its control group no budget of real time (cpu.rt_runtime_us; version 2 has none)", r.Name),
					"leave the arm out; if the budget is the reason, boot with rt_group_sched=0, or stop what uses up "+
						"the budget in /sys/fs/cgroup/cpu/*/cpu.rt_runtime_us")
			}
		}
		return evaluate(size, results)
	}
	return w
}

// noRealTime is what cyclictest says where it may not use real-time priorities. It asks for them in any case, and then
// runs without, as long as no --priority is given.
const noRealTime = "Unable to change scheduling policy"

// perfBenchmarks are those of perf that perfBench runs: the metric, perf's name, the figure, and the
// operations for a size of 1; 0: perf does not print their number.
var perfBenchmarks = []struct {
	metric, benchmark, figure, unit string
	operations                      float64
}{
	{"syscall", "syscall/basic", "latency", "s", 50_000},
	{"pipe", "sched/pipe", "latency", "s", 1000},
	{"memcpy", "mem/memcpy", "default: bandwidth", "B/s", 0},
}

// perfBench runs three of perf's benchmarks in sequence.
func perfBench() *workload.Workload {
	w := &workload.Workload{
		Name:       "kernel-ops",
		Title:      "system calls, messages between two processes over a pipe, and memory copies: kernel and CPU",
		ArticleIDs: []string{"C3-lmbench"}, Source: "perf bench (linux-perf)",
		StandIn: "for lmbench's lat_syscall, lat_pipe and bw_mem: getppid() instead of lmbench's set of calls, 4-byte " +
			"tokens over two pipes, and memcpy of 32 MB",
		Programs: []string{"perf"}, Packages: []string{"linux-perf"},
		Metrics: []workload.Metric{
			workload.Latency("syscall", "", "one system call, getppid()"),
			workload.Latency("pipe", "", "sending one token to the other process"),
			workload.Rate("memcpy", "B/s", "", "with the C library's memcpy; perf's GB are 2^30 bytes"),
			workload.Time("all three, including the starts of perf"),
		},
		SizeUnit: "thousand tokens, and as many times 50 thousand system calls and 32 MB copied", MinSize: 5,
		MaxSize: 10_000_000, DefaultSize: 100,
		Sparse: true, // saved output may be of one benchmark only
	}
	perf := func(args ...string) []string { return append([]string{"perf", "bench"}, args...) }
	w.Steps = func(size int64) []workload.Step {
		n := func(times int64) string { return strconv.FormatInt(size*times, 10) }
		return []workload.Step{
			{Name: "syscall", Timed: true, Argv: perf("syscall", "basic", "--loop", n(50_000))},
			{Name: "pipe", Timed: true, Argv: perf("sched", "pipe", "--loop", n(1000))},
			{Name: "memcpy", Timed: true, Argv: perf("mem", "memcpy", "--size", "32MB", "--nr_loops", n(1), "--function",
				"default")},
		}
	}
	// The output of mem memcpy has a figure for each function; the C library's comes first.
	values := func(r *tool.Report) (map[string]float64, error) {
		m := map[string]float64{}
		for _, b := range perfBenchmarks {
			if all := r.All(b.figure); b.benchmark == r.Words["benchmark"] && len(all) > 0 {
				m[b.metric] = all[0].In(b.unit)
			}
		}
		return m, nil
	}
	w.Parse = workload.ParsedBy("perf-bench", values)
	return w.EvaluatedBy(func(size int64, by map[string]workload.StepResult) (map[string]float64, error) {
		m := map[string]float64{}
		for _, b := range perfBenchmarks {
			step := by[b.metric]
			r, err := tool.Read("perf-bench", step.Output())
			if err != nil {
				return nil, workload.InStep(b.metric, err)
			}
			v, _ := values(r)
			did, want := r.Value("operations"), float64(size)*b.operations
			if v[b.metric] == 0 || did != want {
				return nil, fault.Guestf("step %s: perf did %.0f operations instead of %.0f%s", b.metric, did, want, step.Said())
			}
			m[b.metric] = v[b.metric]
			m["time"] += step.Wall.Seconds()
		}
		return m, nil
	})
}

func lmbench() *workload.Workload {
	return lmbenchWorkload(&workload.Workload{
		Name: "lmbench", Title: "lmbench: latency of system calls, processes, messages and arithmetic",
		ArticleIDs: []string{"C3-lmbench"},
		Metrics: []workload.Metric{
			workload.Latency("syscall", "Simple syscall", "one system call, getppid()"),
			workload.Latency("read", "Simple read", "a read of one byte from /dev/zero"),
			workload.Latency("write", "Simple write", "a write of one byte to /dev/null"),
			workload.Latency("stat", "Simple stat", "stat() of a file"),
			workload.Latency("open-close", "Simple open/close", "open() and close() of a file"),
			workload.Latency("signal", "Signal handler installation", "sigaction()"),
			workload.Latency("fork", "Process fork+exit", "fork() and the child's exit()"),
			workload.Latency("pipe", "Pipe latency", "sending a byte to another process and back over a pipe"),
			workload.Latency("unix-socket", "AF_UNIX sock stream latency", "the same over a Unix socket"),
			workload.Latency("integer-add", "integer add", "an addition"),
			workload.Latency("integer-div", "integer div", "a division"),
			workload.Latency("double-mul", "double mul", "a multiplication of floating-point numbers"),
		},
	}, `for call in null read write stat open; do
	lat_syscall -P 1 -W 1 -N "$1" $call /etc/passwd
done
lat_sig -P 1 -W 1 -N "$1" install
lat_proc -P 1 -W 1 -N "$1" fork
lat_pipe -P 1 -W 1 -N "$1"
lat_unix -P 1 -W 1 -N "$1"
lat_ops -W 1 -N "$1"`)
}
