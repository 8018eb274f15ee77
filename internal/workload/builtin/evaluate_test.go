package builtin

import (
	"bytes"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/workload"
	"github.com/tare-bench/tare/internal/workload/tool"
)

func TestEvaluateAccepts(t *testing.T) {
	for _, w := range All() {
		t.Run(w.Name, func(t *testing.T) {
			w, size, rs := good(t, w.Name)
			m, err := w.Evaluate(size, rs)
			if err != nil {
				t.Fatal(err)
			}
			checkComplete(t, w, m)
		})
	}
	t.Run("figures", func(t *testing.T) {
		w, size, rs := good(t, "dd-write")
		result(rs, "cold").Wall = 600 * time.Millisecond
		result(rs, "cold-flush").Wall = 1400 * time.Millisecond
		m, err := w.Evaluate(size, rs)
		if err != nil {
			t.Fatal(err)
		}
		b := float64(size << 20)
		checkMetrics(t, w, m, map[string]float64{
			"cold-time": 0.6, "cold-time-flushed": 2, "cold-time-guest": 0.5, "cold-rate": b / 0.5, "cold-rate-flushed": b / 2,
			"overwrite-time": 1, "overwrite-time-flushed": 2, "overwrite-time-guest": 0.5, "overwrite-rate": b / 0.5,
			"overwrite-rate-flushed": b / 2,
		})
	})
}

func checkComplete(t *testing.T, w *workload.Workload, m map[string]float64) {
	t.Helper()
	for i, metric := range w.Metrics {
		if _, there := m[metric.Name]; (there || i == 0 || !w.Sparse) && m[metric.Name] <= 0 {
			t.Errorf("%s is %v", metric.Name, m[metric.Name])
		}
	}
	all := len(w.Metrics)
	for _, c := range w.Curves {
		for _, point := range c.Points() {
			if all++; m[point.Name] <= 0 {
				t.Errorf("%s is %v", point.Name, m[point.Name])
			}
		}
	}
	if len(m) != all && !w.Sparse {
		t.Errorf("%d values for %d metrics and points: %v", len(m), all, m)
	}
}

func TestEvaluateRefuses(t *testing.T) {
	for _, tc := range []struct {
		name, workload, step string
		spoil                func(r *workload.StepResult)
		says                 []string
	}{
		{"fails fast", "openssl-enc", "encrypt", func(r *workload.StepResult) {
			*r = workload.StepResult{Name: r.Name, Wall: 7 * time.Millisecond, ExitCode: 1,
				Stderr: fixture(t, "openssl/enc-article-verbatim.txt")[:30]}
		}, []string{"step encrypt failed with exit status 1 after 7ms", "enc: Use -help for summary."}},
		{"killed", "openssl-enc", "encrypt", func(r *workload.StepResult) { r.Signal = "SIGKILL" },
			[]string{"step encrypt was killed by SIGKILL after 1s"}},
		{"timed out", "openssl-enc", "encrypt", func(r *workload.StepResult) { r.TimedOut, r.Signal = true, "SIGKILL" },
			[]string{"step encrypt did not finish in time", "1s"}},
		{"truncated", "openssl-enc", "encrypt", func(r *workload.StepResult) { r.Truncated = true },
			[]string{"step encrypt wrote more output than tare keeps"}},
		{"byte count", "openssl-enc", "encrypt", func(r *workload.StepResult) { r.Stderr = ddOutput(31) },
			[]string{"step encrypt", "31 MiB encrypted instead of 32"}},
		{"silent", "openssl-enc", "encrypt", func(r *workload.StepResult) { r.Stderr = nil },
			[]string{`no line "bytes copied"`}},
		{"long stderr", "openssl-enc", "encrypt", func(r *workload.StepResult) {
			r.ExitCode, r.Stderr = 2, []byte(strings.Repeat("x\n", 100000)+"one\ntwo\nthree\n")
		}, []string{`stderr: "one", "two", "three"`}},

		{"byte count", "dd-write", "overwrite", func(r *workload.StepResult) { r.Stderr = ddOutput(63) },
			[]string{"step overwrite", "66060288 bytes instead of 67108864"}},
		{"prepare fails", "dd-write", "prepare", func(r *workload.StepResult) { r.ExitCode = 1 },
			[]string{"step prepare failed with exit status 1"}},
		{"Czech", "dd-write", "cold", func(r *workload.StepResult) { r.Stderr = fixture(t, "dd/write-cs_CZ.txt") },
			[]string{"step cold", "LC_ALL=C"}},

		{"missing files", "untar-kernel", "verify", func(r *workload.StepResult) {
			r.Stdout = bytes.Replace(r.Stdout, []byte("4 of 4"), []byte("3 of 4"), 1)
		}, []string{"3 of 4 files"}},
		{"missing bytes", "untar-kernel", "verify", func(r *workload.StepResult) {
			r.Stdout = bytes.Replace(r.Stdout, []byte("20 of 20"), []byte("0 of 20"), 1)
		}, []string{"0 of 20 bytes"}},
		{"missing copy", "untar-kernel", "verify", func(r *workload.StepResult) { r.Stdout = r.Stdout[:49] },
			[]string{"1 copies of the tree instead of 2"}},
		{"short MANIFEST", "untar-kernel", "verify", func(r *workload.StepResult) {
			r.Stdout = bytes.Replace(r.Stdout, []byte("144 pieces"), []byte("143 pieces"), 1)
		}, []string{"143 pieces"}},
		{"empty MANIFEST", "untar-kernel", "verify", func(r *workload.StepResult) {
			r.Stdout = bytes.Replace(r.Stdout, []byte("4 of 4"), []byte("0 of 0"), 1)
		}, []string{"0 of 0 files"}},

		{"as root", "stress-ng-exec", "exec",
			func(r *workload.StepResult) { r.Stderr = fixture(t, "stress-ng/error-exec-as-root.txt") },
			[]string{"must not run as root"}},
		{"too many", "stress-ng-exec", "exec",
			func(r *workload.StepResult) { r.Stderr = fixture(t, "stress-ng/exec-overshoot.txt") },
			[]string{"128 processes instead of 100"}},

		{"other size", "fio-randread", "run",
			func(r *workload.StepResult) { r.Stdout = fixture(t, "fio/randread-2M-json.txt") },
			[]string{"step run", "512 operations", "instead of 32"}},
		{"other direction", "fio-randread", "run",
			func(r *workload.StepResult) { r.Stdout = fixture(t, "fio/randwrite-2M-article.txt") }, []string{"--rw=randwrite"}},
		{"full disk", "fio-randread", "files", func(r *workload.StepResult) {
			r.ExitCode, r.Stderr = 1, []byte("dd: error writing 'tare-fio.1x67108864.direct.part': No space left on device\n")
		}, []string{"step files failed with exit status 1", "No space left on device"}},
		{"short operations", "fio-randread", "run", func(r *workload.StepResult) {
			r.Stdout = bytes.Replace(r.Stdout, []byte(`"short_ios" : 0`), []byte(`"short_ios" : 2`), 1)
		}, []string{"2 of fio's operations were short"}},

		{"a file not built", "kernel-build", "verify", func(r *workload.StepResult) { r.Stdout = r.Stdout[6:] },
			[]string{"found 2 files of the kernel instead of 3"}},
		{"fewer files", "cpio-read", "verify", func(r *workload.StepResult) {
			r.Stdout = bytes.Replace(r.Stdout, []byte(" of "), []byte("0 of "), 1)
		}, []string{"number of files differs"}},
		{"empty archive", "cpio-read", "cold", func(r *workload.StepResult) {
			r.Stderr = []byte("1 block\n\nreal\t0m0.1s\nuser\t0m0.1s\nsys\t0m0.1s\n")
		}, []string{"step cold: cpio archived 1 blocks"}},
		{"nothing archived", "tar-create", "list", func(r *workload.StepResult) { r.Stdout = []byte("0\n10240\n") },
			[]string{"0 files in 10240 bytes"}},
		{"less copied", "pipe-copy", "pipe", func(r *workload.StepResult) { r.Stderr = ddOutput(63) },
			[]string{"63 MiB instead of 64"}},
		{"fewer messages", "hackbench-pipe", "hackbench", func(r *workload.StepResult) {
			r.Stdout = bytes.Replace(r.Stdout, []byte("pass 50 "), []byte("pass 5 "), 1)
		}, []string{"5 messages of each sender instead of 50"}},
		{"a smaller file", "bonnie", "bonnie", func(r *workload.StepResult) {
			r.Stdout = bytes.Replace(r.Stdout, []byte(",64M,"), []byte(",32M,"), 1)
		}, []string{"32 MiB instead of 64"}},
		{"no real time", "cyclictest", "cyclictest", func(r *workload.StepResult) {
			r.ExitCode, r.Stderr = 1, []byte("Unable to change scheduling policy!\nProbably missing capabilities, either run "+
				"as root or increase RLIMIT_RTPRIO limits.\n")
		}, []string{"step cyclictest: the guest may not use real-time priorities", "SYS_NICE", "CONFIG_RT_GROUP_SCHED"}},
		{"a wrong value", "memcached", "requests", func(r *workload.StepResult) {
			r.Stdout = bytes.Replace(r.Stdout, []byte("verify_failed: 0"), []byte("verify_failed: 3"), 1)
		}, []string{"3 verify_failed: the server did not return what was set"}},
		{"a request too few", "memcached", "verify", func(r *workload.StepResult) {
			r.Stdout = bytes.Replace(r.Stdout, []byte("cmd_get: 900"), []byte("cmd_get: 899"), 1)
		}, []string{"the server's cmd_get is 899 instead of 900"}},
		{"redirected", "wordpress", "check", func(r *workload.StepResult) { r.Stdout = []byte("301 0\n0\n") },
			[]string{"step check", "status 301"}},
		{"another page", "mediawiki", "check", func(r *workload.StepResult) { r.Stdout = []byte("200 16393\n0\n") },
			[]string{"step check", "not the right one"}},
		{"shorter pages", "ab-static", "check", func(r *workload.StepResult) { r.Stdout = []byte("200 20701\n1\n") },
			[]string{"pages have 10701 bytes"}},
		{"other number", "ab-static", "ab", func(r *workload.StepResult) { r.Stdout = fixture(t, "ab/index-c10-n5000.txt") },
			[]string{"5000 requests instead of 300"}},
		{"not committed", "sysbench-oltp-rw", "verify",
			func(r *workload.StepResult) { r.Stdout = []byte("Com_commit\t12\n") }, []string{"committed 12"}},
		{"server ends", "wordpress", "mariadb", func(r *workload.StepResult) { r.Signal = "SIGKILL" },
			[]string{"step mariadb was killed by SIGKILL"}},
		{"less arrives", "nuttcp", "client",
			func(r *workload.StepResult) { r.Stdout = fixture(t, "nuttcp/tcp-ttcp-like-2048x8192.txt") },
			[]string{"16777216 bytes arrived"}},
		{"less is done", "netperf-crr", "client", func(r *workload.StepResult) {
			r.Stdout = bytes.Replace(r.Stdout, []byte("ELAPSED_TIME=1.34"), []byte("ELAPSED_TIME=1.04"), 1)
		}, []string{"not do the work"}},

		{"no percentiles", "netperf-crr", "client", func(r *workload.StepResult) {
			r.Stdout = bytes.Replace(r.Stdout, []byte("P90_"), []byte("P91_"), 1)
		}, []string{"did not print its latency-p90"}},

		{"other memory", "restore", workload.KeepStep, func(r *workload.StepResult) {
			r.Stdout = []byte("64 2164771 1016045 other\n")
		}, []string{"step keep", "does not hold what it held"}},
		{"less memory", "restore", workload.KeepStep, func(r *workload.StepResult) {
			r.Stdout = []byte("32 2164771 1016045 same\n")
		}, []string{"32 MiB instead of 64"}},
		{"half an answer", "restore", workload.KeepStep, func(r *workload.StepResult) { r.Stdout = []byte("64 2164771\n") },
			[]string{"step keep", "two times and a word"}},
		{"a start without a result", "python-start", "start", func(r *workload.StepResult) { r.Stdout = r.Stdout[3:] },
			[]string{"step start: 4 of 5 starts"}},
		{"another file", "nginx", "hash", func(r *workload.StepResult) {
			r.Stdout = bytes.Replace(r.Stdout, []byte("733f"), []byte("833f"), 1)
		}, []string{"step hash", "instead of 733fe81f"}},
		{"no file", "caddy", "hash", func(r *workload.StepResult) { r.Stdout = nil },
			[]string{`step hash: the file that was sent has the SHA-256 ""`}},
		{"a request too few in the log", "nginx", "served", func(r *workload.StepResult) { r.Stdout = []byte("299\n") },
			[]string{"step served", "instead of 300"}},
		{"half a file each", "caddy", "served", func(r *workload.StepResult) { r.ExitCode, r.Stdout = 1, []byte("0\n") },
			[]string{"step served failed with exit status 1"}},
		{"a damaged file", "sqlite", "verify", func(r *workload.StepResult) {
			r.Stdout = append([]byte("*** in database main ***\nPage 7: never used\n"), r.Stdout[3:]...)
		}, []string{"finds the file damaged"}},
		{"a wrong answer", "sqlite", "verify", func(r *workload.StepResult) { r.Stdout[3] ^= 1 },
			[]string{"the answers have the SHA-256"}},
		{"another commit", "git-clone", "verify-clone", func(r *workload.StepResult) { r.Stdout[0] ^= 1 },
			[]string{"the clone ends with commit"}},
		{"fewer commits", "git-clone", "verify-clone", func(r *workload.StepResult) {
			r.Stdout = bytes.Replace(r.Stdout, []byte("\n1\n"), []byte("\n0\n"), 1)
		}, []string{"the clone has 0 commits instead of 1"}},
		{"a file too few", "git-clone", "verify-clone", func(r *workload.StepResult) {
			r.Stdout = bytes.Replace(r.Stdout, []byte("\n826\n"), []byte("\n825\n"), 1)
		}, []string{"the clone has 825 files, but the tree has 826"}},
		{"files that differ", "git-clone", "verify-clone", func(r *workload.StepResult) {
			r.ExitCode, r.Stdout = 1, []byte("Files tare-untar/0/a and tare-untar-clone/0/a differ\n")
		}, []string{"step verify-clone failed with exit status 1", "differ"}},
		{"a frame too few", "ffmpeg", "verify", func(r *workload.StepResult) {
			r.Stdout = bytes.Replace(r.Stdout, []byte("360,10"), []byte("360,9"), 1)
		}, []string{"9 frames instead of 10"}},
		{"another picture", "ffmpeg", "verify", func(r *workload.StepResult) {
			r.Stdout = bytes.Replace(r.Stdout, []byte("min:43"), []byte("min:13"), 1)
		}, []string{"differs too much from the input: 13.97"}},
		{"a shorter input", "ffmpeg", "verify", func(r *workload.StepResult) { r.Stdout = r.Stdout[1:] },
			[]string{"the input has 456000 bytes"}},
		{"no quality", "ffmpeg", "verify", func(r *workload.StepResult) { r.Stdout = r.Stdout[:20] },
			[]string{"or their quality are missing"}},
		{"does not decompress", "zstd", "verify", func(r *workload.StepResult) { r.Stdout = nil },
			[]string{`the file has "" bytes, but zstd wrote`}},
		{"a part decompressed", "zstd", "decompress",
			func(r *workload.StepResult) { r.Stderr = []byte("tare-zstd/out : 1048575 bytes \n") },
			[]string{"1048575 bytes instead of 1048576"}},
		{"a probe without its percentile", "fill", "probe", func(r *workload.StepResult) {
			r.Stdout = bytes.Replace(r.Stdout, []byte("99th"), []byte("95th"), 1)
		}, []string{"step probe", "99th percentile"}},
		{"a probe of other work", "fill", "probe", func(r *workload.StepResult) {
			r.Stdout = bytes.Replace(r.Stdout, []byte("of events:              2000"), []byte("of events:              1999"), 1)
		}, []string{"step probe: sysbench cpu made 1999 events instead of 2000"}},
		{"too few latencies", "disk-latency", "latencies", func(r *workload.StepResult) { r.Stdout = []byte("98 25000\n") },
			[]string{"98 requests instead of 99"}},
		{"too few events", "sysbench-cpu", "cpu", func(r *workload.StepResult) { r.Stdout = fixture(t, "sysbench/cpu.txt") },
			[]string{"8691 events instead of 150"}},
	} {
		t.Run(tc.workload+"/"+tc.name, func(t *testing.T) {
			w, size, rs := good(t, tc.workload)
			tc.spoil(result(rs, tc.step))
			m, err := w.Evaluate(size, rs)
			checkRefused(t, m, err, tc.says)
		})
	}
	for _, w := range All() {
		t.Run(w.Name+"/stopped early", func(t *testing.T) {
			w, size, rs := good(t, w.Name)
			m, err := w.Evaluate(size, rs[:len(rs)-1])
			checkRefused(t, m, err, []string{"step " + rs[len(rs)-1].Name + " was not run"})
			for i := range rs { // the runner stops at the first failure
				failed := slices.Clone(rs[:i+1])
				failed[i].ExitCode = 3
				m, err := w.Evaluate(size, failed)
				checkRefused(t, m, err, []string{"step " + rs[i].Name + " failed with exit status 3"})
			}
		})
	}
}

// Results that only a defect of tare can cause are not the guest's fault.
func TestEvaluateDefects(t *testing.T) {
	w, size, rs := good(t, "dd-write")
	noTime := slices.Clone(rs)
	noTime[1].Wall = 0
	for name, rs := range map[string][]workload.StepResult{
		"twice":    append(slices.Clone(rs), rs[0]),
		"unknown":  append(slices.Clone(rs), workload.StepResult{Name: "x"}),
		"no clock": noTime,
	} {
		if m, err := w.Evaluate(size, rs); err == nil || fault.KindOf(err) != fault.Internal {
			t.Errorf("%s: %v, %v", name, m, err)
		}
	}
}

// TestPoints: the points of curves are the figures that the tools printed.
func TestPoints(t *testing.T) {
	w, size, rs := good(t, "netpipe")
	m, err := w.Evaluate(size, rs)
	if err != nil {
		t.Fatal(err)
	}
	// NetPIPE prints 8.51 us for one byte. The point at 16 bytes is the mean of 13, 16 and 19 bytes.
	if got := m["message-time[length=1B]"]; !near(got, 8.51e-6) {
		t.Errorf("a message of one byte takes %v s", got)
	}
	if got := m["rate[length=1B]"]; !near(got, 8/8.51e-6) {
		t.Errorf("the rate of messages of one byte is %v bit/s", got)
	}
	r, err := tool.Read("netpipe", result(rs, "client").Output())
	if err != nil {
		t.Fatal(err)
	}
	product := 1.0
	for _, length := range []string{"13", "16", "19"} {
		product *= r.All("time of " + length + " bytes")[0].In("s")
	}
	if got, want := m["message-time[length=16B]"], math.Cbrt(product); !near(got, want) {
		t.Errorf("a message of 16 bytes takes %v s, not %v", got, want)
	}

	w, size, rs = good(t, "iozone")
	if m, err = w.Evaluate(size, rs); err != nil {
		t.Fatal(err)
	}
	for name, kB := range map[string]float64{"write[record=4096B]": 140122, "random-read[record=65536B]": 1216601,
		"freread[record=16777216B]": 8928311} {
		if !near(m[name], kB*1024) {
			t.Errorf("%s is %v B/s, not %v kB/s", name, m[name], kB)
		}
	}
}
