package main

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tare-bench/tare/internal/store"
)

func TestPair(t *testing.T) {
	// R: t.test(c(1.2, 1.3, 1.1, 1.4), c(1, 1.1, .9, 1)): difference 0.25, interval 0.0544 … 0.4456.
	p, err := parsePair([]byte(
		`{"results":[{"command":"x","mean":1,"user":0.5,"system":0.3,"times":[1,1.1,0.9,1]},` +
			`{"command":"x","user":0.5,"system":0.34,"times":[1.2,1.3,1.1,1.4]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	percent, excludes, err := p.effect()
	if err != nil || math.Abs(percent-25) > 1e-9 || !excludes {
		t.Errorf("%v %%, without 0: %v, %v", percent, excludes, err)
	}
	if percent, ok := p.cpuEffect(); !ok || math.Abs(percent-5) > 1e-9 {
		t.Errorf("%v %% of CPU time, %v", percent, ok)
	}
	if _, ok := new(Pair).cpuEffect(); ok {
		t.Error("CPU time of nothing")
	}
	p.Second = []float64{1.2, 0.9, 1.3, 0.8}
	if percent, excludes, err := p.effect(); err != nil || excludes || math.Abs(percent-5) > 1e-9 {
		t.Errorf("%v %%, without 0: %v, %v", percent, excludes, err)
	}
	for _, bad := range []string{"", "{}", `{"results":[{"times":[1,2]}]}`,
		`{"results":[{"times":[1]},{"times":[1,2]}]}`} {
		if _, err := parsePair([]byte(bad)); err == nil {
			t.Errorf("accepted: %s", bad)
		}
	}
}

func TestRunsIn(t *testing.T) {
	if n := runsIn(15*time.Second, 0.1); n != 75 {
		t.Errorf("%d runs of each of two in 15 s", n)
	}
	if n := runsIn(time.Second, 10); n != 2 {
		t.Errorf("%d runs where none fits", n)
	}
}

func TestTree(t *testing.T) {
	s := &session{state: t.TempDir()}
	tree := filepath.Join(s.state, "images", "bookworm-base-0123456789ab", "tree")
	if err := os.MkdirAll(tree, 0o755); err != nil {
		t.Fatal(err)
	}
	if got, err := s.tree("0123456789abcdef"); err != nil || got != tree {
		t.Errorf("%s, %v", got, err)
	}
	for _, key := range []string{"", "fedcba9876543210"} {
		if _, err := s.tree(key); err == nil {
			t.Errorf("there is a userland %q", key)
		}
	}
}

func TestLoadEndsWhenItIsStopped(t *testing.T) {
	stop, err := startLoad()
	if err != nil {
		t.Fatal(err)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}

func TestSpans(t *testing.T) {
	if span(0) != shortest || math.Abs(float64(span(1)-longest)) > 10 {
		t.Errorf("from %v to %v", span(0), span(1))
	}
	if mid := span(0.5); math.Abs(mid.Seconds()-math.Sqrt(shortest.Seconds()*longest.Seconds())) > 1e-6 {
		t.Errorf("half of them are shorter than %v", mid)
	}
}

func TestCommandsOfHyperfine(t *testing.T) {
	s := &session{part: "aa"}
	if _, err := s.hyperfineLike("hyperfine openssl-enc", "openssl-enc", false); err == nil ||
		!strings.Contains(err.Error(), "no duel") {
		t.Errorf("hyperfine without a command: %v", err)
	}
}

func TestSizesStay(t *testing.T) {
	s := &session{part: "aa", records: []Record{
		{Part: "agreement", Run: &Run{Sizes: []store.Size{{Workload: "sysbench-cpu", Size: 1}}}},
		{Part: "aa", Pair: &Pair{}},
		{Part: "aa", Run: &Run{Sizes: []store.Size{{Workload: "openssl-enc", Size: 45}}}},
		{Part: "aa", Run: &Run{Sizes: []store.Size{{Workload: "sysbench-cpu", Size: 270}}}},
		{Part: "aa", Run: &Run{Sizes: []store.Size{{Workload: "sysbench-cpu", Size: 150}}}},
	}}
	got := s.sized([]workload{{"openssl-enc", 40}, {"sysbench-cpu", 0}, {"dd-write", 0}})
	if want := []workload{{"openssl-enc", 40}, {"sysbench-cpu", 270}, {"dd-write", 0}}; !slices.Equal(got, want) {
		t.Errorf("%v, not %v", got, want)
	}
}
