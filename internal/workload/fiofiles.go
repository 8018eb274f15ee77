package workload

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/tare-bench/tare/internal/fault"
)

// copyFiles are UnixBench's three file copies: the buffer size, and the size of the
// file in KiB (UnixBench's "maxblocks", in units of 1024 bytes).
var copyFiles = map[string]int64{"256": 500, "1024": 2000, "4096": 8000}

// fileCopy reads and writes a small file in the page cache, one buffer at a time.
func fileCopy() *Workload {
	return withParams([]Param{{Name: "buffer", Default: "1024", Values: []string{"256", "1024", "4096"}, About: "bytes per read or write"}}, fileCopyWith)
}

func fileCopyWith(set Settings) *Workload {
	const file = "tare-copy.tmp"
	buffer := int64(set.Int("buffer"))
	bytes := copyFiles[set["buffer"]] << 10
	w := &Workload{
		Name:       "file-copy",
		Title:      "read and write a small file in the page cache, one buffer at a time: file system calls",
		ArticleIDs: []string{"H1-unixbench"},
		Source:     "fio (fio)",
		StandIn: "for UnixBench's File Copy: fio reads and writes one file, whereas UnixBench copies between two files for 30 seconds. " +
			"Half of the operations are writes, and only these count, as in UnixBench",
		Tools:    []string{"bash", "fio", "rm", "sync"},
		Packages: []string{"bash", "coreutils", "fio"},
		Metrics: []Metric{
			rateMetric("bandwidth", "B/s", "bytes written per second, while as many are read"),
			wallMetric("the whole run of fio, including its start"),
			guestTimeMetric("the run time that fio prints, in whole milliseconds"),
		},
		SizeUnit:    "times the file (half of it read, half written)",
		MinSize:     10,
		MaxSize:     10_000_000,
		DefaultSize: 2000,
		DiskBytes:   func(int64) int64 { return bytes + 1<<20 },
		Steps: func(size int64) []Step {
			fio := func(args ...string) []string {
				return append([]string{"fio", "--name=tare", "--filename=" + file, "--size=" + strconv.FormatInt(bytes, 10),
					"--bs=" + set["buffer"], "--ioengine=psync", "--output-format=json"}, args...)
			}
			return []Step{
				{Name: "prepare", Argv: []string{"rm", "-f", file}},
				{Name: "layout", Argv: fio("--rw=write", "--end_fsync=1")},
				{Name: "copy", Timed: true, Argv: fio("--rw=readwrite", "--rwmixread=50", "--randrepeat=1",
					"--io_size="+strconv.FormatInt(size*bytes, 10))},
				{Name: "clean", Argv: []string{"bash", "-c", "rm -f " + file + " && sync -f ."}},
			}
		},
	}
	return w.measuredBy("copy", func(text string) (reading, error) {
		run, err := parseFio([]byte(text))
		if err != nil {
			return reading{}, err
		}
		r, s := run.read, run.write
		if run.rw != "" && run.rw != "readwrite" && run.rw != "rw" || r.bytes == 0 || s.bytes == 0 {
			return reading{}, fault.Guestf("fio ran with --rw=%s, read %.0f bytes and wrote %.0f; that is not --rw=readwrite", run.rw, r.bytes, s.bytes)
		}
		for _, side := range []fioSide{r, s} {
			if err := side.consistent(run.depth); err != nil {
				return reading{}, err
			}
		}
		return reading{
			values: map[string]float64{"bandwidth": s.bw, "time-guest": s.runtime},
			check: func(size int64) error {
				if ops, want := r.ops+s.ops, size*bytes/buffer; ops != float64(want) {
					return fault.Guestf("fio did %.0f operations instead of %d", ops, want)
				}
				return nil
			},
		}, nil
	})
}

// fioTests are the tests of iozone that fio can repeat, by iozone's names.
var fioTests = []struct{ name, rw, about string }{
	{"write", "write", "writing a new file"},
	{"rewrite", "write", "writing it again"},
	{"read", "read", "reading it"},
	{"reread", "read", "reading it again"},
	{"random-read", "randread", "reading it at random"},
	{"random-write", "randwrite", "writing it at random"},
}

// fioRecords are the record sizes in KiB: four of iozone's thirteen, because fio
// takes 0.3 s to start and end each of its jobs.
var fioRecords = []int64{4, 64, 1024, 16384}

// fioFiles runs every test with every record size on a file.
func fioFiles() *Workload {
	const file = "tare-files.tmp"
	w := &Workload{
		Name:       "file-ops",
		Title:      "write, read and seek in a file through the page cache, with records of 4 KiB, 64 KiB, 1 MiB and 16 MiB",
		ArticleIDs: []string{"A7-iozone", "L3-iozone"},
		Source:     "fio (fio)",
		StandIn: "for iozone -a: six of its thirteen tests (no stride, backward, record rewrite, fread and fwrite) with four of its " +
			"record sizes, run by fio",
		Tools:    []string{"bash", "fio", "rm", "sync"},
		Packages: []string{"bash", "coreutils", "fio"},
		Metrics: []Metric{
			latencyMetric("io-time", "all tests with all records, without fio's time between them"),
			wallMetric("the whole run of fio, including about 0.3 s between two tests"),
		},
		SizeUnit: "MiB of the file",
		MinSize:  16, MaxSize: 64 << 10, DefaultSize: 512,
		DiskBytes: func(size int64) int64 { return size<<20 + 16<<20 },
	}
	for _, test := range fioTests {
		w.Metrics = append(w.Metrics, rateMetric(test.name, "B/s", test.about+": bytes / time, all records together"))
	}
	job := func(test string, record int64) string { return fmt.Sprintf("%s-%dk", test, record) }
	w.Steps = func(size int64) []Step {
		argv := []string{"fio", "--filename=" + file, "--size=" + strconv.FormatInt(size, 10) + "M",
			"--ioengine=psync", "--thread", "--randrepeat=1", "--output-format=json"}
		for i, record := range fioRecords {
			for _, test := range fioTests {
				argv = append(argv, "--name="+job(test.name, record), "--rw="+test.rw, fmt.Sprintf("--bs=%dk", record))
				if i > 0 || test.name != fioTests[0].name {
					argv = append(argv, "--stonewall")
				}
			}
		}
		remove := []string{"bash", "-c", "rm -f " + file + " && sync -f ."}
		return []Step{
			{Name: "prepare", Argv: remove},
			{Name: "files", Argv: argv, Timed: true},
			{Name: "clean", Argv: remove},
		}
	}
	return w.measuredBy("files", func(text string) (reading, error) {
		at := strings.Index("\n"+text, "\n{")
		if at < 0 {
			return reading{}, fault.WithRemedy(fault.Guestf("this is not fio's JSON: %s", quote(text)), "run fio with --output-format=json")
		}
		if line := fioError.FindString(grep(text, "fio: ")); line != "" {
			return reading{}, fault.Guestf("fio failed: %s", quote(line))
		}
		runs, err := parseFioJobs(text[at:])
		if err != nil {
			return reading{}, err
		}
		byName := map[string]fioRun{}
		for _, r := range runs {
			byName[r.name] = r
		}
		values, bytes := map[string]float64{"io-time": 0}, 0.0
		for _, test := range fioTests {
			var moved, seconds float64
			for _, record := range fioRecords {
				r, ok := byName[job(test.name, record)]
				if !ok {
					return reading{}, fault.Guestf("fio's output has no job %s", job(test.name, record))
				}
				s, err := r.of(test.rw)
				if err != nil {
					return reading{}, err
				}
				if bytes == 0 { // the smallest record comes first: the whole file
					bytes = s.bytes
				}
				// fio leaves out a partial record at the end.
				if whole := bytes - math.Mod(bytes, float64(record<<10)); s.bytes != whole {
					return reading{}, fault.Guestf("job %s moved %.0f bytes instead of %.0f", r.name, s.bytes, whole)
				}
				// Run times are in whole milliseconds; the rate is not.
				moved, seconds = moved+s.bytes, seconds+s.ops/s.iops
			}
			values[test.name] = moved / seconds
			values["io-time"] += seconds
		}
		return reading{values: values, did: bytes / (1 << 20)}, nil
	})
}
