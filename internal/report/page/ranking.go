package page

import (
	"github.com/tare-bench/tare/internal/analyze"
	"github.com/tare-bench/tare/internal/report"
	"github.com/tare-bench/tare/internal/view"
)

// rankingView is one order of systems, as far as the intervals allow.
type rankingView struct{ Of, Places string }

// rankings are the orders by cost alone and beside other guests, by isolation, and
// by memory; each is empty if there are no two to order.
type rankings struct {
	Cost, Isolation, Beside []rankingView
	Memory, Unknown         string
}

func rankingsOf(res *analyze.Result, d *data) (v rankings) {
	for _, r := range res.Rankings {
		if r.Scenario == "" || r.Scenario == d.arms[0].Scenario {
			v.Cost = append(v.Cost, rankingView{r.Workload, report.RankingText(res, r)})
		} else {
			v.Beside = append(v.Beside, rankingView{r.Workload + " in " + r.Scenario, report.RankingText(res, r)})
		}
	}
	for _, r := range analyze.RankIsolation(res.Isolation) {
		v.Isolation = append(v.Isolation, rankingView{r.Workload + " in " + r.Scenario, report.RankingText(res, r)})
	}
	r, unknown := analyze.RankMemory(res.Memory)
	if len(r.Places) > 1 || len(r.Places) == 1 && len(r.Places[0].Arms) > 1 {
		v.Memory, v.Unknown = report.RankingText(res, r), view.And(unknown)
	}
	return v
}
