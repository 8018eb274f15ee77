package workload

import (
	"math"
	"regexp"
	"strconv"
	"time"

	"github.com/tare-bench/tare/internal/fault"
)

// OwnBuildPath, anywhere in a step's command, stands for where guests have the
// directory or the file that the user gives.
const OwnBuildPath = "{build}"

// Built returns the workload with the path of the user's build put in.
func (w *Workload) Built(path string) *Workload {
	built := *w
	built.Steps = func(size int64) []Step { return replaced(w.Steps(size), OwnBuildPath, path) }
	if w.Serve != nil {
		built.Serve = func(size int64) []Step { return replaced(w.Serve(size), OwnBuildPath, path) }
	}
	return &built
}

// unixbenchCopy is UnixBench's File Copy by its own program, pgms/fstime.
func unixbenchCopy() *Workload {
	buffer := Param{Name: "buffer", Default: "1024", Values: []string{"256", "1024", "4096"}, About: "bytes that are copied at a time; the file has 2000 times that"}
	return withParams([]Param{buffer}, func(set Settings) *Workload {
		w := &Workload{
			Name: "unixbench-file-copy", Title: "UnixBench's File Copy, by its own program: a small file, again and again, for a given time",
			ArticleIDs: []string{"H1-unixbench"}, OwnBuild: true,
			Source: "fstime of UnixBench, built by yourself: build is its directory UnixBench, after make",
			Metrics: []Metric{rateMetric("bandwidth", "B/s", "what was copied, counted once, as fstime prints it"),
				wallMetric("all of fstime: it takes as long as it is told to")},
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

// readFstime reads what fstime -c says of its copying: units of 256 bytes,
// seconds, and KiB a second.
func readFstime(text string) (reading, error) {
	var n, seconds, score float64
	err := takeOnce("fstime", text, []pick{{fstimeCopied, "Copy done", []*float64{&n, &seconds, &score}}})
	if err != nil {
		return reading{}, err
	}
	if rate := n / 4 / seconds; math.Abs(rate-score) > 0.01*score+1 {
		return reading{}, fault.Guestf("fstime: %.0f units of 256 bytes in %g s are %.0f KiB/s, and it says %.0f: rate × time is not the size", n, seconds, rate, score)
	}
	return reading{values: map[string]float64{"bandwidth": score * 1024}, check: func(size int64) error {
		if seconds < float64(size) {
			return fault.Guestf("fstime copied for %g s instead of %d", seconds, size)
		}
		return nil
	}}, nil
}

// tiotest is tiobench's own program, with the four tests of tiobench.pl.
func tiotest() *Workload {
	const operations = 4000
	return withParams([]Param{threadsParam}, func(set Settings) *Workload {
		threads := set.Int("threads")
		metric := func(name, what string) Metric { return rateMetric(name, "B/s", what+", as tiotest prints it") }
		w := &Workload{
			Name: "tiobench", Title: "tiobench by its own program: threads that write and read files of their own, in order and at random",
			ArticleIDs: []string{"P4-tio-seqread", "P5-tio-randread", "P6-tio-seqwrite", "P7-tio-randwrite"}, OwnBuild: true,
			Source:   "tiotest of tiobench, built by yourself: build is its directory, after make",
			Metrics:  []Metric{metric("write", "in order"), metric("random-write", "4 KiB at random"), metric("read", "in order, what was just written"), metric("random-read", "4 KiB at random")},
			SizeUnit: "MiB by each thread", MinSize: 16, MaxSize: 1 << 20, DefaultSize: 256,
			DiskBytes: func(size int64) int64 { return int64(threads) * size << 20 },
			Sparse:    true, // what took no time that tiotest could tell has no rate
		}
		w.Metrics = append(w.Metrics, wallMetric("all four, and the removal of the files"))
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
				if name := names[f.Metric]; name != "" && f.Value > 0 { // 0 where it took no time that tiotest could tell
					r.values[name] = f.Value * (1 << 20)
				}
			}
			if r.values["write"] == 0 {
				return reading{}, fault.Guestf("this is not the table of one run of tiotest: %s", quote(text))
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

// nbench is BYTE's benchmark of CPU and memory, whole.
func nbench() *Workload {
	index := func(name, about string) Metric { return rateMetric(name, "index", about+" against an AMD K6-233") }
	w := &Workload{
		Name: "nbench", Title: "nbench (BYTEmark): ten tests of CPU and memory; minutes, whatever the machine",
		ArticleIDs: []string{"P2-nbench"}, OwnBuild: true,
		Source: "nbench, built by yourself: build is its directory, with NNET.DAT",
		Metrics: []Metric{index("memory", "string sort, bit field and assignment"), index("integer", "numeric sort, FP emulation, IDEA and Huffman"), index("float", "Fourier, neural net and LU decomposition"),
			wallMetric("all of nbench: it repeats each test until it has a few seconds")},
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
			return reading{}, fault.Guestf("nbench printed %d indices instead of 5: this is not the whole output of one run", indices)
		}
		return r, nil
	})
}

// ttcp is the old measure of TCP by its own program.
func ttcp() *Workload {
	const port, buffer = 25001, 8192
	w := &Workload{
		Name: "ttcp", Title: "TCP throughput by ttcp: buffers of 8 KiB", ArticleIDs: []string{"P9-ttcp"}, OwnBuild: true,
		Source:   "ttcp, built by yourself: build is its directory",
		Metrics:  []Metric{rateMetric("bandwidth", "bit/s", "what was sent, as the sender prints it"), wallMetric("all of it, and the start of ttcp")},
		SizeUnit: "buffers of 8 KiB", MinSize: 2048, MaxSize: 1 << 30, DefaultSize: 1 << 17,
	}
	number := strconv.Itoa(port)
	// ttcp ends with its connection; a server must not, while the trial lasts.
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
