package page

import (
	"testing"

	"github.com/tare-bench/tare/internal/analyze"
	"github.com/tare-bench/tare/internal/plan"
	"github.com/tare-bench/tare/internal/report"
	"github.com/tare-bench/tare/internal/report/reporttest"
	"github.com/tare-bench/tare/internal/view"
	"github.com/tare-bench/tare/internal/view/pagetest"
)

// TestSameEverywhere: terminal, page, Markdown, CSV and JSON have the same text for every cell of every table of a run,
// and CSV and JSON the same number.
func TestSameEverywhere(t *testing.T) {
	r := synth{blocks: 12, several: true, bulk: true, ended: string(plan.ReasonBlocks)}.write(t)
	res := analyzed(t, r)
	document := func(res *analyze.Result) *view.Section { return report.Document(res, report.Context{AllMetrics: true}) }
	cells := pagetest.Same(t, written(t, r, res, Options{}), document(res))
	cells += pagetest.Same(t, renderCases(t), document(reporttest.Cases()))
	if cells < 1500 {
		t.Errorf("only %d cells were compared", cells)
	}
}
