package builtin

import (
	"math"
	"os"
	"path/filepath"
	"testing"
)

func seed(f *testing.F, dirs ...string) {
	for _, dir := range dirs {
		files, err := filepath.Glob(filepath.Join("../tool/testdata", dir, "*.txt"))
		if err != nil || len(files) == 0 {
			f.Fatalf("%s: %v", dir, err)
		}
		for _, name := range files {
			b, err := os.ReadFile(name)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(b)
		}
	}
}

func fuzzParse(f *testing.F, name string, dirs ...string) {
	seed(f, dirs...)
	w := mustGet(f, name)
	f.Fuzz(func(t *testing.T, output []byte) {
		m, err := w.Parse(output)
		checkFuzzed(t, m, err)
	})
}

func checkFuzzed(t *testing.T, m map[string]float64, err error) {
	if err == nil && len(m) == 0 {
		t.Error("neither figures nor an error")
	}
	if err != nil && m != nil {
		t.Errorf("figures beside an error: %v, %v", m, err)
	}
	for name, v := range m {
		if math.IsNaN(v) || math.IsInf(v, 0) || v <= 0 {
			t.Errorf("%s is %v", name, v)
		}
	}
}

func FuzzParseOpensslEnc(f *testing.F)   { fuzzParse(f, "openssl-enc", "openssl", "dd") }
func FuzzParseDDWrite(f *testing.F)      { fuzzParse(f, "dd-write", "dd") }
func FuzzParseUntarKernel(f *testing.F)  { fuzzParse(f, "untar-kernel", "tar") }
func FuzzParseStressNGExec(f *testing.F) { fuzzParse(f, "stress-ng-exec", "stress-ng") }
func FuzzParseFioRandread(f *testing.F)  { fuzzParse(f, "fio-randread", "fio") }
func FuzzParseFioRandwrite(f *testing.F) { fuzzParse(f, "fio-randwrite", "fio") }
func FuzzParseSysbenchCPU(f *testing.F)  { fuzzParse(f, "sysbench-cpu", "sysbench") }

func FuzzParseArchives(f *testing.F) {
	seed(f, "cpio", "tar", "kernel-build")
	fuzzAll(f, "cpio-read", "tar-create", "kernel-build")
}

func FuzzParseFioFiles(f *testing.F) {
	seed(f, "fio")
	fuzzAll(f, "file-copy", "file-ops", "tio-seqread", "tio-randwrite")
}

func FuzzParseBonnie(f *testing.F) { fuzzParse(f, "bonnie", "bonnie++") }

func FuzzParseLatency(f *testing.F) {
	seed(f, "rt-tests", "ioping")
	fuzzAll(f, "hackbench-pipe", "cyclictest", "disk-latency")
}

func FuzzParseMemory(f *testing.F) {
	seed(f, "mbw", "perf-bench", "dd", "stress-ng")
	fuzzAll(f, "memory-copy", "kernel-ops", "pipe-copy", "cpu-kernels")
}

func FuzzParseOwnBuilds(f *testing.F) {
	seed(f, "nbench", "tiobench", "ttcp", "iozone", "lmbench")
	fuzzAll(f, "unixbench-file-copy", "tiobench", "nbench", "ttcp", "iozone", "lmbench", "lmbench-memory", "lmbench-pipe")
}

// fuzzAll fuzzes the parsers of several workloads.
func fuzzAll(f *testing.F, names ...string) {
	f.Fuzz(func(t *testing.T, output []byte) {
		for _, name := range names {
			m, err := mustGet(t, name).Parse(output)
			checkFuzzed(t, m, err)
		}
	})
}

func FuzzParseSysbench(f *testing.F) {
	seed(f, "sysbench")
	fuzzAll(f, "sysbench-memory-read", "sysbench-memory-write", "sysbench-threads", "sysbench-mutex", "sysbench-fileio")
}

// FuzzEvaluate passes steps that succeeded with arbitrary output to every workload.
func FuzzEvaluate(f *testing.F) {
	seed(f, "ab", "iperf3", "netpipe", "openssl", "dd", "tar", "stress-ng", "fio", "sysbench")
	f.Add([]byte("copy 0: 1 pieces, 3 of 3 files, 5 of 5 bytes\n"))
	f.Fuzz(func(t *testing.T, output []byte) {
		for _, w := range All() {
			m, err := w.Evaluate(w.MinSize, allWell(w, w.MinSize, output))
			checkFuzzed(t, m, err)
		}
	})
}
