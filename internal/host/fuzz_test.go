package host

import (
	"os"
	"testing"
)

func FuzzCPUInfo(f *testing.F) {
	f.Add("processor\t: 0\nmodel name\t: X\ncpu MHz\t: 1.5\n\nprocessor\t: 1\n")
	f.Add("Hardware : board\n\nprocessor : 0\nCPU implementer : 0x41\n")
	if b, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		f.Add(string(b))
	}
	f.Fuzz(func(t *testing.T, s string) {
		info := parseCPUInfo(s)
		if len(info) == 0 {
			return
		}
		var c CPU
		identify(&c, info)
		if c.MHzMin != nil && !(*c.MHzMin <= *c.MHzMax) {
			t.Errorf("%v to %v MHz", *c.MHzMin, *c.MHzMax)
		}
	})
}

func FuzzSwaps(f *testing.F) {
	f.Add("Filename Type Size Used Priority\n/dev/zram0 partition 8388604 1024 100\n")
	f.Fuzz(func(t *testing.T, s string) {
		for _, w := range parseSwaps(s) {
			if w.Size < 0 || w.Used < 0 || w.Device == "" {
				t.Errorf("%+v", w)
			}
		}
	})
}
