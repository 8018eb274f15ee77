package workload

import (
	"slices"
	"testing"
	"time"
)

// TestMix: a fill has the shares of its mix at any time, to within one guest.
func TestMix(t *testing.T) {
	f := Fill{Mix: []Share{{Does: "idle", Parts: 80}, {Does: "serving", Parts: 15}, {Does: "computing", Parts: 5}}}
	have := map[string]int{}
	for i := range 200 {
		have[f.At(i).Does]++
		for _, s := range f.Mix {
			if off := float64(have[s.Does]) - float64((i+1)*s.Parts)/100; off > 1 || off < -1 {
				t.Fatalf("%d of the first %d guests are %s", have[s.Does], i+1, s.Does)
			}
		}
	}
	if have["idle"] != 160 || have["serving"] != 30 || have["computing"] != 10 {
		t.Errorf("%v", have)
	}
	if none := (&Fill{Mix: []Share{{Does: "serving"}}}).At(3); none.Does != "idle" || none.Load != nil {
		t.Errorf("a mix without parts has %+v", none)
	}
}

func TestLevel(t *testing.T) {
	l := Level{Start: 5 * time.Second, Slowdown: 2, P99: 4, Serving: 20 * time.Millisecond, MemoryLeft: 1 << 30}
	good := Filled{Guests: 10, Start: 5 * time.Second, Slowdown: 2, P99: 4, Serving: l.Serving, MemoryLeft: l.MemoryLeft}
	for _, c := range []struct {
		name   string
		change func(*Filled)
		want   []string
	}{
		{"at every limit", func(*Filled) {}, nil},
		{"slow starts", func(f *Filled) { f.Start++ }, []string{"start"}},
		{"a slow probe", func(f *Filled) { f.Slowdown = 2.1 }, []string{"slowdown"}},
		{"a slow tail", func(f *Filled) { f.P99 = 4.1 }, []string{"p99"}},
		{"slow answers", func(f *Filled) { f.Serving++ }, []string{"serving"}},
		{"no requests", func(f *Filled) { f.Serving = 0 }, nil},
		{"little memory", func(f *Filled) { f.MemoryLeft-- }, []string{"memory"}},
		{"a lost guest", func(f *Filled) { f.Lost = 1 }, []string{"lost"}},
		{"all at once", func(f *Filled) { *f = Filled{Lost: 1, Start: time.Minute, Slowdown: 9, P99: 9, Serving: 1e9} },
			[]string{"lost", "memory", "start", "slowdown", "p99", "serving"}},
	} {
		f := good
		c.change(&f)
		if got := l.Broken(f); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
	if got := (Level{}).Broken(Filled{Start: time.Hour, Slowdown: 100, P99: 100, Serving: time.Hour}); got != nil {
		t.Errorf("without limits: %v", got)
	}
}
