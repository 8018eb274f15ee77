package builtin

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/tare-bench/tare/internal/workload"
	"github.com/tare-bench/tare/internal/workload/tool"
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
		size = 5000
		rs = allWell(w, size, nil)
		result(rs, "client").Stdout = fixture(t, "netperf/tcp_crr-k.txt")
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

// TestEveryLineIsRead: of what the tools printed in recorded trials, the readers leave no line with numbers out.
func TestEveryLineIsRead(t *testing.T) {
	read := 0
	for _, w := range All() {
		if _, err := os.Stat(filepath.Join("testdata", "trials", w.Name+".json")); err != nil || w.Tool == "" {
			continue
		}
		_, rs := recorded(t, w.Name)
		for _, step := range rs {
			if _, err := w.Parse([]byte(step.Output())); err != nil {
				continue // the output of another program
			}
			r, err := tool.Read(w.Tool, step.Output())
			if err != nil {
				t.Errorf("%s: %v", w.Name, err)
				continue
			}
			read++
			if left := r.Unread(); len(left) > 0 {
				t.Errorf("%s: %s leaves out %d lines with numbers: %q", w.Name, w.Tool, len(left), left[:min(len(left), 3)])
			}
		}
	}
	if read < 25 {
		t.Errorf("only %d outputs were read", read)
	}
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
