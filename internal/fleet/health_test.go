package fleet

import (
	"fmt"
	"strings"
	"testing"
)

// checks makes checks of health of machines that are slower, or whose control differs, by these logarithms; each once.
type checks map[[2]float64]*Run

func (c checks) of(t *testing.T, slow, control float64) *Run {
	key := [2]float64{slow, control}
	if c[key] == nil {
		m := usual(fmt.Sprint("node", len(c)), 1.05)
		m.slow, m.control = slow, control
		c[key] = m.run(t)
	}
	return c[key]
}

// TestHealth: machines whose planted defect is beyond a margin are offline with that reason, and no others.
func TestHealth(t *testing.T) {
	t.Parallel()
	made := checks{}
	for _, c := range []struct {
		name          string
		slow, control float64
		earlier       float64 // how slow the machine was before
		want          string  // "": healthy
	}{
		{"usual", 0, 0, 0, ""},
		{"a little slower than the group and before", 0.04, 0, 0, ""},
		{"control differs within the margin", 0, 0.012, 0, ""},
		{"control differs", 0, 0.05, 0, "identical native guests differ on sysbench-cpu by"},
		{"control is faster", 0, -0.05, 0, "identical native guests differ on sysbench-cpu by -"},
		{"slower than the group", 0.15, 0, 0.15, "more time than the 4 others of its group"},
		{"faster than the group", -0.15, 0, -0.15, "less time than the 4 others of its group"},
		{"slower than before", 0, 0, -0.08, "more time than in its previous check"},
	} {
		var fleet []Check
		for i := range 4 {
			fleet = append(fleet, Check{Machine: fmt.Sprint("node", i), Run: made.of(t, 0, 0)})
		}
		fleet = append(fleet, Check{Machine: "it", Run: made.of(t, c.slow, c.control), Earlier: made.of(t, c.earlier, 0)})
		sick := Unhealthy(fleet)
		got := strings.Join(sick["it"], "; ")
		if c.want == "" && got != "" || c.want != "" && (!strings.Contains(got, c.want) || len(sick["it"]) != 1) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
		if others := len(sick) - min(1, len(sick["it"])); others != 0 {
			t.Errorf("%s: others are offline: %q", c.name, sick)
		}
	}
	two := []Check{{Machine: "a", Run: made.of(t, 0, 0)}, {Machine: "b", Run: made.of(t, 0.15, 0)}}
	if sick := Unhealthy(two); len(sick) != 0 {
		t.Errorf("two machines cannot say which of them is slow: %q", sick)
	}
	if two[0].Group, two[1].Group = "x", "y"; len(Unhealthy(append(two, Check{Machine: "c", Group: "z",
		Run: made.of(t, 0, 0)}))) != 0 {
		t.Error("machines of other groups were compared")
	}
}
