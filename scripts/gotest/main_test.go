package main

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// feed passes the events of a script to a counter: "action package test output".
func feed(script string) (*counter, *strings.Builder) {
	var w strings.Builder
	c := newCounter(&w)
	for l := range strings.Lines(strings.TrimSpace(script)) {
		f := strings.SplitN(strings.TrimSpace(l), " ", 4)
		const event = `{"Action":%q,"Package":%q,"Test":%q,"Output":%q}`
		c.line(fmt.Appendf(nil, event, f[0], f[1], strings.Trim(f[2], "-"), f[3]+"\n"))
	}
	return c, &w
}

func TestCounter(t *testing.T) {
	tests := map[string]struct {
		script string
		strict bool
		ok     bool
		want   []string
		not    []string
	}{
		"a pass is quiet": {
			script: "output p TestA chatter\npass p TestA -\noutput p - PASS\noutput p - ok  \tp\t0.1s\npass p - -",
			ok:     true,
			want:   []string{"ok  \tp\t0.1s", "tests: 1 passed, 0 failed, 0 skipped"},
			not:    []string{"chatter", "PASS"},
		},
		"a failure prints its output": {
			script: "output p TestA why\nfail p TestA -\noutput p - FAIL\tp\nfail p - -",
			want:   []string{"why", "FAIL\tp", "failed: p TestA", "tests: 0 passed, 1 failed"},
		},
		"a panic ends its test": {
			script: "output p TestA panic: x\noutput p - FAIL\tp\nfail p - -",
			want:   []string{"panic: x", "failed: p TestA", "1 failed"},
		},
		"a package that exits early has failed": {
			script: "pass p TestA -\noutput q - systemtest: no image\nfail q - -",
			want:   []string{"systemtest: no image", "tests: 1 passed, 1 failed"},
		},
		"a listed skip is permitted": {
			script: "pass p TestA -\noutput p TestB x_test.go:3: cannot freeze\nskip p TestB -\npass p - -",
			strict: true, ok: true,
			want: []string{"skipped: p TestB: cannot freeze", "1 passed, 0 failed, 1 skipped"},
		},
		"another skip is not": {
			script: "pass p TestA -\noutput p TestB x_test.go:3: no lxc here\nskip p TestB -\npass p - -",
			strict: true,
			want:   []string{"SKIPPED, but must run: p TestB: no lxc here", "1 passed, 1 failed, 0 skipped"},
		},
		"but it is without TARE_LIVE": {
			script: "pass p TestA -\noutput p TestB x_test.go:3: no lxc here\nskip p TestB -\npass p - -",
			ok:     true,
		},
		"no tests at all are a failure": {script: "output p - ok  \tp\npass p - -"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			c, w := feed(tt.script)
			if ok := c.close(tt.strict, parseSkips("# x\n\nTestB: cannot freeze")); ok != tt.ok {
				t.Errorf("ok = %v\n%s", ok, w)
			}
			for _, s := range tt.want {
				if !strings.Contains(w.String(), s) {
					t.Errorf("no %q in\n%s", s, w)
				}
			}
			for _, s := range tt.not {
				if strings.Contains(w.String(), s) {
					t.Errorf("%q in\n%s", s, w)
				}
			}
		})
	}
}

func TestSplit(t *testing.T) {
	got := fmt.Sprint(split([]string{"-p", "2", "./a", "+", "./b"}, "+"), split([]string{"./a"}, "/"))
	if got != "[[-p 2 ./a] [./b]] [[./a]]" {
		t.Error(got)
	}
}

// TestRunLane: every group runs once, those of a lane without a number in order, and no place has two at a time.
func TestRunLane(t *testing.T) {
	for lane, places := range map[string]int{"./a + ./b + ./c": 1, "2 ./a + ./b + ./c + ./d + ./e": 2, "3 ./a": 3} {
		busy := make([]atomic.Bool, places)
		var lock sync.Mutex
		var ran []string
		runLane(strings.Fields(lane), func(args []string, place int) {
			if busy[place].Swap(true) {
				t.Errorf("%q: two at place %d", lane, place)
			}
			time.Sleep(time.Millisecond)
			lock.Lock()
			ran = append(ran, args...)
			lock.Unlock()
			busy[place].Store(false)
		})
		if places > 1 {
			slices.Sort(ran)
		}
		_, want, _ := strings.Cut(lane, "./")
		if got := strings.Join(ran, " + "); got != "./"+want {
			t.Errorf("%q ran %s", lane, got)
		}
	}
	// A group that does not end keeps no other from beginning.
	second := make(chan bool)
	runLane([]string{"2", "./a", "+", "./b", "+", "./c"}, func(args []string, _ int) {
		switch args[0] {
		case "./a":
			<-second
		case "./c":
			close(second)
		}
	})
}

func TestSlowest(t *testing.T) {
	var w strings.Builder
	c := newCounter(&w)
	tests := map[string]float64{"TestA/b/c": 4, "TestA/b": 6, "TestA": 9.5, "TestB": 2.25, "TestC": 0.9, "": 20}
	for test, seconds := range tests {
		c.line(fmt.Appendf(nil, `{"Action":"pass","Package":"p","Test":%q,"Elapsed":%g}`, test, seconds))
	}
	c.close(false, nil)
	const want = `slowest packages:
    20.0 s  p
slowest tests, each without its subtests:
     4.0 s  p TestA/b/c
     3.5 s  p TestA
     2.2 s  p TestB
     2.0 s  p TestA/b
tests: 5 passed, 0 failed, 0 skipped
`
	if w.String() != want {
		t.Errorf("got\n%swant\n%s", w.String(), want)
	}
}

func TestSkipsParse(t *testing.T) {
	if len(parseSkips(skipsText)) == 0 {
		t.Error("skips.txt is empty")
	}
}
