// Package builtin has tare's own workloads, in files by what they load.
package builtin

import (
	"strings"

	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/nearest"
	"github.com/tare-bench/tare/internal/workload"
)

// All returns every built-in workload, in display order.
func All() []*workload.Workload {
	return append([]*workload.Workload{
		opensslEnc(),
		ddWrite(),
		ddRead(),
		untarKernel(kernelSource),
		cpioRead(kernelSource),
		tarCreate(kernelSource),
		kernelBuild(),
		zstd(kernelSource),
		pythonStart(),
		gitCloning(kernelSource),
		sqlite(),
		ffmpeg(),
		stressExec(),
		fioRandom("read"),
		fioRandom("write"),
		tiobench("read"),
		tiobench("randread"),
		tiobench("write"),
		tiobench("randwrite"),
		fileCopy(),
		fioFiles(),
		bonnie(),
		ioping(),
		sysbenchCPU(),
		sysbenchMemory("read"),
		sysbenchMemory("write"),
		mbw(),
		memoryPressure(), pipeCopy(),
		sysbenchThreads(),
		sysbenchMutex(),
		sysbenchFileio(),
		hackbench("pipe"),
		hackbench("socket"),
		cyclictest(),
		perfBench(),
		kernelBench(),
		bogomips(),
		iozone(),
		lmbench(),
		lmbenchMemory(),
		lmbenchPipe(),
		unixbenchCopy(),
		tiotest(),
		nbench(),
		ttcp(),
		start(),
		fill(),
		restore(),
	}, services()...)
}

// Get returns the workload of that name; the error for an unknown one suggests
// the nearest name.
func Get(name string) (*workload.Workload, error) {
	var names []string
	for _, w := range All() {
		if w.Name == name {
			return w, nil
		}
		names = append(names, w.Name)
	}
	err := fault.Campaignf("there is no workload %q", name)
	if n := nearest.Nearest(name, names); n != "" {
		return nil, fault.WithRemedy(err, "did you mean %q?", n)
	}
	return nil, fault.WithRemedy(err, "choose one of %s", strings.Join(names, ", "))
}
