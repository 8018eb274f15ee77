package builtin

import (
	"fmt"
	"math"
	"strconv"

	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/workload"
	"github.com/tare-bench/tare/internal/workload/tool"
)

// copyFiles are UnixBench's three file copies: the buffer size, and the size of the
// file in KiB (UnixBench's "maxblocks", in units of 1024 bytes).
var copyFiles = map[string]int64{"256": 500, "1024": 2000, "4096": 8000}

// fileCopy reads and writes a small file in the page cache, one buffer at a time.
func fileCopy() *workload.Workload {
	return workload.WithParams([]workload.Param{{Name: "buffer", Default: "1024", Values: []string{"256", "1024", "4096"},
		About: "bytes per read or write"}}, fileCopyWith)
}

func fileCopyWith(set workload.Settings) *workload.Workload {
	const file = "tare-copy.tmp"
	buffer := int64(set.Int("buffer"))
	bytes := copyFiles[set["buffer"]] << 10
	w := &workload.Workload{
		Name:       "file-copy",
		Title:      "read and write a small file in the page cache, one buffer at a time: file system calls",
		ArticleIDs: []string{"H1-unixbench"}, Source: "fio (fio)",
		StandIn: "for UnixBench's File Copy: fio reads and writes one file, whereas UnixBench copies between two files " +
			"for 30 seconds. Half of the operations are writes, and only these count, as in UnixBench",
		Programs: []string{"bash", "fio", "rm", "sync"}, Packages: []string{"bash", "coreutils", "fio"},
		Metrics: []workload.Metric{
			workload.Rate("bandwidth", "B/s", "write bandwidth", "bytes written per second, while as many are read"),
			workload.Time("the whole run of fio, including its start"),
			workload.GuestTime("write run time", "the run time that fio prints, in whole milliseconds"),
		},
		SizeUnit: "times the file (half of it read, half written)", MinSize: 10, MaxSize: 10_000_000,
		DefaultSize: 2000,
		DiskBytes:   func(int64) int64 { return bytes + 1<<20 },
		Steps: func(size int64) []workload.Step {
			fio := func(args ...string) []string {
				return append([]string{"fio", "--name=tare", "--filename=" + file, "--size=" + strconv.FormatInt(bytes, 10),
					"--bs=" + set["buffer"], "--ioengine=psync", "--output-format=json"}, args...)
			}
			return []workload.Step{
				{Name: "prepare", Argv: []string{"rm", "-f", file}},
				{Name: "layout", Argv: fio("--rw=write", "--end_fsync=1")},
				{Name: "copy", Timed: true, Argv: fio("--rw=readwrite", "--rwmixread=50", "--randrepeat=1",
					"--io_size="+strconv.FormatInt(size*bytes, 10))},
				{Name: "clean", Argv: bash("rm -f " + file + " && sync -f .")},
			}
		},
	}
	return w.MeasuredBy(workload.Measurement{Step: "copy", Tool: "fio",
		Accept: func(r *tool.Report) error {
			read, written := r.Value("read size"), r.Value("write size")
			if rw := r.Words["rw"]; rw != "" && rw != "readwrite" && rw != "rw" || read == 0 || written == 0 {
				return fault.Guestf("fio ran with --rw=%s, read %.0f bytes and wrote %.0f; that is not --rw=readwrite", rw, read,
					written)
			}
			if err := fioComplete(r, "read "); err != nil {
				return err
			}
			return fioComplete(r, "write ")
		},
		Check: func(size int64, r *tool.Report) error {
			if ops, want := r.Value("read operations")+r.Value("write operations"), size*bytes/buffer; ops != float64(want) {
				return fault.Guestf("fio did %.0f operations instead of %d", ops, want)
			}
			return nil
		}})
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
func fioFiles() *workload.Workload {
	const file = "tare-files.tmp"
	w := &workload.Workload{
		Name:       "file-ops",
		Title:      "write, read and seek in a file through the page cache, with records of 4 KiB, 64 KiB, 1 MiB and 16 MiB",
		ArticleIDs: []string{"A7-iozone", "L3-iozone"}, Source: "fio (fio)",
		StandIn: "for iozone -a: six of its thirteen tests (no stride, backward, record rewrite, fread and fwrite) with " +
			"four of its record sizes, run by fio",
		Programs: []string{"bash", "fio", "rm", "sync"}, Packages: []string{"bash", "coreutils", "fio"},
		Metrics: []workload.Metric{
			workload.Latency("io-time", "", "all tests with all records, without fio's time between them"),
			workload.Time("the whole run of fio, including about 0.3 s between two tests"),
		},
		SizeUnit: "MiB of the file", MinSize: 16, MaxSize: 64 << 10, DefaultSize: 512,
		DiskBytes: func(size int64) int64 { return size<<20 + 16<<20 },
	}
	for _, test := range fioTests {
		w.Metrics = append(w.Metrics, workload.Rate(test.name, "B/s", "", test.about+": bytes / time, all records together"))
	}
	w.Steps = func(size int64) []workload.Step {
		argv := []string{"fio", "--filename=" + file, "--size=" + decimal(size) + "M",
			"--ioengine=psync", "--thread", "--randrepeat=1", "--output-format=json"}
		for i, record := range fioRecords {
			for _, test := range fioTests {
				argv = append(argv, "--name="+fioJob(test.name, record), "--rw="+test.rw, fmt.Sprintf("--bs=%dk", record))
				if i > 0 || test.name != fioTests[0].name {
					argv = append(argv, "--stonewall")
				}
			}
		}
		remove := bash("rm -f " + file + " && sync -f .")
		return []workload.Step{
			{Name: "prepare", Argv: remove},
			{Name: "files", Argv: argv, Timed: true},
			{Name: "clean", Argv: remove},
		}
	}
	return w.MeasuredBy(workload.Measurement{Step: "files", Tool: "fio",
		Values: func(r *tool.Report) (map[string]float64, error) {
			values, file := map[string]float64{"io-time": 0}, fioFileSize(r)
			for _, test := range fioTests {
				var moved, seconds float64
				for _, record := range fioRecords {
					name := fioJob(test.name, record)
					if err := fioRan(r, name+" ", test.rw); err != nil {
						return nil, err
					}
					side := name + " " + direction(test.rw) + " "
					bytes := r.Value(side + "size")
					// fio leaves out a partial record at the end.
					if whole := file - math.Mod(file, float64(record<<10)); bytes != whole {
						return nil, fault.Guestf("job %s moved %.0f bytes instead of %.0f", name, bytes, whole)
					}
					// Run times are in whole milliseconds; the rate is not.
					moved, seconds = moved+bytes, seconds+r.Value(side+"operations")/r.Value(side+"IOPS")
				}
				values[test.name] = moved / seconds
				values["io-time"] += seconds
			}
			return values, nil
		},
		Check: func(size int64, r *tool.Report) error {
			if did := fioFileSize(r); did != float64(size<<20) {
				return fault.Guestf("fio's file has %.0f bytes instead of %d", did, size<<20)
			}
			return nil
		}})
}

// fioJob is the name of a job of fioFiles.
func fioJob(test string, record int64) string { return fmt.Sprintf("%s-%dk", test, record) }

// fioFileSize returns what the first job, with the smallest record, wrote: the whole file.
func fioFileSize(r *tool.Report) float64 {
	return r.Value(fioJob(fioTests[0].name, fioRecords[0]) + " write size")
}
