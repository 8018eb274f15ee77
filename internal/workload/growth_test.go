package workload

import (
	"strings"
	"testing"
)

func TestGrowth(t *testing.T) {
	for name, want := range map[string]Growth{
		"openssl-enc time": Proportional, "openssl-enc time-guest": Proportional, "openssl-enc cpu-time": Proportional,
		"dd-write overwrite-time-flushed": Proportional, "dd-write cold-rate": PerUnit, "cpio-read system": Proportional,
		"fio-randread latency": PerUnit, "file-ops io-time": Proportional, "sysbench-cpu rate": PerUnit,
		"disk-latency latency": PerUnit, "disk-latency latency-max": Unlike, "kernel-ops syscall": PerUnit,
		"kernel-build time": Unlike, "bonnie time": Unlike, "bonnie create": Unlike, "openssl-enc colour": Unlike,
	} {
		of, metric, _ := strings.Cut(name, " ")
		w, err := Get(of)
		if err != nil {
			t.Fatal(err)
		}
		got, why := w.Growth(metric)
		if got != want || (got == Unlike) != (why != "") {
			t.Errorf("%s: %v, %q; want %v", name, got, why, want)
		}
	}
	whole, err := kernelBuild().With("kernel-build[target=vmlinux]", map[string]string{"target": "vmlinux"})
	if err != nil {
		t.Fatal(err)
	}
	if g, _ := whole.Growth("time"); g != Proportional {
		t.Error("two kernels take twice as long as one")
	}
}

// TestTimesGrow: a metric in seconds is the time of the whole trial or of one
// operation; the wall-clock time is that of the whole trial.
func TestTimesGrow(t *testing.T) {
	for _, w := range All() {
		for _, m := range w.Metrics {
			g, _ := w.Growth(m.Name)
			if m.Clock == HostClock && m.Unit == "s" && g != Proportional && w.Uneven == "" {
				t.Errorf("%s %s is the time of the work by the host's clock, but does not grow with it", w.Name, m.Name)
			}
			if m.Better == Higher && g == Proportional {
				t.Errorf("%s %s is not a rate", w.Name, m.Name)
			}
		}
	}
}
