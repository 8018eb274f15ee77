package workload

import (
	"math"
	"regexp"
	"strconv"
	"time"

	"github.com/tare-bench/tare/internal/fault"
)

// OwnBuildPath, anywhere in a step's command, stands for the path in the guest of
// the directory or file that the user supplies.
const OwnBuildPath = "{build}"

// Built returns the workload with OwnBuildPath replaced by path.
func (w *Workload) Built(path string) *Workload {
	built := *w
	built.Steps = func(size int64) []Step { return replaced(w.Steps(size), OwnBuildPath, path) }
	if w.Serve != nil {
		built.Serve = func(size int64) []Step { return replaced(w.Serve(size), OwnBuildPath, path) }
	}
	return &built
}

// unixbenchCopy is UnixBench's File Copy, run by UnixBench's program pgms/fstime.
func unixbenchCopy() *Workload {
	buffer := Param{Name: "buffer", Default: "1024", Values: []string{"256", "1024", "4096"}, About: "bytes per read or write; the file is 2000 times as large"}
	return withParams([]Param{buffer}, func(set Settings) *Workload {
		w := &Workload{
			Name: "unixbench-file-copy", Title: "UnixBench's File Copy, run by its own program: copy a small file repeatedly for a given time",
			ArticleIDs: []string{"H1-unixbench"}, OwnBuild: true,
			Source: "your build of UnixBench (fstime): build is the path of its directory UnixBench, after make",
			Metrics: []Metric{rateMetric("bandwidth", "B/s", "copied data, counted once, as fstime prints it"),
				wallMetric("the whole run of fstime, which lasts as long as requested")},
			SizeUnit: "s of copying (UnixBench takes 30)", MinSize: 1, MaxSize: 3600, DefaultSize: 30,
			DiskBytes: func(int64) int64 { return 32 << 20 },
		}
		blocks := strconv.Itoa(2000 * set.Int("buffer") / 1024)
		w.Steps = func(size int64) []Step {
			return []Step{{Name: "copy", Timed: true, Timeout: time.Duration(size)*time.Second + 5*time.Minute, Argv: []string{
				OwnBuildPath + "/pgms/fstime", "-c", "-t", strconv.FormatInt(size, 10), "-d", ".", "-b", set["buffer"], "-m", blocks}}}
		}
		return w.measuredBy("copy", readFstime)
	})
}

var fstimeCopied = regexp.MustCompile(`(?m)^Copy done: (\d+) in (\d+\.\d+), score (\d+)\r?$`)

// readFstime reads the copy line of fstime -c: units of 256 bytes, seconds, and
// KiB/s.
func readFstime(text string) (reading, error) {
	var n, seconds, score float64
	err := takeOnce("fstime", text, []pick{{fstimeCopied, "Copy done", []*float64{&n, &seconds, &score}}})
	if err != nil {
		return reading{}, err
	}
	if rate := n / 4 / seconds; math.Abs(rate-score) > 0.01*score+1 {
		return reading{}, fault.Guestf("fstime: rate × time is not the size: %.0f units of 256 bytes in %g s are %.0f KiB/s, but it prints %.0f", n, seconds, rate, score)
	}
	return reading{values: map[string]float64{"bandwidth": score * 1024}, check: func(size int64) error {
		if seconds < float64(size) {
			return fault.Guestf("fstime copied for %g s instead of %d", seconds, size)
		}
		return nil
	}}, nil
}

// tiotest runs tiobench's own program, with the four tests of tiobench.pl.
func tiotest() *Workload {
	const operations = 4000
	return withParams([]Param{threadsParam}, func(set Settings) *Workload {
		threads := set.Int("threads")
		metric := func(name, what string) Metric { return rateMetric(name, "B/s", what+", as tiotest prints it") }
		w := &Workload{
			Name: "tiobench", Title: "tiobench, run by its own program: threads that each write and read a file, sequentially and at random",
			ArticleIDs: []string{"P4-tio-seqread", "P5-tio-randread", "P6-tio-seqwrite", "P7-tio-randwrite"}, OwnBuild: true,
			Source:   "your build of tiobench (tiotest): build is the path of its directory, after make",
			Metrics:  []Metric{metric("write", "sequential"), metric("random-write", "4 KiB at random"), metric("read", "sequential, right after writing"), metric("random-read", "4 KiB at random")},
			SizeUnit: "MiB by each thread", MinSize: 16, MaxSize: 1 << 20, DefaultSize: 256,
			DiskBytes: func(size int64) int64 { return int64(threads) * size << 20 },
			Sparse:    true, // no rate for what was too fast for tiotest to time
		}
		w.Metrics = append(w.Metrics, wallMetric("all four tests, and the removal of the files"))
		w.Steps = func(size int64) []Step {
			return []Step{{Name: "tiotest", Timed: true, Argv: []string{OwnBuildPath + "/tiotest", "-t", set["threads"], "-f", strconv.FormatInt(size, 10),
				"-r", strconv.Itoa(max(1, operations/threads)), "-b", "4096", "-d", "."}}}
		}
		return w.measuredBy("tiotest", func(text string) (reading, error) {
			figures, err := readTiobench(text)
			if err != nil {
				return reading{}, err
			}
			names := map[string]string{"Write": "write", "Random Write": "random-write", "Read": "read", "Random Read": "random-read"}
			r := reading{values: map[string]float64{}}
			for _, f := range figures {
				if name := names[f.Metric]; name != "" && f.Value > 0 { // 0: too fast for tiotest to time
					r.values[name] = f.Value * (1 << 20)
				}
			}
			if r.values["write"] == 0 {
				return reading{}, fault.Guestf("this is not the table of one tiotest run: %s", quote(text))
			}
			r.check = func(size int64) error {
				var did float64
				err := takeOnce("tiotest", text, []pick{{tioWritten, "| Write  ", []*float64{&did}}})
				if want := float64(int64(threads) * size); err == nil && did != want {
					err = fault.Guestf("tiotest wrote %.0f MiB instead of %.0f", did, want)
				}
				return err
			}
			return r, nil
		})
	})
}

var tioWritten = regexp.MustCompile(`(?m)^\| Write +(\d+) MBs \|`)

// nbench runs all of BYTE's benchmark of CPU and memory.
func nbench() *Workload {
	index := func(name, about string) Metric { return rateMetric(name, "index", about+" against an AMD K6-233") }
	w := &Workload{
		Name: "nbench", Title: "nbench (BYTEmark): ten tests of CPU and memory; takes minutes on any machine",
		ArticleIDs: []string{"P2-nbench"}, OwnBuild: true,
		Source: "your build of nbench: build is the path of its directory, with NNET.DAT",
		Metrics: []Metric{index("memory", "string sort, bit field and assignment"), index("integer", "numeric sort, FP emulation, IDEA and Huffman"), index("float", "Fourier, neural net and LU decomposition"),
			wallMetric("the whole run of nbench, which repeats each test for a few seconds")},
		SizeUnit: "runs of nbench", MinSize: 1, MaxSize: 1, DefaultSize: 1,
		Tools: []string{"sh"},
	}
	w.Steps = func(int64) []Step {
		return []Step{{Name: "nbench", Timed: true, Timeout: time.Hour, Argv: []string{"sh", "-c", `cd "$1" && exec ./nbench`, "sh", OwnBuildPath}}}
	}
	return w.measuredBy("nbench", func(text string) (reading, error) {
		figures, err := GetTool("nbench").Read(text)
		if err != nil {
			return reading{}, err
		}
		// The indices against the K6-233 are the last three.
		names := map[string]string{"MEMORY INDEX": "memory", "INTEGER INDEX": "integer", "FLOATING-POINT INDEX": "float"}
		r, indices := reading{values: map[string]float64{}}, 0
		for _, f := range figures {
			if name := names[f.Metric]; name != "" {
				r.values[name] = f.Value
				indices++
			}
		}
		if indices != 5 {
			return reading{}, fault.Guestf("nbench printed %d indices instead of 5: this is not the complete output of one run", indices)
		}
		return r, nil
	})
}

// ttcp runs ttcp itself.
func ttcp() *Workload {
	const port, buffer = 25001, 8192
	w := &Workload{
		Name: "ttcp", Title: "TCP throughput by ttcp with buffers of 8 KiB", ArticleIDs: []string{"P9-ttcp"}, OwnBuild: true,
		Source:   "your build of ttcp: build is the path of its directory",
		Metrics:  []Metric{rateMetric("bandwidth", "bit/s", "sent data, as the sender prints it"), wallMetric("the whole transfer, and the start of ttcp")},
		SizeUnit: "buffers of 8 KiB", MinSize: 2048, MaxSize: 1 << 30, DefaultSize: 1 << 17,
	}
	number := strconv.Itoa(port)
	// ttcp exits after one connection, but a server must run as long as the trial.
	server := []string{"sh", "-c", "while :; do " + OwnBuildPath + "/ttcp -r -s -p " + number + " || sleep 0.1; done"}
	return w.netWorkload(port, server, func(size int64) []string {
		return []string{"sh", "-c", `exec "$0" -t -s -p "$1" -n "$2" "$3"`, OwnBuildPath + "/ttcp", number, strconv.FormatInt(size, 10), ServerAddress}
	}, func(text string) (reading, error) {
		var bytes, seconds, rate float64
		err := takeOnce("ttcp", text, []pick{{ttcpSent, "real seconds", []*float64{&bytes, &seconds, &rate}}})
		return reading{values: map[string]float64{"bandwidth": rate * 1024 * 8}, did: bytes / buffer}, err
	})
}

var ttcpSent = regexp.MustCompile(`(?m)^ttcp-[tr]: (\d+) bytes in (\d+\.\d+) real seconds = (\d+\.\d+) KB/sec \+\+\+\r?$`)
