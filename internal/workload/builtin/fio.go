package builtin

import (
	"math"
	"slices"
	"strconv"

	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/model"
	"github.com/tare-bench/tare/internal/workload"
	"github.com/tare-bench/tare/internal/workload/tool"
)

const (
	// fioFile begins the names of all files.
	fioFile = "tare-fio"
	// fioMinFile spreads the operations of a small trial over the file.
	fioMinFile = 64 << 20
	// layFiles makes those of $2 files of $1 bytes, named $3.0, $3.1 and so on, that are missing, too short or full of
	// holes; $4 are flags of dd, such as oflag=direct. A file gets its name when it is whole and on the disk. What the
	// disk cannot compress to nothing is written: zeros may never reach it. File systems that copy on writing scatter
	// a file that is written at random, so there each trial needs a new one.
	layFiles = `set -e
case $(stat -f -c %T .) in btrfs | zfs | bcachefs) rm -f "$3".* ;; esac
for ((i = 0; i < $2; i++)); do
	read -r size blocks unit < <(stat -c '%s %b %B' "$3.$i" 2>/dev/null) || size=0
	((size == $1 && blocks * unit >= $1)) && continue
	rm -f "$3.$i" "$3.part"
	yes "$(head -c 48K /dev/urandom | base64 -w0)" 2>/dev/null |
		dd of="$3.part" bs=2M count="$1" iflag=fullblock,count_bytes $4 conv=fsync status=none
	mv "$3.part" "$3.$i"
	sync -f .
done`
	// layDevice writes to the first $1 bytes of the device $2 what layFiles writes to files, unless $3 says that this has
	// been done: a device may answer reads of what was never written without its disk.
	layDevice = `set -e
test -e "$3" && exit
yes "$(head -c 48K /dev/urandom | base64 -w0)" 2>/dev/null |
	dd of="$2" bs=2M count="$1" iflag=fullblock,count_bytes oflag=direct conv=fsync,notrunc status=none
touch "$3"`
)

// fioWork is a pattern of reads or writes: a fixed number of operations, on each
// block at most once, in the same order in each trial; or those that are done in a time.
type fioWork struct {
	rw      string // --rw: "read", "write", "randread", "randwrite"
	block   int64  // bytes of an operation
	threads int64  // each with its own file
	direct  bool   // bypasses the guest's page cache
	raw     bool   // on the device of a data volume without a file system, instead of files; one thread
	seconds int    // for which it works, however much that is; 0: until the operations of the trial's size are done
}

func (f fioWork) reads() bool  { return direction(f.rw) == "read" }
func (f fioWork) random() bool { return f.rw == "randread" || f.rw == "randwrite" }

// keeps reports whether later trials use the same files. They must find the same state of the page cache as the trial
// that made the files: reads drop it, and direct writes bypass it.
func (f fioWork) keeps() bool { return !f.raw && (f.reads() || f.random() && f.direct) }

// file returns the size of each thread's file.
func (f fioWork) file(size int64) int64 {
	if f.random() {
		return max(size*f.block, fioMinFile/f.threads)
	}
	return size * f.block
}

// kept returns the files of all threads.
func (f fioWork) kept(size int64) workload.Kept {
	bytes := f.file(size)
	k := workload.Kept{Name: fioFile + "." + decimal(f.threads) + "x" + decimal(bytes), Bytes: f.threads * bytes}
	if f.direct {
		k.Name += ".direct"
	}
	return k
}

func (f fioWork) steps(size int64) []workload.Step {
	name := fioFile + ".tmp"
	if f.keeps() {
		name = f.kept(size).Name
	}
	fio := func(args ...string) []string {
		where := []string{"--directory=.", "--filename_format=" + name + ".$jobnum"}
		if f.raw {
			where = []string{"--filename=" + model.RawDevice, "--invalidate=0"} // only root of the host may drop its cache
		}
		base := append([]string{"fio", "--name=tare"}, where...)
		base = append(base,
			"--size="+decimal(f.file(size)), "--bs="+byteWords(f.block),
			"--direct="+map[bool]string{true: "1", false: "0"}[f.direct], "--ioengine=sync", "--iodepth=1", "--thread",
			"--numjobs="+decimal(f.threads), "--group_reporting", "--output-format=json+")
		if f.direct {
			// Otherwise fio spends 0.15 s of each start on a test of the CPU's own clock.
			base = append(base, "--clocksource=clock_gettime")
		}
		return append(base, args...)
	}
	remove := "rm -f " + fioFile + ".tmp.*"
	var s []workload.Step
	switch {
	case f.raw:
		bytes := decimal(f.file(size))
		s = append(s, workload.Step{Name: "fill",
			Argv: bash(layDevice, "fio", bytes, model.RawDevice, fioFile+".filled."+bytes)})
	case f.keeps():
		flags := ""
		if f.direct {
			flags = "oflag=direct"
		}
		s = append(s, workload.Step{Name: "files",
			Argv: bash(layFiles, "fio", decimal(f.file(size)), decimal(f.threads), name, flags)})
	case f.random():
		s = append(s, workload.Step{Name: "prepare", Argv: bash(remove)},
			workload.Step{Name: "layout", Argv: fio("--rw=write", "--end_fsync=1")})
	default:
		s = append(s, workload.Step{Name: "prepare", Argv: bash(remove)})
	}
	run := []string{"--rw=" + f.rw, "--io_size=" + decimal(size*f.block)}
	if f.seconds > 0 {
		run = []string{"--rw=" + f.rw, "--time_based", "--runtime=" + strconv.Itoa(f.seconds)}
	}
	if f.random() {
		run = append(run, "--randrepeat=1")
	}
	s = append(s, workload.Step{Name: "run", Argv: fio(run...), Timed: true, DropCaches: f.reads()})
	if !f.reads() {
		flush := []string{"sync", "-f", "."}
		if f.raw {
			flush = []string{"sync", model.RawDevice}
		}
		s = append(s, workload.Step{Name: "flush", Argv: flush, Timed: true})
	}
	if !f.keeps() && !f.raw {
		s = append(s, workload.Step{Name: "clean", Argv: bash(remove + " && sync -f .")})
	}
	return s
}

// workload completes w with fio's figures of its only direction.
func (f fioWork) workload(w *workload.Workload) *workload.Workload {
	w.Source = "fio (fio)"
	w.Programs = []string{"base64", "bash", "dd", "fio", "head", "mv", "rm", "stat", "sync", "yes"}
	w.Packages = []string{"bash", "coreutils", "fio"}
	if f.keeps() {
		w.Keeps = f.kept
	}
	w.ReadsBack, w.RawDevice, w.Steps = f.reads(), f.raw, f.steps
	side := direction(f.rw) + " "
	w.Metrics = []workload.Metric{
		workload.Rate("bandwidth", "B/s", side+"bandwidth", "as fio prints it"),
		workload.Rate("iops", "1/s", side+"IOPS", "operations per second, as fio prints them"),
		{Name: "latency", Unit: "ns", Better: workload.Lower, Clock: workload.GuestClock,
			Figure: side + "mean completion latency", About: "mean completion latency, as fio prints it"},
		workload.Time("the whole run of fio, including its start"),
		workload.GuestTime(side+"run time", "the run time that fio prints, in whole milliseconds"),
	}
	switch {
	case f.seconds > 0 && f.reads():
	case f.reads():
		w.ReadBytes = func(size int64) int64 { return size * f.block * f.threads }
	default:
		w.Metrics = slices.Insert(w.Metrics, 4,
			workload.HostTime("time-flushed", "the whole run of fio, and the flush of the file"))
		if f.seconds == 0 {
			w.WrittenBytes = func(size int64) int64 { return size * f.block * f.threads }
		}
	}
	w.SizeUnit = "operations of " + byteWords(f.block)
	if f.threads > 1 {
		w.SizeUnit += " by each thread"
	}
	w.DiskBytes = func(size int64) int64 { return f.threads*f.file(size) + 16<<20 }
	if f.raw {
		w.DiskBytes = f.file
		w.Programs = append(w.Programs, "touch")
	}
	return w.MeasuredBy(workload.Measurement{Step: "run", Tool: "fio", SingleOf: "latency",
		Singles: tool.Singles{Before: side + "clat_ns bins ", Unit: "ns", Count: side + "operations"},
		Accept: func(r *tool.Report) error {
			if err := fioRan(r, "", f.rw); err != nil {
				return err
			}
			return f.blocks(r)
		},
		Check: f.did})
}

// blocks returns an error if a report is not of operations of this size. A terse report does not say how many
// operations there were.
func (f fioWork) blocks(r *tool.Report) error {
	bytes, operations := r.Value(direction(f.rw)+" size"), r.Value(direction(f.rw)+" operations")
	if operations == 0 {
		return nil
	}
	// The size may be rounded, and the last operation may be shorter.
	if each := bytes / operations; math.Abs(each-float64(f.block)) > 0.05*float64(f.block) {
		return fault.Guestf("fio's operations had %.0f bytes each, not %d", each, f.block)
	}
	return nil
}

// direction is the word for the operations of --rw in the names of fio's figures.
func direction(rw string) string {
	if rw == "write" || rw == "randwrite" {
		return "write"
	}
	return "read"
}

// fioRan returns an error if a report is not of jobs with --rw=rw alone. job begins the names of a job's
// figures, if there are several jobs.
func fioRan(r *tool.Report, job, rw string) error {
	if job == "" && r.Words["jobs"] != "1" {
		return fault.Guestf("the output is of %s jobs instead of one or one group", r.Words["jobs"])
	}
	did, known := r.Words[job+"rw"]
	if !known {
		return fault.Guestf("fio's output has no job %s", job)
	}
	if did != "" && did != rw {
		return fault.Guestf("fio ran with --rw=%s, not --rw=%s", did, rw)
	}
	read, written := r.Value(job+"read size"), r.Value(job+"write size")
	if (read != 0) != (direction(rw) == "read") || (written != 0) != (direction(rw) == "write") {
		return fault.Guestf("fio read %.0f and wrote %.0f bytes; that is not --rw=%s", read, written, rw)
	}
	return fioComplete(r, job+direction(rw)+" ")
}

// fioComplete returns an error if fio did not print everything about a direction of a job. It can leave
// out latencies.
func fioComplete(r *tool.Report, side string) error {
	for _, name := range []string{"bandwidth", "IOPS", "mean completion latency", "mean latency", "run time"} {
		if r.Value(side+name) == 0 {
			return fault.Guestf("fio did not report all of bandwidth, operations, latency and run time: there is no %s",
				side+name)
		}
	}
	return nil
}

// did checks that a trial of that size did its work.
func (f fioWork) did(size int64, r *tool.Report) error {
	figure := func(name string) float64 { return r.Value(direction(f.rw) + " " + name) }
	ops, bytes, want := figure("operations"), figure("size"), float64(size*f.threads)
	if f.seconds > 0 {
		want = ops
		if took := figure("run time"); took < 0.95*float64(f.seconds) {
			return fault.Guestf("fio worked for %.4g s instead of %d s", took, f.seconds)
		}
	}
	if ops != want || bytes != want*float64(f.block) {
		return fault.Guestf("fio did %.0f operations and %.0f bytes instead of %.0f and %.0f", ops, bytes, want,
			want*float64(f.block))
	}
	if short, dropped := figure("short operations"), figure("dropped operations"); short != 0 || dropped != 0 {
		return fault.Guestf("%.0f of fio's operations were short and %.0f were dropped", short, dropped)
	}
	// With one operation in flight and no cache, fio mostly waits for it.
	latency, iops := figure("mean latency")/1e9, figure("IOPS")
	if got := latency * iops; f.direct && got < 0.5*float64(f.threads) {
		return tool.Contradiction("latency × IOPS is %.2f, far from the depth of %d: %v s × %.1f/s", got, f.threads, latency,
			iops)
	}
	return nil
}

// byteWords formats a number of bytes as fio does: "4k", "2M".
func byteWords(n int64) string {
	switch {
	case n%(1<<20) == 0:
		return strconv.FormatInt(n>>20, 10) + "M"
	case n%(1<<10) == 0:
		return strconv.FormatInt(n>>10, 10) + "k"
	}
	return strconv.FormatInt(n, 10)
}

// fioRandom reads or writes ("read", "write") 2 MiB blocks at random. The article
// used a whole volume of 50 GiB for 60 seconds. Here, a file on the data volume
// takes its place, and the work is fixed instead of the time, unless the parameter
// seconds says otherwise.
func fioRandom(op string) *workload.Workload {
	return workload.WithParams([]workload.Param{{Name: "seconds", Default: "0", Max: 3600,
		About: "how long fio works in a file of the trial's size; 0: a fixed number of operations"},
		{Name: "target", Default: "file", Values: []string{"file", "device"},
			About: "a file on the data volume, or its device, which needs fs: none in the flavor"}},
		func(set workload.Settings) *workload.Workload {
			f := fioWork{rw: "rand" + op, block: 2 << 20, threads: 1, direct: true, seconds: set.Int("seconds"),
				raw: set["target"] == "device"}
			w := f.workload(&workload.Workload{
				Name: "fio-rand" + op, Title: op + " 2 MiB blocks at random, bypassing the guest's page cache",
				ArticleIDs:  []string{map[string]string{"read": "C1-fio-randread", "write": "C2-fio-randwrite"}[op]},
				MinSize:     32,
				MaxSize:     25600, // the article's 50 GiB
				DefaultSize: 512,
			})
			w.SizeUnit = "operations of 2 MiB"
			if f.seconds > 0 {
				w.SizeUnit, w.MinSize, w.Uneven = "blocks of 2 MiB in the file", w.DefaultSize, "the time is a parameter"
			}
			return w
		})
}

// tiobench repeats one of tiobench's four tests with fio. Each thread has its own
// file; reads come from the device.
func tiobench(rw string) *workload.Workload {
	about := map[string]struct{ name, title, id string }{
		"read":      {"seqread", "read files sequentially, 4 KiB at a time", "P4-tio-seqread"},
		"randread":  {"randread", "read files at random, 4 KiB at a time", "P5-tio-randread"},
		"write":     {"seqwrite", "write files sequentially, 4 KiB at a time", "P6-tio-seqwrite"},
		"randwrite": {"randwrite", "write files at random, 4 KiB at a time", "P7-tio-randwrite"},
	}[rw]
	return workload.WithParams([]workload.Param{{Name: "threads", Default: "1", Min: 1, Max: 256,
		About: "threads, each with its own file"}}, func(set workload.Settings) *workload.Workload {
		w := &workload.Workload{
			Name: "tio-" + about.name, Title: about.title + ", through the page cache",
			ArticleIDs: []string{about.id},
			StandIn: "for tiobench: fio with tiobench's block size, threads and files. The size here is that of each " +
				"thread's file; tiobench divides one size among the threads. Here, the caches are dropped before reading; " +
				"tiobench reads what it just wrote",
			MinSize: 1024, MaxSize: 4 << 20,
			DefaultSize: 65536, // the article's 256 MB
		}
		if rw == "randread" || rw == "randwrite" {
			w.MinSize, w.DefaultSize = 500, 4000
		}
		return fioWork{rw: rw, block: 4 << 10, threads: int64(set.Int("threads"))}.workload(w)
	})
}
