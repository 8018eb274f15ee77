package builtin

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/workload"
)

// allWell returns results of steps that all succeeded and wrote output.
func allWell(w *workload.Workload, size int64, output []byte) []workload.StepResult {
	var rs []workload.StepResult
	for _, s := range w.Trial(size, "") {
		rs = append(rs, workload.StepResult{Name: s.Name, Wall: time.Second, Stdout: output, Stderr: output})
	}
	return rs
}

func result(rs []workload.StepResult, name string) *workload.StepResult {
	for i := range rs {
		if rs[i].Name == name {
			return &rs[i]
		}
	}
	panic("no step " + name)
}

func ddOutput(mib int64) []byte {
	return fmt.Appendf(nil, "%d+0 records in\n%d+0 records out\n%d bytes copied, 0.5 s, %.1f MB/s\n",
		mib, mib, mib<<20, float64(mib<<20)/0.5/1e6)
}

// good returns a trial of each workload that must be accepted.
func good(t *testing.T, name string) (w *workload.Workload, size int64, rs []workload.StepResult) {
	w = mustGet(t, name)
	size = w.MinSize
	switch name {
	case "openssl-enc", "dd-write":
		rs = allWell(w, size, nil)
		for i := range rs {
			rs[i].Stderr = ddOutput(size)
		}
	case "untar-kernel":
		size = 400
		rs = allWell(w, size, nil)
		result(rs, "verify").Stdout = []byte("copy 0: 256 pieces, 7 of 7 files, 50 of 50 bytes\n" +
			"copy 1: 144 pieces, 4 of 4 files, 20 of 20 bytes\n")
	case "stress-ng-exec":
		size = 100
		rs = allWell(w, size, nil)
		result(rs, "exec").Stderr = fixture(t, "stress-ng/exec-100.txt")
	case "fio-randread":
		rs = allWell(w, size, nil)
		result(rs, "run").Stdout = fixture(t, "fio/randread-2M-fixed-json.txt")
	case "fio-randwrite":
		size = 512
		rs = allWell(w, size, nil)
		result(rs, "run").Stdout = fixture(t, "fio/randwrite-2M-article.txt")
	case "sysbench-cpu":
		rs = allWell(w, size, nil)
		result(rs, "cpu").Stdout = fixture(t, "sysbench/cpu-events.txt")
	case "kernel-build":
		size = 3
		rs = allWell(w, size, nil)
		result(rs, "verify").Stdout = []byte("built\nbuilt\nbuilt\n")
	case "netperf-crr":
		size = 23706 // 7902.06 a second for 3 s
		rs = allWell(w, size, nil)
		result(rs, "client").Stdout = fixture(t, "netperf/tcp_crr.txt")
	case "netperf-stream":
		size = 2461 // MiB: 6837.03 Mbit/s for 3.02 s
		rs = allWell(w, size, nil)
		result(rs, "client").Stdout = fixture(t, "netperf/tcp_stream.txt")
	case "start":
		rs = allWell(w, size, nil)
	case "restore":
		rs = allWell(w, size, nil)
		result(rs, workload.KeepStep).Stdout = []byte("64 2164771 1016045 same\n")
	default:
		size, rs = recorded(t, name)
	}
	return w, size, rs
}

var update = flag.Bool("update", false, "record what the tools of this machine say in testdata/trials")

// trialFile is a recorded trial of real tools, for tests of Evaluate.
type trialFile struct {
	Size  int64        `json:"size"`
	Steps []stepRecord `json:"steps"`
}

type stepRecord struct {
	Name   string `json:"name"`
	Stdout string `json:"stdout,omitempty"`
	Stderr string `json:"stderr,omitempty"`
}

func recorded(t *testing.T, name string) (size int64, rs []workload.StepResult) {
	t.Helper()
	var f trialFile
	if err := json.Unmarshal(fixture(t, "trials/"+name+".json"), &f); err != nil {
		t.Fatal(err)
	}
	for _, s := range f.Steps {
		rs = append(rs, workload.StepResult{Name: s.Name, Wall: time.Second, Stdout: []byte(s.Stdout),
			Stderr: []byte(s.Stderr)})
	}
	return f.Size, rs
}

func record(t *testing.T, name string, size int64, rs []workload.StepResult) {
	t.Helper()
	f := trialFile{Size: size}
	for _, r := range rs {
		f.Steps = append(f.Steps, stepRecord{r.Name, string(r.Stdout), string(r.Stderr)})
	}
	b, err := json.MarshalIndent(f, "", "  ")
	if err == nil {
		err = os.WriteFile(filepath.Join("testdata", "trials", name+".json"), append(b, '\n'), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

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
	if len(m) != len(w.Metrics) && !w.Sparse {
		t.Errorf("%d values for %d metrics: %v", len(m), len(w.Metrics), m)
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
		{"full disk", "fio-randread", "layout", func(r *workload.StepResult) {
			r.ExitCode, r.Stderr = 1, fixture(t, "fio/error-enospc-json.err")
		}, []string{"step layout failed with exit status 1", "No space left on device"}},
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
			r.Stdout = bytes.Replace(r.Stdout, []byte("3.00     7902"), []byte("2.00     7902"), 1)
		}, []string{"not do the work"}},

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

func TestRegistry(t *testing.T) {
	names := map[string]bool{}
	for _, w := range All() {
		if names[w.Name] {
			t.Errorf("two workloads %s", w.Name)
		}
		names[w.Name] = true
		if w.Title == "" || w.Source == "" || w.SizeUnit == "" || (len(w.Programs) == 0 || len(w.Packages) == 0) &&
			!w.OwnBuild || len(w.Metrics) == 0 {
			t.Errorf("%s: something is missing: %+v", w.Name, w)
		}
		if !(0 < w.MinSize && w.MinSize <= w.DefaultSize && w.DefaultSize <= w.MaxSize) {
			t.Errorf("%s: sizes %d, %d, %d", w.Name, w.MinSize, w.DefaultSize, w.MaxSize)
		}
		metrics := map[string]workload.Metric{}
		for _, m := range w.Metrics {
			if _, twice := metrics[m.Name]; twice || m.Name == "" || m.Unit == "" || m.About == "" || m.Clock == "" ||
				m.Better == "" {
				t.Errorf("%s: metric %+v", w.Name, m)
			}
			metrics[m.Name] = m
		}
		for name, m := range metrics {
			for _, suffix := range []string{workload.FlushedSuffix, workload.GuestSuffix} {
				base, found := strings.CutSuffix(name, suffix)
				if of, ok := metrics[base]; found && (!ok || of.Unit != m.Unit || of.Better != m.Better) {
					t.Errorf("%s: %s belongs to no metric %s like it", w.Name, name, base)
				}
			}
		}
		for _, size := range []int64{w.MinSize, w.DefaultSize, w.MaxSize} {
			seen, timed, drops := map[string]bool{}, false, false
			for _, s := range w.Trial(size, "192.0.2.7") {
				if seen[s.Name] || s.Name == "" || len(s.Argv) == 0 {
					t.Errorf("%s: step %+v", w.Name, s)
				}
				for _, argv := range [][]string{s.Argv, s.Ready} {
					if len(argv) > 0 && !slices.Contains(w.Programs, argv[0]) &&
						!(w.OwnBuild && strings.HasPrefix(argv[0], workload.OwnBuildPath+"/")) {
						t.Errorf("%s: %s is not in Programs", w.Name, argv[0])
					}
				}
				if s.Background && s.Timed {
					t.Errorf("%s: step %s is a server and timed", w.Name, s.Name)
				}
				seen[s.Name], timed, drops = true, timed || s.Timed, drops || s.DropCaches
			}
			if !timed || drops != w.ReadsBack {
				t.Errorf("%s: timed %v, drops caches %v, reads back %v", w.Name, timed, drops, w.ReadsBack)
			}
			if w.DiskBytes != nil && w.DiskBytes(size) <= 0 {
				t.Errorf("%s: %d bytes for size %d", w.Name, w.DiskBytes(size), size)
			}
		}
		if got, err := Get(w.Name); err != nil || got.Name != w.Name {
			t.Errorf("Get(%q): %v", w.Name, err)
		}
	}
	for word, says := range map[string]string{
		"opensl-enc": `did you mean "openssl-enc"?`,
		"fio-rand":   `did you mean "fio-randread"?`,
		"zzz":        "choose one of openssl-enc, dd-write,",
	} {
		_, err := Get(word)
		if err == nil || fault.KindOf(err) != fault.Campaign || !strings.Contains(err.Error(), says) {
			t.Errorf("Get(%q): %v", word, err)
		}
	}
}

// TestRealTools runs every workload at its smallest size with the tools of
// this machine.
func TestRealTools(t *testing.T) {
	if testing.Short() {
		t.Skip("runs real tools")
	}
	source := sync.OnceValue(func() string { return fakeKernel(t) })
	for _, w := range All() {
		if slices.ContainsFunc(w.Trial(w.MinSize, ""), func(s workload.Step) bool { return s.Background }) {
			continue // servers run in guests only: cmd/tare's TestServices
		}
		if w.Fill != nil {
			continue // its programs run in the guests that it creates: cmd/tare's TestFill
		}
		t.Run(w.Name, func(t *testing.T) {
			if w.NonFree && os.Getenv("TARE_NON_FREE") == "" {
				t.Skip("TARE_NON_FREE does not say that its program, in Debian's non-free, is here")
			}
			if w.OwnBuild {
				env := "TARE_BUILD_" + strings.ToUpper(strings.ReplaceAll(w.Name, "-", "_"))
				path := os.Getenv(env)
				if path == "" {
					t.Skipf("%s names no build of its program", env)
				}
				w = w.Built(path)
			}
			for _, tool := range w.Programs {
				if _, err := exec.LookPath(tool); err != nil {
					t.Skipf("%s is not installed", tool)
				}
			}
			dir := t.TempDir()
			openToNobody(t, dir)
			size := w.MinSize
			switch w.Name {
			case "untar-kernel":
				w, size = untarKernel(source()), kernelPieces+2
			case "cpio-read":
				w, size = cpioRead(source()), 20
			case "tar-create":
				w, size = tarCreate(source()), 20
			case "zstd":
				w, size = zstd(source()), 1
			case "git-clone":
				w, size = gitCloning(source()), 20
			}
			// Run it twice: the remains of one trial must not affect the next.
			if (w.Name == "bonnie" || w.Name == "file-ops") && !*update {
				t.Skip("takes many seconds, whatever its size: cmd/tare's TestServices runs it")
			}
			for range 2 {
				rs := runSteps(t, dir, w.Steps(size))
				m, err := w.Evaluate(size, rs)
				if err != nil {
					t.Fatal(err)
				}
				if *update {
					record(t, w.Name, size, rs)
				}
				checkComplete(t, w, m)
				t.Logf("%v", m)
			}
			left, err := os.ReadDir(dir)
			if err != nil || len(left) != 0 {
				t.Errorf("left behind: %v, %v", left, err)
			}
		})
	}
	t.Run("untar-kernel spoiled", func(t *testing.T) {
		src := fakeKernel(t)
		w := untarKernel(src)
		if err := os.WriteFile(filepath.Join(src, "MANIFEST"), []byte("# head\n000 3 6\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		m, err := w.Evaluate(1, runSteps(t, t.TempDir(), w.Steps(1)))
		checkRefused(t, m, err, []string{"2 of 3 files"})
	})
}

// openToNobody gives other users access to a test's temporary directory.
func openToNobody(t *testing.T, dir string) {
	for d := dir; d != os.TempDir() && d != filepath.Dir(d); d = filepath.Dir(d) {
		if err := os.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
}

func runSteps(t *testing.T, dir string, steps []workload.Step) []workload.StepResult {
	var rs []workload.StepResult
	for _, s := range steps {
		cmd := exec.Command(s.Argv[0], s.Argv[1:]...)
		var stdout, stderr bytes.Buffer
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "LC_ALL=C")
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		start := time.Now()
		err := cmd.Run()
		r := workload.StepResult{Name: s.Name, Wall: time.Since(start), Stdout: stdout.Bytes(), Stderr: stderr.Bytes()}
		if cmd.ProcessState == nil {
			t.Fatalf("%s: %v", s.Name, err)
		}
		r.ExitCode = cmd.ProcessState.ExitCode()
		rs = append(rs, r)
		if r.ExitCode != 0 {
			break
		}
	}
	return rs
}

// fakeKernel creates almost empty pieces with the layout of the userland image.
func fakeKernel(t *testing.T) string {
	src, work := t.TempDir(), t.TempDir()
	manifest := "# piece, files and links, bytes\n"
	for i := range kernelPieces {
		sub := fmt.Sprintf("linux/dir%d", i%5)
		if err := os.MkdirAll(filepath.Join(work, sub), 0o755); err != nil {
			t.Fatal(err)
		}
		file, link := fmt.Sprintf("%s/file%d", sub, i), fmt.Sprintf("%s/link%d", sub, i)
		if err := os.WriteFile(filepath.Join(work, file), []byte("hello\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink("file", filepath.Join(work, link)); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command("tar", "czf", fmt.Sprintf("%s/%03d.tar.gz", src, i), "-C", work, file, link)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Skipf("tar: %v: %s", err, out)
		}
		manifest += fmt.Sprintf("%03d 2 6\n", i)
	}
	if err := os.WriteFile(filepath.Join(src, "MANIFEST"), []byte(manifest), 0o644); err != nil {
		t.Fatal(err)
	}
	return src
}
