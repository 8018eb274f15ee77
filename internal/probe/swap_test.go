package probe

import (
	"testing"

	"github.com/tare-bench/tare/internal/model"
)

func TestSwapTraffic(t *testing.T) {
	got := swapTrafficOf("pgpgin 9\npswpin 2\npswpout 3\nthp_swpout 4\n", 4096)
	if got != (swapTraffic{in: 2 * 4096, out: 3 * 4096, known: true}) {
		t.Errorf("%+v", got)
	}
	values := map[string]float64{}
	if swapTrafficOf("pgpgin 9\n", 4096).add(values); len(values) > 0 {
		t.Errorf("a kernel that does not count swapping has %v", values)
	}
	readSwapTraffic().add(values)
	for _, name := range []string{model.ProbeHostSwapIn, model.ProbeHostSwapOut} {
		if n, there := values[name]; !there || n < 0 {
			t.Errorf("%s is %v, there %v", name, n, there)
		}
	}
}
