package model

import (
	"slices"
	"strings"
	"testing"
)

func TestCPUList(t *testing.T) {
	for in, want := range map[string]string{
		"": "", "0": "0", "0-3,8": "0-3,8", "8,0-1,1-3\n": "0-3,8", "1,3,5": "1,3,5", "3,1,0": "0-1,3", "0-2,1-4": "0-4",
		"5, 7": "5,7", "8191": "8191",
	} {
		got, err := ParseCPUList(in)
		if err != nil || got.String() != want || !slices.IsSorted(got) {
			t.Errorf("%q: %v, %v", in, got, err)
		}
	}
	for _, bad := range []string{
		"a", "3-1", "-1", "1-", ",", "0--2", "1,,2", "8192", "0-99999", "0-999999999", "0-31:1/2", strings.Repeat("0-8191,",
			100) + "0",
	} {
		if got, err := ParseCPUList(bad); err == nil {
			t.Errorf("%q: %v", bad, got)
		}
	}
}

func TestCPUMask(t *testing.T) {
	for in, want := range map[string]string{"0": "", "3": "0-1", "d\n": "0,2-3", "ff000000,00000001": "0,56-63",
		"1,00000000": "32"} {
		got, err := ParseCPUMask(in)
		if err != nil || got.String() != want {
			t.Errorf("mask %q: %v, %v", in, got, err)
		}
		if again := got.Mask(); len(got) > 0 && again != strings.TrimSpace(in) {
			t.Errorf("mask %q became %q", in, again)
		}
	}
	for _, bad := range []string{"", "x", "1ffffffff", "-1", "1,", strings.Repeat("0,", 300) + "1"} {
		if got, err := ParseCPUMask(bad); err == nil {
			t.Errorf("mask %q: %v", bad, got)
		}
	}
}

func TestCPUSets(t *testing.T) {
	l := CPUList{0, 1, 2, 5}
	if got := l.Without(FirstCPUs(2)); !slices.Equal(got, CPUList{2, 5}) {
		t.Errorf("without: %v", got)
	}
	if got := l.Common(CPUList{1, 3, 5}); !slices.Equal(got, CPUList{1, 5}) {
		t.Errorf("common: %v", got)
	}
	if !l.Contains(5) || l.Contains(3) || CPUList(nil).Contains(0) {
		t.Error("contains")
	}
}

func FuzzCPUList(f *testing.F) {
	f.Add("0-3,8")
	f.Fuzz(func(t *testing.T, s string) {
		a, err := ParseCPUList(s)
		if err != nil {
			return
		}
		b, err := ParseCPUList(a.String())
		if err != nil || !slices.Equal(a, b) {
			t.Errorf("%v became %v, %v", a, b, err)
		}
	})
}

func FuzzCPUMask(f *testing.F) {
	f.Add("3,ffffffff")
	f.Fuzz(func(t *testing.T, s string) {
		a, err := ParseCPUMask(s)
		if err != nil {
			return
		}
		if b, err := ParseCPUList(a.String()); err != nil || !slices.Equal(a, b) {
			t.Errorf("%v became %v, %v", a, b, err)
		}
	})
}
