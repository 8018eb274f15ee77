package host

import (
	"os"
	"reflect"
	"testing"
	"testing/fstest"
	"time"
)

func TestKSM(t *testing.T) {
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	ksm := fstest.MapFS{"run": file("1\n"), "pages_sharing": file("300\n")}
	proc := fstest.MapFS{
		"7/stat":     file("7 (ksmd) S 1 0 0 0 -1 0 0 0 0 0 900 0 0 0 25 5 1 0\n"),
		"7/cmdline":  file("ksmd\x00--like"),
		"36/stat":    file("36 (ksmd) S 2 0 0 0 -1 0 0 0 0 0 0 250 0 0 25 5 1 0\n"),
		"36/cmdline": file(""),
		"4/stat":     file("nonsense"),
	}
	got, err := readKSM(ksm, proc)
	want := &KSM{Saved: 300 * int64(os.Getpagesize()), CPU: 2500 * time.Millisecond, KnownCPU: true}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v", got, err)
	}
	delete(proc, "36/stat")
	if got, err = readKSM(ksm, proc); err != nil || got.KnownCPU {
		t.Errorf("with its thread out of sight: %+v, %v", got, err)
	}
	ksm["pages_sharing"] = file("many")
	if _, err := readKSM(ksm, proc); err == nil {
		t.Error("many pages are no number")
	}
	for _, off := range []fstest.MapFS{{}, {"run": file("0\n")}, {"run": file("2\n")}} {
		if got, err := readKSM(off, proc); got != nil || err != nil {
			t.Errorf("%+v, %v", got, err)
		}
	}
}
