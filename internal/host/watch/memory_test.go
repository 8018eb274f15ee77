package watch

import (
	"os"
	"reflect"
	"testing"
	"testing/fstest"
	"time"

	"github.com/tare-bench/tare/internal/host/procfs"
)

func TestKSM(t *testing.T) {
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	const run, sharing = "sys/kernel/mm/ksm/run", "sys/kernel/mm/ksm/pages_sharing"
	root := fstest.MapFS{
		run:                 file("1\n"),
		sharing:             file("300\n"),
		"host/proc/7/stat":  file("7 (ksmd) S 1 0 0 0 -1 4194560 0 0 0 0 900 0 0 0 25 5 1 0 60\n"),
		"host/proc/36/stat": file("36 (ksmd) S 2 0 0 0 -1 2129984 0 0 0 0 0 250 0 0 25 5 1 0 60\n"),
		"host/proc/4/stat":  file("nonsense"),
	}
	files := procfs.FS{Root: root, Proc: "/host/proc"}
	got, err := readKSM(files)
	want := &KSM{Saved: 300 * int64(os.Getpagesize()), CPU: 2500 * time.Millisecond, KnownCPU: true}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v", got, err)
	}
	delete(root, "host/proc/36/stat")
	if got, err = readKSM(files); err != nil || got.KnownCPU {
		t.Errorf("with its thread out of sight: %+v, %v", got, err)
	}
	root[sharing] = file("many")
	if _, err := readKSM(files); err == nil {
		t.Error("many pages are no number")
	}
	for _, off := range []fstest.MapFS{{}, {run: file("0\n")}, {run: file("2\n")}} {
		if got, err := readKSM(procfs.FS{Root: off, Proc: "/host/proc"}); got != nil || err != nil {
			t.Errorf("%+v, %v", got, err)
		}
	}
}
