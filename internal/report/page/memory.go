package page

import (
	"github.com/tare-bench/tare/internal/analyze"
	"github.com/tare-bench/tare/internal/report"
)

// memoryView is what guests cost the host besides time.
type memoryView struct {
	report.Grid
	Legend  string
	Working [][]string // arm, workload, bytes
}

// memoryOf is nil for an old run that did not measure memory.
func memoryOf(res *analyze.Result, ctx report.Context) *memoryView {
	s := report.Memory(res, ctx.Merging)
	if s.Grids == nil {
		return nil
	}
	v := &memoryView{Grid: s.Grids[0], Legend: s.Legend}
	for _, m := range res.Memory {
		for _, w := range m.Working {
			v.Working = append(v.Working, []string{m.Arm, w.Workload, report.InUnit("B", w.PSS.Mean, 3)})
		}
	}
	return v
}
