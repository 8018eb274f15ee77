package builtin

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/histogram"
	"github.com/tare-bench/tare/internal/workload"
	"github.com/tare-bench/tare/internal/workload/tool"
)

const (
	// iopingMost is the largest number of requests: iopingLog has about 75 bytes for each.
	iopingMost = 2_000_000
	// iopingLog is a file in memory, in which ioping writes a line for each request, and its statistics.
	iopingLog = "/tmp/tare-ioping.log"

	// iopingCounts counts the requests of iopingLog by their time in ns, without the first one, which ioping does not
	// count either. ioping prints four significant digits, or three: a histogram keeps two.
	iopingCounts = `perl -ne 'BEGIN { %ns = (ns => 1, us => 1e3, ms => 1e6, s => 1e9, min => 6e10) }` +
		` $n{sprintf "%.0f", $2 * $ns{$3}}++ if /` + tool.IopingRequest + `$/ and $4 !~ /too|warmup/;` +
		` END { print "$n{$_} $_\n" for keys %n }' "$1" && rm "$1"`
)

// ioping does one small read at a time: the latency of the disk.
func ioping() *workload.Workload {
	w := &workload.Workload{
		Name:   "disk-latency",
		Title:  "read 4 KiB blocks at random, one at a time, bypassing the page cache: latency of the disk",
		Source: "ioping (ioping)", Programs: []string{"ioping", "perl", "rm", "sh", "tail"},
		Packages: []string{"coreutils", "dash", "ioping", "perl-base"},
		Metrics: []workload.Metric{
			workload.Latency("latency", "avg", "mean per request, as ioping prints it"),
			workload.Latency("latency-max", "max", "the longest request"),
			workload.Rate("iops", "1/s", "", "requests / the sum of their times"),
			workload.Time("all requests, and writing the file that they read"),
		},
		SizeUnit: "requests (the first is not counted)", MinSize: 100, MaxSize: iopingMost, DefaultSize: 10_000,
		DiskBytes: func(int64) int64 { return 65 << 20 },
		Steps: func(size int64) []workload.Step {
			return []workload.Step{
				{Name: "ioping", Timed: true,
					Argv: sh(`exec ioping -D -i 0 -S 64m -c "$1" . >"$2"`, "sh", decimal(size), iopingLog)},
				{Name: "statistics", Argv: []string{"tail", "-n", "4", iopingLog}},
				{Name: "latencies", Argv: sh(iopingCounts, "sh", iopingLog)},
			}
		},
		SingleOf:  "latency",
		Latencies: func(results []workload.StepResult) (*histogram.Histogram, error) { return singlesCounted(results, 1) },
	}
	w.MeasuredBy(workload.Measurement{Step: "ioping", Report: "statistics", Tool: "ioping", Did: "requests",
		Accept: func(r *tool.Report) error {
			if did := r.Words["operation"]; did != "read" {
				return fault.Guestf("ioping's requests were to %s, not to read", did)
			}
			return nil
		},
		Values: func(r *tool.Report) (map[string]float64, error) {
			mean, err := r.One("avg")
			if err != nil {
				return nil, err
			}
			return map[string]float64{"iops": 1 / mean.In("s")}, nil
		}})
	return alsoChecking(w, func(size int64, by map[string]workload.StepResult) error {
		h, err := singlesCounted([]workload.StepResult{by["latencies"]}, 1)
		if err == nil && h.Count() != size-1 {
			err = fault.Guestf("step latencies: %d requests instead of %d", h.Count(), size-1)
		}
		return err
	})
}

// sysbenchFileio reads and writes blocks of 16 KiB at random, three reads to two
// writes, with an fsync after every hundred operations: the pattern of a database.
func sysbenchFileio() *workload.Workload {
	// The files have at least 64 MiB, at most 4 GiB, and otherwise as much as the operations can touch.
	total := func(size int64) int64 { return max(64<<20, min(size*16<<10, 4<<30)) }
	w := &workload.Workload{
		Name: "sysbench-fileio", Title: "read and write 16 KiB blocks at random, with fsync: files of a database",
		ReadsBack: true,
		Metrics: []workload.Metric{
			workload.Time("all operations, the flush of the files and the start of sysbench"),
			workload.Rate("reads", "1/s", "reads", "reads per second, as sysbench prints them"),
			workload.Rate("writes", "1/s", "writes", "writes per second, as sysbench prints them"),
			workload.Latency("latency", "mean latency", "mean per operation, as sysbench prints it"),
			sysbenchTime(),
		},
		SizeUnit: "operations (reads of 16 KiB, writes and fsyncs)", MinSize: 500, MaxSize: 10_000_000,
		DefaultSize: 20_000,
		DiskBytes:   func(size int64) int64 { return total(size) + 16<<20 },
		Steps: func(size int64) []workload.Step {
			fileio := func(args ...string) []string {
				files := []string{"--file-num=4", "--file-total-size=" + strconv.FormatInt(total(size), 10)}
				return sysbenchLine("fileio", append(files, args...)...)
			}
			return []workload.Step{
				{Name: "prepare", Argv: fileio("prepare")},
				{Name: "sync", Argv: []string{"sync", "-f", "."}},
				{Name: "fileio", Timed: true, DropCaches: true, Argv: fileio("--threads=1", "--file-test-mode=rndrw",
					"--rand-seed=1", "--histogram=on", "--events="+decimal(size), "run")},
				{Name: "clean", Argv: fileio("cleanup")},
			}
		},
	}
	return sysbench(w, "fileio", workload.Measurement{Did: "events", SingleOf: "latency", Singles: sysbenchSingles})
}

// bonnieMetrics are the fields of bonnie++'s CSV that are metrics, in the order of
// its table. Each also has a field for its share of a CPU, and one for its latency.
var bonnieMetrics = []struct{ name, field, unit, about string }{
	{"write-char", "putc", "B/s", "writing the file one character at a time"},
	{"write-block", "put_block", "B/s", "writing the file in blocks"},
	{"rewrite", "rewrite", "B/s", "reading and rewriting the file"},
	{"read-char", "getc", "B/s", "reading the file one character at a time"},
	{"read-block", "get_block", "B/s", "reading the file in blocks"},
	{"seeks", "seeks", "1/s", "reads, and some writes, at random places by five processes"},
	{"create", "seq_create", "1/s", "creating empty files in order"},
	{"stat", "seq_stat", "1/s", "stat of the files in order"},
	{"delete", "seq_del", "1/s", "removing the files in order"},
	{"create-random", "ran_create", "1/s", "creating empty files at random"},
	{"stat-random", "ran_stat", "1/s", "stat of the files at random"},
	{"delete-random", "ran_del", "1/s", "removing the files at random"},
}

// bonnie runs bonnie++ on a file of size MiB and on empty files. At the article's
// size, their number is within a factor of 16 of the article's.
func bonnie() *workload.Workload {
	return workload.WithParams([]workload.Param{{Name: "files", Default: "0", Max: 4096,
		About: "files in units of 1024, bonnie++'s -n; 0: one unit for each 64 MiB of the size"}}, bonnieWith)
}

func bonnieWith(set workload.Settings) *workload.Workload {
	const (
		dir = "tare-bonnie"
		// ram is the amount of memory that tare tells bonnie++, in MiB: bonnie++
		// refuses files of less than twice that. The flavor sets the actual memory.
		ram      = 32
		thousand = 1024 // files: one unit of bonnie++'s -n
	)
	files := func(size int64) int64 {
		if n := set.Int("files"); n > 0 {
			return int64(n)
		}
		return max(1, size/64)
	}
	w := &workload.Workload{
		Name:       "bonnie",
		Title:      "bonnie++: a large file, by character, by block and at random places, and many empty files",
		ArticleIDs: []string{"H2-bonnie", "P8-bonnie"}, Source: "bonnie++ (bonnie++)",
		Programs: []string{"bash", "bonnie++", "id", "mkdir", "rm", "sync"},
		Packages: []string{"bash", "bonnie++", "coreutils"},
		Metrics: []workload.Metric{workload.Time("the whole run of bonnie++; tests by character take some seconds at " +
			"any size")},
		SizeUnit: "MiB", MinSize: 2 * ram, MaxSize: 1 << 20,

		DefaultSize: 1024, // the article's 1G
		Uneven:      "tests by character take some seconds at any size",
		Sparse:      true,
		DiskBytes:   func(size int64) int64 { return size<<20 + files(size)*thousand*512 + 32<<20 },
		Steps: func(size int64) []workload.Step {
			return []workload.Step{
				{Name: "prepare", Argv: bash("rm -rf " + dir + " && mkdir -m 1777 " + dir)},
				{Name: "bonnie", Timed: true, Argv: bash(`user=
[ "$(id -u)" != 0 ] || user="-u root"
exec bonnie++ -q -m tare -d "$1" -s "$2" -r "$3" -n "$4" $user`,
					"bonnie", dir, decimal(size), strconv.Itoa(ram), strconv.FormatInt(files(size), 10))},
				{Name: "clean", Argv: bash("rm -rf " + dir + " && sync -f .")},
			}
		},
	}
	for _, m := range bonnieMetrics {
		about := m.about + "; absent if it took less than half a second, which bonnie++ does not report"
		w.Metrics = append(w.Metrics, workload.Rate(m.name, m.unit, m.field, about))
	}
	for _, m := range bonnieMetrics {
		w.Metrics = append(w.Metrics, workload.Metric{Name: m.name + "-cpu", Unit: "%CP", Better: workload.Lower,
			Clock: workload.GuestClock, Figure: m.field + "_cpu",
			About: "bonnie++'s %CP, the share of a CPU that the guest counts for " + m.about})
	}
	for _, m := range bonnieMetrics {
		w.Metrics = append(w.Metrics, workload.Latency(m.name+"-latency", m.field+"_latency",
			"longest single operation of "+m.about))
	}
	return w.MeasuredBy(workload.Measurement{Step: "bonnie", Tool: "bonnie++", Did: "file_size", Per: 1 << 20})
}

// iozoneTests are iozone's tests, by its names.
var iozoneTests = []string{"write", "rewrite", "read", "reread", "random read", "random write", "bkwd read",
	"record rewrite",
	"stride read", "fwrite", "frewrite", "fread", "freread"}

// iozone runs all of iozone's tests on one file, with each record size.
func iozone() *workload.Workload {
	w := &workload.Workload{
		Name: "iozone", Title: "iozone: a file written and read in thirteen ways, with records of 4 KiB to 16 MiB",
		ArticleIDs: []string{"A7-iozone", "L3-iozone"}, Source: "iozone -a -z (iozone3)",
		Packages: []string{"iozone3"}, NonFree: true, Programs: []string{"iozone"},
		Metrics:  []workload.Metric{workload.Time("all tests, as in the articles")},
		SizeUnit: "MiB, the size of the file", MinSize: 16, MaxSize: 1 << 20, DefaultSize: 512,
		DiskBytes: func(size int64) int64 { return size << 20 },
		Steps: timed("iozone", func(size int64) []string {
			return []string{"iozone", "-a", "-z", "-s", decimal(size) + "m", "-f", "iozone.tmp"}
		}),
	}
	metric := func(test string) string { return strings.ReplaceAll(test, " ", "-") }
	var records []float64
	for record := 4 << 10; record <= 16<<20; record *= 2 {
		records = append(records, float64(record))
	}
	for _, test := range iozoneTests {
		w.Metrics = append(w.Metrics,
			workload.Rate(metric(test), "B/s", "", "iozone's "+test+", all record sizes together: bytes / the sum of the times"))
		w.Curves = append(w.Curves, workload.Curve{Parameter: "record", In: "B", At: records,
			Metric: workload.Rate(metric(test), "B/s", "", "iozone's "+test+" with records of one size")})
	}
	// byTest returns the figures of a test: one for each size of the file and of the records.
	byTest := func(r *tool.Report, test string) (rates []tool.Figure) {
		for _, f := range r.Figures {
			if of, _, ok := strings.Cut(f.Name, ", "); ok && of == test {
				rates = append(rates, f)
			}
		}
		return rates
	}
	return w.MeasuredBy(workload.Measurement{Step: "iozone", Tool: "iozone",
		Values: func(r *tool.Report) (map[string]float64, error) {
			m := map[string]float64{}
			for _, test := range iozoneTests {
				rates, times := byTest(r, test), 0.0
				for _, f := range rates { // each moves the whole file, so the mean of the rates is harmonic
					times += 1 / f.In("B/s")
				}
				if times > 0 {
					m[metric(test)] = float64(len(rates)) / times
				}
			}
			return m, nil
		},
		Points: func(r *tool.Report) map[string]float64 {
			m := map[string]float64{}
			for i, test := range iozoneTests {
				for _, f := range byTest(r, test) {
					var file, record float64
					if n, _ := fmt.Sscanf(f.Name[len(test):], ", %g kB by %g kB", &file, &record); n == 2 {
						m[w.Curves[i].Point(record*1024)] = f.In("B/s")
					}
				}
			}
			return m
		},
		Check: func(size int64, r *tool.Report) error {
			file, first := ", "+strconv.FormatInt(size<<10, 10)+" kB by ", len(byTest(r, iozoneTests[0]))
			for _, test := range iozoneTests {
				rates := byTest(r, test)
				for _, f := range rates {
					if !strings.HasPrefix(f.Name, test+file) {
						return fault.Guestf("iozone's file does not have %d KiB: %s", size<<10, f.Name)
					}
				}
				if len(rates) != first {
					return fault.Guestf("iozone ran %s with %d record sizes, but %s with %d", test, len(rates), iozoneTests[0], first)
				}
			}
			return nil
		}})
}

// unixbenchCopy is UnixBench's File Copy, run by UnixBench's program pgms/fstime.
func unixbenchCopy() *workload.Workload {
	buffer := workload.Param{Name: "buffer", Default: "1024", Values: []string{"256", "1024", "4096"},
		About: "bytes per read or write; the file is 2000 times as large"}
	return workload.WithParams([]workload.Param{buffer}, func(set workload.Settings) *workload.Workload {
		blocks := strconv.Itoa(2000 * set.Int("buffer") / 1024)
		w := &workload.Workload{
			Name: "unixbench-file-copy", Title: "UnixBench's File Copy, run by its own program: copy a small file repeatedly " +
				"for a given time",
			ArticleIDs: []string{"H1-unixbench"}, OwnBuild: true,
			Source: "your build of UnixBench (fstime): build is the path of its directory UnixBench, after make",
			Metrics: []workload.Metric{
				workload.Rate("bandwidth", "B/s", "Copy: score", "copied data, counted once, as fstime prints it"),
				workload.Time("the whole run of fstime, which lasts as long as requested"),
			},
			SizeUnit: "s of copying (UnixBench takes 30)", MinSize: 1, MaxSize: 3600, DefaultSize: 30,
			DiskBytes: func(int64) int64 { return 32 << 20 },
			Steps: func(size int64) []workload.Step {
				return []workload.Step{{Name: "copy", Timed: true, Timeout: time.Duration(size)*time.Second + 5*time.Minute,
					Argv: []string{
						workload.OwnBuildPath + "/pgms/fstime", "-c", "-t", decimal(size), "-d", ".", "-b", set["buffer"],
						"-m", blocks}}}
			},
		}
		return w.MeasuredBy(workload.Measurement{Step: "copy", Tool: "unixbench",
			Check: func(size int64, r *tool.Report) error {
				if seconds := r.Value("Copy: time"); seconds < float64(size) {
					return fault.Guestf("fstime copied for %g s instead of %d", seconds, size)
				}
				return nil
			}})
	})
}

// tiotest runs tiobench's own program, with the four tests of tiobench.pl.
func tiotest() *workload.Workload {
	const operations = 4000
	return workload.WithParams([]workload.Param{threadsParam}, func(set workload.Settings) *workload.Workload {
		threads := set.Int("threads")
		w := &workload.Workload{
			Name: "tiobench", Title: "tiobench, run by its own program: threads that each write and read a file, sequentially " +
				"and at random",
			ArticleIDs: []string{"P4-tio-seqread", "P5-tio-randread", "P6-tio-seqwrite", "P7-tio-randwrite"}, OwnBuild: true,
			Source: "your build of tiobench (tiotest): build is the path of its directory, after make",
			Metrics: []workload.Metric{
				workload.Rate("write", "B/s", "Write", "sequential, as tiotest prints it"),
				workload.Rate("random-write", "B/s", "Random Write", "4 KiB at random, as tiotest prints it"),
				workload.Rate("read", "B/s", "Read", "sequential, right after writing, as tiotest prints it"),
				workload.Rate("random-read", "B/s", "Random Read", "4 KiB at random, as tiotest prints it"),
				workload.Time("all four tests, and the removal of the files"),
			},
			SizeUnit: "MiB by each thread", MinSize: 16, MaxSize: 1 << 20, DefaultSize: 256,
			DiskBytes: func(size int64) int64 { return int64(threads) * size << 20 },
			Sparse:    true, // no rate for what was too fast for tiotest to time
			Steps: timed("tiotest", func(size int64) []string {
				return []string{workload.OwnBuildPath + "/tiotest", "-t", set["threads"],
					"-f", decimal(size), "-r", strconv.Itoa(max(1, operations/threads)), "-b", "4096", "-d", "."}
			}),
		}
		return w.MeasuredBy(workload.Measurement{Step: "tiotest", Tool: "tiobench", Did: "Write: size",
			Per: float64(threads << 20),
			Accept: func(r *tool.Report) error {
				if r.Value("Write") == 0 {
					return fault.Guestf("this is not the table of one tiotest run: it has no rate of the test Write")
				}
				return nil
			}})
	})
}
