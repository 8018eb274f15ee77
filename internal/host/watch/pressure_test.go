package watch

import (
	"testing"
	"testing/fstest"
	"time"

	"github.com/tare-bench/tare/internal/host/procfs"
)

func TestStalls(t *testing.T) {
	tree := fstest.MapFS{
		"proc/pressure/cpu":    {Data: []byte("some avg10=1.00 avg60=0.00 avg300=0.00 total=2000000\n")},
		"proc/pressure/memory": {Data: []byte("some avg10=0.00 total=5\nfull avg10=0.00 total=4\n")},
	}
	s, err := readStalls(procfs.FS{Root: tree, Proc: "/proc"})
	if err != nil || s.total["cpu"] != 2*time.Second || s.total["memory"] != 5*time.Microsecond {
		t.Errorf("%+v, %v", s, err)
	}
	before := Stalls{at: s.at - 4*time.Second, total: map[string]time.Duration{"cpu": time.Second}}
	if resource, share := s.Since(before); resource != "cpu" || share != 0.25 {
		t.Errorf("%s %v", resource, share)
	}
	if resource, share := s.Since(s); resource != "" || share != 0 {
		t.Errorf("%s %v", resource, share)
	}
	tree["proc/pressure/io"] = &fstest.MapFile{Data: []byte("full total=3\n")}
	if _, err := readStalls(procfs.FS{Root: tree, Proc: "/proc"}); err == nil {
		t.Error("no line of some tasks, but no error")
	}
}

func FuzzStalls(f *testing.F) {
	f.Add("some avg10=0.00 avg60=0.00 avg300=0.00 total=12\nfull total=1\n")
	f.Fuzz(func(t *testing.T, text string) {
		if total, err := parseStalls(text); err == nil && total < 0 {
			t.Error(total)
		}
	})
}
