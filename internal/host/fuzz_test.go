package host

import (
	"math"
	"os"
	"testing"
	"unicode/utf8"
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

func FuzzStat(f *testing.F) {
	f.Add("cpu  1 2 3 4 5 6 7 8 9 10\ncpu0 1 2 3 4 5 6 7 8\nprocs_running 2\n")
	f.Fuzz(func(t *testing.T, s string) {
		st, err := parseStat(s)
		if err == nil && (st.total.Total() < 0 || math.IsNaN(st.total.Total()) || st.running < -1) {
			t.Errorf("%+v", st)
		}
	})
}

func FuzzProcStat(f *testing.F) {
	f.Add("42 (a) (b c) S 1 42 42 0 -1 4194560 100 0 0 0 150 50 9")
	f.Fuzz(func(t *testing.T, s string) {
		if p, err := parseProcStat(s); err == nil && p.seconds < 0 {
			t.Errorf("%+v", p)
		}
	})
}

func FuzzKmsg(f *testing.F) {
	f.Add("6,339,5140900,-;NET: Registered protocol family 10\n SUBSYSTEM=x\n")
	f.Add("3,1,2,c;\\x0a\\xff I/O error")
	f.Fuzz(func(t *testing.T, s string) {
		m, err := parseKmsg(s)
		if err == nil && (m.Time < 0 || m.Level < 0 || m.Level > 7 || m.facility < 0 || !utf8.ValidString(m.Text)) {
			t.Errorf("%+v", m)
		}
	})
}

func FuzzInterrupts(f *testing.F) {
	f.Add("     CPU0  CPU2\n 24:  1  0  IO-APIC  5-edge  ACPI:Ged\nLOC: 1 2  Local timer interrupts\n")
	f.Fuzz(func(t *testing.T, s string) {
		for _, q := range parseInterrupts(s) {
			if q.number < 0 || len(q.counts) != len(q.cpus) || q.total() < 0 {
				t.Errorf("%+v", q)
			}
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
