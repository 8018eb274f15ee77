package builtin

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/tare-bench/tare/internal/fault"
)

func TestWith(t *testing.T) {
	w := mustGet(t, "sysbench-cpu")
	four, err := w.With("sysbench-cpu[threads=4]", map[string]string{"threads": "4"})
	if err != nil {
		t.Fatal(err)
	}
	if four.Name != "sysbench-cpu[threads=4]" || four.Settings.Int("threads") != 4 {
		t.Errorf("%s, %v", four.Name, four.Settings)
	}
	argv := four.Steps(1000)[0].Argv
	if !slices.Contains(argv, "--threads=4") || !slices.Contains(argv, "--events=1000") {
		t.Errorf("%q", argv)
	}
	if !slices.Contains(w.Steps(1000)[0].Argv, "--threads=1") || w.Name != "sysbench-cpu" {
		t.Error("With changed the original workload")
	}
	for _, bad := range []struct{ name, value, want string }{
		{"threads", "0", "whole number from 1"},
		{"threads", "many", "whole number from 1"},
		{"treads", "1", `no parameter "treads"`},
	} {
		_, err := w.With("x", map[string]string{bad.name: bad.value})
		if err == nil || fault.KindOf(err) != fault.Campaign || !strings.Contains(err.Error(), bad.want) {
			t.Errorf("%s: %s: %v", bad.name, bad.value, err)
		}
	}
}

// TestMemoryThreads: sysbench divides its total among the threads and drops the
// remainder, so the size is per thread.
func TestMemoryThreads(t *testing.T) {
	w, err := mustGet(t, "sysbench-memory-read").With("m", map[string]string{"threads": "10"})
	if err != nil {
		t.Fatal(err)
	}
	if argv := w.Steps(513)[0].Argv; !slices.Contains(argv, "--memory-total-size=5130M") {
		t.Errorf("%q", argv)
	}
}

// TestParams: every workload accepts the parameter values that it declares.
func TestParams(t *testing.T) {
	for _, w := range All() {
		for _, p := range w.Params {
			if err := p.Check(p.Default); err != nil {
				t.Errorf("%s: the default: %v", w.Name, err)
			}
			if p.Name == "" || p.About == "" {
				t.Errorf("%s: %+v", w.Name, p)
			}
			extremes := p.Values
			if extremes == nil {
				extremes = []string{strconv.FormatInt(p.Min, 10), strconv.FormatInt(p.Max, 10)}
			}
			for _, v := range extremes {
				with, err := w.With(w.Name, map[string]string{p.Name: v})
				if err != nil {
					t.Errorf("%s: %s=%s: %v", w.Name, p.Name, v, err)
				} else if len(with.Steps(with.DefaultSize)) == 0 {
					t.Errorf("%s: %s=%s: no steps", w.Name, p.Name, v)
				}
			}
		}
	}
}

// TestDDBlocks: dd copies as many bytes whatever its blocks.
func TestDDBlocks(t *testing.T) {
	for _, name := range []string{"dd-write", "dd-read"} {
		for block, want := range map[string][]string{"4": {"bs=4096", "count=25600"}, "1024": {"bs=1048576", "count=100"}} {
			w, err := mustGet(t, name).With("d", map[string]string{"block": block})
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range w.Steps(100) {
				if s.Timed && s.Argv[0] == "dd" && !slices.Equal(s.Argv[3:5], want) {
					t.Errorf("%s with blocks of %s KiB runs %q", name, block, s.Argv)
				}
			}
		}
	}
}
