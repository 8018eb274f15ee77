package builtin

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/workload"
	"github.com/tare-bench/tare/internal/workload/tool"
)

// keepReady is the file with which the program says that its memory is filled.
const keepReady = "/tmp/tare-keeps"

// keeps fills MiB of memory with random data from its input, the nonce. On SIGTERM it reads one byte of every page,
// twice, and prints how long each took in ns, and whether the memory still holds the same.
const keeps = `import random, signal, sys, time, zlib
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
nonce, mib = sys.stdin.readline().strip(), int(sys.argv[1])
source, kept = random.Random(nonce), bytearray(mib << 20)
for i in range(mib):
    kept[i << 20:(i + 1) << 20] = source.randbytes(1 << 20)
def touch():
    begin = time.monotonic_ns()
    sum(kept[::4096])
    return time.monotonic_ns() - begin
before = zlib.crc32(kept)
touch()
open(sys.argv[2], "w").close()
signal.sigwait({signal.SIGTERM})
first, second = touch(), touch()
print(nonce)
print(mib, first, second, "same" if zlib.crc32(kept) == before else "other")`

// restoreParams: the page cache of the host when the guest is restored, and the program's memory.
var restoreParams = []workload.Param{{
	Name: "cache", Default: "warm", Values: []string{"warm", "cold"},
	About: "warm: the saved state is in the host's page cache, as it was written; " +
		"cold: the page cache is dropped before the guest is restored",
}, {
	Name: "memory", Default: "64", Min: 1, Max: 1 << 16,
	About: "MiB of random data that a program holds in the guest",
}}

// restore saves a guest in every trial and restores it. As with start, most times are known only to package run.
func restore() *workload.Workload {
	return workload.WithParams(restoreParams, func(set workload.Settings) *workload.Workload {
		mib := set.Int("memory")
		steps := func(int64) []workload.Step {
			return []workload.Step{
				{Name: workload.FreshStep, Argv: []string{"true"}},
				{Name: workload.KeepStep, Background: true,
					Argv:  []string{"python3", "-c", keeps, strconv.Itoa(mib), keepReady},
					Ready: []string{"test", "-e", keepReady}},
				{Name: "program", Timed: true, Argv: []string{"true"}},
			}
		}
		w := &workload.Workload{
			Name: "restore", Title: "save a guest with a program in it, restore it, and use the program's memory",
			Source:   "tare; the programs are true (coreutils) and a few lines of Python 3 (python3)",
			Programs: []string{"true", "test", "python3"}, Packages: []string{"coreutils", "python3"},
			Metrics: []workload.Metric{
				workload.Time("from the request to restore the guest to the first instruction of the user's next program, " +
					"without the time in which tare confines the process that it starts"),
				workload.HostTime(workload.FreshTime, "the same when the guest was started, from the request to create it"),
				workload.HostTime(workload.SaveTime,
					"from the request to save the guest until its state is complete and nothing of it runs any more"),
				workload.HostTime(workload.SaveTime+workload.FlushedSuffix, "the same, until the state is also on the disk"),
				{Name: workload.SavedSize, Unit: "B", Better: workload.Lower, Clock: workload.HostClock,
					About: "size of the saved state's files"},
				workload.Latency("first-touch", "",
					"the program's first read of every page of its memory after the guest was restored"),
				workload.Latency("second-touch", "", "the same right after that"),
				workload.HostTime(workload.StopTime,
					"from the request to end the restored guest until nothing of it runs any more"),
				workload.HostTime(workload.RemoveTime, "from the same request until nothing of the guest is left on the host: "+
					"no mount, device, group or file"),
			},
			SizeUnit: "restoration", MinSize: 1, MaxSize: 1, DefaultSize: 1,
			Sparse:  true,
			Creates: true, Restores: true,
			Cold:  set["cache"] == "cold",
			Steps: steps,
			Parse: noOutput("restore"),
		}
		return w.EvaluatedBy(func(_ int64, by map[string]workload.StepResult) (map[string]float64, error) {
			m, err := touched(by[workload.KeepStep].Stdout, mib)
			if err != nil {
				return nil, workload.InStep(workload.KeepStep, err)
			}
			m["time"] = by["program"].Wall.Seconds()
			return m, nil
		})
	})
}

// touched reads what the program keeps prints after the nonce.
func touched(output []byte, mib int) (map[string]float64, error) {
	var size, first, second int64
	var content string
	text := strings.TrimSuffix(string(output), "\n")
	n, _ := fmt.Sscanf(text, "%d %d %d %s", &size, &first, &second, &content)
	switch {
	case n != 4 || text != fmt.Sprintf("%d %d %d %s", size, first, second, content):
		return nil, fault.Guestf("the program printed %s, not its memory's size, two times and a word", tool.Quote(text))
	case size != int64(mib):
		return nil, fault.Guestf("the program held %d MiB instead of %d", size, mib)
	case content != "same":
		return nil, fault.Guestf("the program's memory does not hold what it held when the guest was saved")
	}
	return map[string]float64{
		"first-touch": time.Duration(first).Seconds(), "second-touch": time.Duration(second).Seconds(),
	}, nil
}
