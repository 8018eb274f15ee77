package builtin

import (
	"strings"
	"testing"

	"github.com/tare-bench/tare/internal/workload"
)

func TestGrowth(t *testing.T) {
	for name, want := range map[string]workload.Growth{
		"openssl-enc time": workload.Proportional, "openssl-enc time-guest": workload.Proportional,
		"openssl-enc cpu-time":            workload.Proportional,
		"dd-write overwrite-time-flushed": workload.Proportional, "dd-write cold-rate": workload.PerUnit,
		"cpio-read system":     workload.Proportional,
		"fio-randread latency": workload.PerUnit, "file-ops io-time": workload.Proportional,
		"sysbench-cpu rate":    workload.PerUnit,
		"disk-latency latency": workload.PerUnit, "disk-latency latency-max": workload.Unlike,
		"kernel-ops syscall": workload.PerUnit,
		"kernel-build time":  workload.Unlike, "bonnie time": workload.Unlike, "bonnie create": workload.Unlike,
		"openssl-enc colour": workload.Unlike,
	} {
		of, metric, _ := strings.Cut(name, " ")
		w, err := Get(of)
		if err != nil {
			t.Fatal(err)
		}
		got, why := w.Growth(metric)
		if got != want || (got == workload.Unlike) != (why != "") {
			t.Errorf("%s: %v, %q; want %v", name, got, why, want)
		}
	}
	whole, err := kernelBuild().With("kernel-build[target=vmlinux]", map[string]string{"target": "vmlinux"})
	if err != nil {
		t.Fatal(err)
	}
	if g, _ := whole.Growth("time"); g != workload.Proportional {
		t.Error("two kernels take twice as long as one")
	}
}

// TestTimesGrow: a metric in seconds is the time of the whole trial or of one
// operation; the wall-clock time is that of the whole trial.
func TestTimesGrow(t *testing.T) {
	for _, w := range All() {
		for _, m := range w.Metrics {
			g, _ := w.Growth(m.Name)
			if m.Clock == workload.HostClock && m.Unit == "s" && g != workload.Proportional && w.Uneven == "" {
				t.Errorf("%s %s is the time of the work by the host's clock, but does not grow with it", w.Name, m.Name)
			}
			if m.Better == workload.Higher && g == workload.Proportional {
				t.Errorf("%s %s is not a rate", w.Name, m.Name)
			}
		}
	}
}
