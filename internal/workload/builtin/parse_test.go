package builtin

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/workload"
)

func fixture(t testing.TB, name string) []byte {
	t.Helper()
	dir := "../tool/testdata"
	if strings.HasPrefix(name, "trials/") {
		dir = "testdata"
	}
	b, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func mustGet(t testing.TB, name string) *workload.Workload {
	t.Helper()
	w, err := Get(name)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func near(got, want float64) bool { return math.Abs(got-want) <= 1e-9*math.Abs(want) }

// checkMetrics compares values and checks every name against the workload's list.
func checkMetrics(t *testing.T, w *workload.Workload, got, want map[string]float64) {
	t.Helper()
	known := map[string]bool{}
	for _, m := range w.Metrics {
		known[m.Name] = true
	}
	for name := range got {
		if !known[name] {
			t.Errorf("%s has no metric %q", w.Name, name)
		}
	}
	if !maps.EqualFunc(got, want, near) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}

func TestParseFixtures(t *testing.T) {
	for _, tc := range []struct {
		workload, file string
		want           map[string]float64
	}{
		{"openssl-enc", "openssl/enc-5120M-pbkdf2.txt", map[string]float64{"time": 9.384, "time-guest": 9.35156}},
		{"openssl-enc", "openssl/enc-512M-gnutime.txt", map[string]float64{"time": 0.99, "time-guest": 0.990318}},
		{"openssl-enc", "openssl/enc-512M-nosaltarg.txt", map[string]float64{"time": 0.775, "time-guest": 0.773288}},
		{"openssl-enc", "openssl/enc-noaesni.txt", map[string]float64{"time": 4.222, "time-guest": 4.21916}},
		{"dd-write", "dd/write-1G-pass1.txt", map[string]float64{"cold-time": 2.727, "cold-time-guest": 2.72513,
			"cold-rate": 1048576000 / 2.72513}},
		{"dd-write", "dd/write-3G-pass2.txt", map[string]float64{"cold-time": 2.407, "cold-time-guest": 2.08389,
			"cold-rate": 3145728000 / 2.08389}},
		{"dd-write", "dd/write-1G-fdatasync.txt", map[string]float64{"cold-time": 0.937, "cold-time-guest": 0.734329,
			"cold-rate": 1048576000 / 0.734329}},
		// The locale in this command line was not installed.
		{"dd-write", "dd/write-locale-cs.txt", map[string]float64{"cold-time-guest": 0.0447145,
			"cold-rate": 104857600 / 0.0447145}},
		{"dd-write", "dd/two-passes.txt", map[string]float64{
			"cold-time": 0.038, "cold-time-guest": 0.0365379, "cold-rate": 104857600 / 0.0365379,
			"overwrite-time": 0.046, "overwrite-time-guest": 0.0365723, "overwrite-rate": 104857600 / 0.0365723}},
		{"kernel-build", "kernel-build/tinyconfig-vmlinux-cold.txt", map[string]float64{"time": 492.958}},
		{"cpio-read", "cpio/find-cpio-cold.txt", map[string]float64{"time": 11.383, "user": 0.491, "system": 4.49}},
		{"cpio-read", "cpio/find-cpio-warm.txt", map[string]float64{"time": 1.432, "user": 0.342, "system": 1.128}},
		{"tar-create", "tar/tar-pipe-cat.txt", map[string]float64{"time": 8.859}},
		{"bonnie", "bonnie++/quiet-csv.txt", map[string]float64{
			"write-char": 925 << 10, "write-block": 585650 << 10, "read-char": 1228 << 10, "create": 3362,
			"write-char-cpu": 25, "write-block-cpu": 20, "read-char-cpu": 22, "create-cpu": 19,
			"write-char-latency": 30886e-6, "write-block-latency": 20033e-6, "rewrite-latency": 8038e-6,
			"read-char-latency":  77518e-6,
			"read-block-latency": 16077e-6, "seeks-latency": 12091e-6, "create-latency": 44134e-6, "stat-latency": 13374e-6,
			"delete-latency": 20040e-6, "create-random-latency": 22773e-6, "stat-random-latency": 28048e-6,
			"delete-random-latency": 29463e-6}},
		{"hackbench-pipe", "rt-tests/hackbench-pipe.txt", map[string]float64{"time-guest": 0.216}},
		{"hackbench-socket", "rt-tests/hackbench-sockets.txt", map[string]float64{"time-guest": 0.623}},
		{"cyclictest", "rt-tests/cyclictest.json", map[string]float64{"latency-mean": 83.45e-6, "latency-max": 3910e-6}},
		{"cyclictest", "rt-tests/cyclictest-json-file.txt",
			map[string]float64{"latency-mean": 83e-6, "latency-max": 3910e-6}},
		{"disk-latency", "ioping/text.txt", map[string]float64{"latency": 181.5e-6, "latency-max": 595e-6,
			"iops": 1 / 181.5e-6}},
		{"memory-copy", "mbw/memcpy-64.txt", map[string]float64{"memcpy": 2379.33 * (1 << 20), "loop": 2796.103 * (1 << 20),
			"blocks": 4560.353 * (1 << 20)}},
		{"memory-copy", "mbw/quiet.txt", map[string]float64{"memcpy": 2238.989 * (1 << 20), "loop": 983.173 * (1 << 20),
			"blocks": 1144.922 * (1 << 20)}},
		{"kernel-ops", "perf-bench/sched-pipe.txt", map[string]float64{"pipe": 7.3731e-6}},
		{"kernel-ops", "perf-bench/syscall-basic.txt", map[string]float64{"syscall": 0.635371e-6}},
		{"kernel-ops", "perf-bench/mem-memcpy.txt", map[string]float64{"memcpy": 852.29921 * (1 << 20)}},
		{"file-copy", "fio/unixbench-filecopy1024-json.txt", map[string]float64{"bandwidth": 101884211, "time-guest": 5.001}},
		{"tio-seqread", "fio/tiobench-seqread-8t-json.txt", map[string]float64{"bandwidth": 860370051, "iops": 210051.282051,
			"latency": 4534.591064, "time-guest": 0.039}},
		{"untar-kernel", "tar/untar-2copies.txt", map[string]float64{"time": 38.968}},
		{"untar-kernel", "tar/untar-1copy-sync.txt", map[string]float64{"time": 22.658}},
		{"fio-randread", "fio/randread-2M-json.txt", map[string]float64{"bandwidth": 1203746439, "iops": 573.991031,
			"latency": 1738502.298828, "time-guest": 0.892}},
		{"fio-randread", "fio/randread-2M-article.txt", map[string]float64{"bandwidth": (1 << 30) / 0.799,
			"iops": 512 / 0.799, "latency": 1557160, "time-guest": 0.799}},
		{"fio-randwrite", "fio/randwrite-2M-article.txt", map[string]float64{"bandwidth": (1 << 30) / 0.6, "iops": 512 / 0.6,
			"latency": 1098680, "time-guest": 0.6}},
		{"fio-randwrite", "fio/randwrite-2M-terse.txt", map[string]float64{"bandwidth": 2032124 * 1024, "iops": 992,
			"latency": 952730.164, "time-guest": 0.516}},
		{"python-start", "python/importtime-json.txt", map[string]float64{"imports": 135336 / 1e6}},
		{"sysbench-cpu", "sysbench/cpu.txt", map[string]float64{"rate": 2894.97, "time-guest": 3.0003}},
		{"sysbench-memory-write", "sysbench/memory.txt", map[string]float64{"bandwidth": 32582.14 * (1 << 20),
			"time-guest": 0.0611}},
		{"sysbench-threads", "sysbench/threads.txt", map[string]float64{"latency": 2.9e-3, "time-guest": 3.0033}},
		{"sysbench-mutex", "sysbench/mutex.txt", map[string]float64{"time-guest": 0.104}},
		{"sysbench-fileio", "sysbench/fileio-rndrw.txt", map[string]float64{"reads": 4607, "writes": 3071.33,
			"latency": 0.12e-3, "time-guest": 3.0069}},
	} {
		t.Run(tc.file, func(t *testing.T) {
			w := mustGet(t, tc.workload)
			got, err := w.Parse(fixture(t, tc.file))
			if err != nil {
				t.Fatal(err)
			}
			checkMetrics(t, w, got, tc.want)
		})
	}
}

func TestParseOwnCaptures(t *testing.T) {
	for _, tc := range []struct {
		workload, file string
		ops            float64
	}{
		{"stress-ng-exec", "stress-ng/exec-100.txt", 100},
		{"stress-ng-exec", "stress-ng/exec-yaml.txt", 100},
		{"stress-ng-exec", "stress-ng/exec-overshoot.txt", 128},
		{"sysbench-cpu", "sysbench/cpu-events.txt", 0},
		{"fio-randread", "fio/randread-2M-fixed-json.txt", 0},
	} {
		t.Run(tc.file, func(t *testing.T) {
			w := mustGet(t, tc.workload)
			got, err := w.Parse(fixture(t, tc.file))
			if err != nil {
				t.Fatal(err)
			}
			checkMetrics(t, w, got, got)
			if ops := got["rate"] * got["time-guest"]; tc.ops != 0 && !near(ops, tc.ops) {
				t.Errorf("%v operations, want %v", ops, tc.ops)
			}
		})
	}
}

// A warning may precede fio's JSON, and the shell's time may follow it.
func TestParseMixedOutput(t *testing.T) {
	out := "fio: this platform does not support process shared mutexes, forcing use of threads.\n" +
		string(fixture(t, "fio/randread-2M-json.txt")) + "\nreal\t0m1.250s\nuser\t0m0.1s\nsys\t0m0.1s\n"
	got, err := mustGet(t, "fio-randread").Parse([]byte(out))
	if err != nil || got["time"] != 1.25 || got["bandwidth"] != 1203746439 {
		t.Errorf("%v, %v", got, err)
	}
	got, err = mustGet(t, "untar-kernel").Parse(
		[]byte("linux/lib/error-inject.c\nlinux/Documentation/not found\nreal\t0m1.250s\n"))
	if err != nil || got["time"] != 1.25 {
		t.Errorf("names that tar lists: %v, %v", got, err)
	}
}

// A guest may write a lot of output; an error must not repeat all of it.
func TestErrorsAreShort(t *testing.T) {
	for _, w := range All() {
		for _, line := range []string{"real 1.0\n", "x\n", "x", "stress-ng: metrc: [1] exec 5 0.5 0.1 0.1 10.0 10.0\n",
			"error: x ", "1 byte copied, 1 s\n"} {
			output := strings.Repeat(line, 10_000/len(line))
			_, err := w.Parse([]byte(output))
			if err == nil || len(err.Error()) > 2000 {
				t.Errorf("%s, %q: an error of %d characters", w.Name, line, len(fmt.Sprint(err)))
			}
		}
	}
}

func TestParseRefuses(t *testing.T) {
	file := func(name string) string { return string(fixture(t, name)) }
	fio := file("fio/randread-2M-json.txt")
	fioText := file("fio/randread-2M-article.txt")
	terse := file("fio/randwrite-2M-terse.txt")
	cpu := file("sysbench/cpu.txt")
	exec := file("stress-ng/exec-100.txt")
	replace := func(s, old, with string) string {
		t.Helper()
		if !strings.Contains(s, old) {
			t.Fatalf("no %q in the fixture", old)
		}
		return strings.Replace(s, old, with, 1)
	}
	for _, tc := range []struct {
		name, workload, output string
		says                   []string
	}{
		{"the article's line", "openssl-enc", file("openssl/enc-article-verbatim.txt"),
			[]string{"openssl failed", "enc: Use -help for summary."}},
		{"only a time", "openssl-enc", "real\t0m0.007s\n", []string{`no line "bytes copied"`}},
		{"seven tasks", "openssl-enc", file("openssl/enc-7parallel.txt"), []string{`no line "bytes copied"`}},
		{"no openssl", "openssl-enc", "bash: openssl: command not found\n" + file("openssl/enc-5120M-pbkdf2.txt"),
			[]string{"command not found"}},
		{"non-zero exit", "openssl-enc", "Command exited with non-zero status 1\n" + file("openssl/enc-5120M-pbkdf2.txt"),
			[]string{"non-zero status 1"}},
		{"GNU time's status", "openssl-enc", replace(file("openssl/enc-512M-gnutime.txt"), "Exit status: 0",
			"Exit status: 1"), []string{"Exit status: 1"}},

		{"dd in Czech", "dd-write", file("dd/write-cs_CZ.txt"), []string{"cs_CZ", "LC_ALL=C", "0,0734749 s"}},
		{"dd in German", "dd-write", file("dd/write-de_DE.txt"), []string{"de_DE", "LC_ALL=C", "kopiert"}},
		{"named locale", "dd-write", "$ LC_ALL=lv_LV.UTF-8 dd if=/dev/zero\n" + strings.Split(file("dd/write-cs_CZ.txt"),
			"\nreal")[0], []string{"the locale lv_LV.UTF-8"}},
		{"bash in Czech", "untar-kernel", "real\t0m0,102s\nuser\t0m0,002s\n", []string{"0m0,102s", "LC_ALL=C"}},
		{"dd on a full disk", "dd-write", file("dd/error-full.txt"), []string{"No space left on device"}},
		{"dd of nothing", "dd-write", "0 bytes copied, 8.8034e-05 s, 0.0 kB/s\n",
			[]string{"no data or no time", "0 bytes copied"}},
		{"dd's rate is off", "dd-write", "1048576000 bytes (1.0 GB, 1000 MiB) copied, 2.72513 s, 585 MB/s\n",
			[]string{"rate × time is not the size", "585 MB/s"}},
		{"three passes", "dd-write", strings.Repeat("1 byte copied, 1.5 s, 0.0 kB/s\n", 3), []string{"3 reports of dd"}},
		{"overflow", "dd-write", "1" + strings.Repeat("0", 400) + " bytes copied, 1 s, 1 B/s\n",
			[]string{"not a usable number"}},

		{"tar fails", "untar-kernel", file("tar/error-missing.txt"), []string{"tar", "Cannot open"}},
		{"no tar", "untar-kernel", "bash: tar: command not found\nreal\t0m0.001s\n", []string{"command not found"}},
		{"tar's status", "untar-kernel", "Command exited with non-zero status 2\nreal 0.50\n", []string{"non-zero status 2"}},
		{"tar's end", "untar-kernel", "tar: Unexpected EOF in archive\nreal\t0m0.5s\n", []string{"Unexpected EOF"}},
		{"no time", "untar-kernel", "all well\n", []string{"no line of time", "under time"}},
		{"no duration", "untar-kernel", "real\t0m0.000s\n", []string{"time is 0"}},

		{"fio's full disk, JSON", "fio-randwrite", file("fio/error-enospc-json.txt"), []string{"No space left on device"}},
		{"fio's full disk, JSON only", "fio-randread", replace(fio, `"error" : 0`, `"error" : 28`), []string{`"error" : 28`}},
		{"fio's full disk, stderr", "fio-randwrite", file("fio/error-enospc-json.err"), []string{"No space left on device"}},
		{"fio's full disk, text", "fio-randwrite", file("fio/error-enospc-text.txt"), []string{"No space left on device"}},
		{"fio's full disk, layout", "fio-randread", file("fio/error-enospc-layout.txt"), []string{"err=28"}},
		{"fio's options", "fio-randread", file("fio/error-option.txt"), []string{"unrecognized option '--bogus=1'"}},
		{"fio err in text", "fio-randread", replace(fioText, "err= 0", "err=5 (x)"), []string{"err=5"}},
		{"not random", "fio-randread", file("fio/tiobench-seqread-8t-json.txt"), []string{"--rw=read", "--rw=randread"}},
		{"not random, missing file", "fio-randread", file("fio/error-badfile.txt"), []string{"--rw=read", "--rw=randread"}},
		{"reads instead of writes", "fio-randwrite", fio, []string{"--rw=randread"}},
		{"both", "fio-randread", file("fio/unixbench-filecopy1024-json.txt"), []string{"--rw=readwrite"}},
		{"4 KiB instead of 2 MiB", "fio-randread", file("fio/tiobench-randread-1t-json.txt"),
			[]string{"4096 bytes each, not 2097152"}},
		{"64 KiB instead of 4", "tio-randread", file("fio/normal-time.txt"), []string{"65536 bytes each, not 4096"}},
		{"read-only transactions", "sysbench-oltp-rw", file("sysbench/oltp_ro-4t.txt"),
			[]string{"that is not oltp_read_write"}},
		{"transactions that write", "sysbench-oltp-ro", file("sysbench/oltp_rw-16t.txt"),
			[]string{"that is not oltp_read_only"}},
		{"ioping writes", "disk-latency", file("ioping/write.txt"), []string{"were to write, not to read"}},
		{"reads of memory for writes", "sysbench-memory-write", file("sysbench/memory-read.txt"),
			[]string{`"read", not write`}},
		{"two jobs", "fio-randread", file("fio/two-jobs-json.txt"), []string{"2 jobs"}},
		{"cut JSON", "fio-randread", fio[:len(fio)/2], []string{"cut off"}},
		{"no jobs", "fio-randread", "{}\n", []string{"has no jobs"}},
		{"bandwidth off", "fio-randread", replace(fio, "1203746439", "2203746439"),
			[]string{"bandwidth × time is not the size"}},
		{"IOPS off", "fio-randread", replace(fio, "573.991031", "273.991031"), []string{"IOPS × time"}},
		{"latency off", "fio-randread", replace(fio, `"mean" : 1738719.328125`, `"mean" : 2738719.328125`),
			[]string{"latency × IOPS"}},
		{"no latency", "fio-randread", replace(fio, `"mean" : 1738502.298828`, `"mean" : 0`),
			[]string{"all of bandwidth, operations, latency"}},
		{"negative", "fio-randread", replace(replace(fio, `"runtime" : 892`, `"runtime" : -892`), "1203746439",
			"-1203746439"), []string{"-0.892"}},
		{"text cut", "fio-randread", fioText[:strings.Index(fioText, "    clat (")], []string{"incomplete"}},
		{"text bandwidth off", "fio-randread", replace(fioText, "BW=1282MiB/s", "BW=1482MiB/s"),
			[]string{"bandwidth × time"}},
		{"text IOPS off", "fio-randread", replace(fioText, "IOPS=640", "IOPS=840"), []string{"IOPS × time"}},
		{"terse cut", "fio-randwrite", terse[:300], []string{"cut off"}},
		{"terse error", "fio-randwrite", replace(terse, "mytest;0;0;", "mytest;0;28;"), []string{"28"}},
		{"not fio", "fio-randread", "hello\n", []string{"not output of fio", "hello"}},

		{"exec as root", "stress-ng-exec", file("stress-ng/error-exec-as-root.txt"), []string{"must not run as root"}},
		{"temp path", "stress-ng-exec", file("stress-ng/error-temp-path.txt"), []string{"must be readable and writeable"}},
		{"another stressor", "stress-ng-exec", file("stress-ng/pipe-text.txt"), []string{`stressors "pipe", not of exec`}},
		{"another stressor, YAML", "stress-ng-exec", file("stress-ng/cpu-yaml.txt"),
			[]string{`stressors "cpu", not of exec`}},
		{"unsuccessful", "stress-ng-exec", replace(exec, "successful run", "unsuccessful run"), []string{"unsuccessful run"}},
		{"cut before the end", "stress-ng-exec", exec[:strings.Index(exec, "successful run")],
			[]string{"does not report a successful run"}},
		{"rate off", "stress-ng-exec", replace(exec, "213.26", "313.26"), []string{"rate × time"}},
		{"no metrics", "stress-ng-exec", "stress-ng: info:  [1] successful run completed in 0.5s\n", []string{"--metrics"}},

		{"old syntax", "sysbench-cpu", file("sysbench/oltp-article-cmd-0.4-syntax.txt"),
			[]string{"FATAL: Cannot find benchmark 'oltp'"}},
		{"sysbench's options", "sysbench-cpu", file("sysbench/error-option.txt"), []string{"invalid option: --bogus"}},
		{"another test", "sysbench-cpu", file("sysbench/threads.txt"), []string{"threads or mutex, not of sysbench cpu"}},
		{"database", "sysbench-cpu", file("sysbench/oltp_ro-4t.txt"), []string{"sysbench oltp, not of sysbench cpu"}},
		{"cut", "sysbench-cpu", cpu[:strings.Index(cpu, "General")], []string{"total time"}},
		{"twice", "sysbench-cpu", cpu + cpu, []string{`2 figures "total time"`}},
		{"no events", "sysbench-cpu", replace(cpu, "events:              8691", "events:              0"),
			[]string{"did nothing"}},
		{"the other direction", "sysbench-memory-read", file("sysbench/memory.txt"),
			[]string{`did the operation "write", not read`}},
		{"cpu for threads", "sysbench-threads", cpu, []string{"a report of sysbench cpu, not of sysbench threads"}},
		{"memory for fileio", "sysbench-fileio", file("sysbench/memory.txt"), []string{"memory, not of sysbench fileio"}},
		{"memory off", "sysbench-memory-write", replace(file("sysbench/memory.txt"), "2048.00 MiB", "20480.00 MiB"),
			[]string{"rate × time is not the size"}},
		{"fileio off", "sysbench-fileio", replace(file("sysbench/fileio-rndrw.txt"), "24023\n", "44023\n"),
			[]string{"rate × time"}},
		{"missing files", "sysbench-fileio", "FATAL: Size of file 'test_file.0' is 15.062MiB, but at least 16MiB is " +
			"expected.\n", []string{"FATAL: Size of file"}},
		{"make fails", "kernel-build", file("kernel-build/tinyconfig-fail.txt"), []string{"make failed", "Error 1"}},
		{"bonnie as root", "bonnie", file("bonnie++/refused-root.txt"), []string{`use the \"-u\" switch`}},
		{"bonnie's size", "bonnie", file("bonnie++/refused-size-lt-2xram.txt"), []string{"double RAM"}},
		{"bonnie's table alone", "bonnie", file("bonnie++/bon_csv2txt.txt"), []string{"0 CSV lines of bonnie++"}},
		{"bonnie cut", "bonnie", file("bonnie++/quiet-csv.txt")[:120], []string{"fields instead of 50"}},
		{"hackbench cut", "hackbench-pipe", "Time: 0.216\n", []string{"Running in"}},
		{"cyclictest's code", "cyclictest", replace(file("rt-tests/cyclictest.json"), `"return_code": 0`, `"return_code": 1`),
			[]string{"return code 1"}},
		{"cyclictest off", "cyclictest", replace(file("rt-tests/cyclictest.json"), `"max": 3910`, `"max": 39`),
			[]string{"cannot have"}},
		{"ioping cut", "disk-latency", "4 KiB <<< . (ext4 /dev/vda): request=1 time=105.6 us (warmup)\n",
			[]string{"requests completed"}},
		{"ioping off", "disk-latency", replace(file("ioping/text.txt"), "34.2 us / 181.5", "34.2 ms / 181.5"),
			[]string{"cannot have"}},
		{"mbw off", "memory-copy", replace(file("mbw/quiet.txt"), "2238.989", "2538.989"), []string{"rate × time"}},
		{"mbw cut", "memory-copy", file("mbw/quiet.txt")[:300], []string{"no mean of DUMB"}},
		{"perf for scripts", "kernel-ops", file("perf-bench/sched-pipe-simple.txt"), []string{"--format=simple"}},
		{"perf off", "kernel-ops", replace(file("perf-bench/sched-pipe.txt"), "7.373100", "9.373100"),
			[]string{"latency × operations"}},
		{"cpio nothing", "cpio-read", "0 blocks\n\nreal\t0m0.1s\n", []string{"archived nothing"}},
		{"no cpio", "cpio-read", "bash: cpio: command not found\n", []string{"command not found"}},
		{"events off", "sysbench-cpu", replace(cpu, "8691", "4691"), []string{"rate × time"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := mustGet(t, tc.workload).Parse([]byte(tc.output))
			checkRefused(t, got, err, tc.says)
		})
	}
	for _, w := range All() {
		got, err := w.Parse(nil)
		checkRefused(t, got, err, nil)
	}
}

func checkRefused(t *testing.T, got map[string]float64, err error, says []string) {
	t.Helper()
	if err == nil {
		t.Fatalf("accepted: %v", got)
	}
	if got != nil {
		t.Errorf("values beside an error: %v", got)
	}
	if kind := fault.KindOf(err); kind != fault.Guest {
		t.Errorf("the fault is the %v's: %v", kind, err)
	}
	for _, s := range says {
		if !strings.Contains(err.Error(), s) {
			t.Errorf("the error does not say %q: %v", s, err)
		}
	}
	var typed *fault.Error
	if !errors.As(err, &typed) {
		t.Errorf("untyped: %v", err)
	}
	if strings.Contains(err.Error(), "×") && !errors.Is(err, workload.ErrContradiction) {
		t.Errorf("not reported as impossible arithmetic: %v", err)
	}
}

// TestRequestCounts: the requests of ioping are counted in ns, whatever unit they have, without the first one and those
// that ioping does not count either.
func TestRequestCounts(t *testing.T) {
	log := filepath.Join(t.TempDir(), "log")
	text := `4 KiB <<< . (ext4 /dev/vda 252.0 GiB): request=1 time=105.6 us (warmup)
4 KiB <<< . (ext4 /dev/vda 252.0 GiB): request=2 time=29.4 us (fast)
4 KiB <<< . (ext4 /dev/vda 252.0 GiB): request=3 time=1.63 ms (slow)
4 KiB <<< . (ext4 /dev/vda 252.0 GiB): request=4 time=29.4 us
4 KiB <<< . (ext4 /dev/vda 252.0 GiB): request=5 time=812 ns
4 KiB <<< . (ext4 /dev/vda 252.0 GiB): request=6 time=2.50 s (too slow)

--- . (ext4 /dev/vda 252.0 GiB) ioping statistics ---
`
	if err := os.WriteFile(log, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("sh", "-c", iopingCounts, "sh", log).Output()
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	slices.Sort(lines)
	if want := []string{"1 1630000", "1 812", "2 29400"}; !slices.Equal(lines, want) {
		t.Errorf("%q, want %q", lines, want)
	}
	if _, err := os.Stat(log); !os.IsNotExist(err) {
		t.Errorf("the log is left: %v", err)
	}
}
