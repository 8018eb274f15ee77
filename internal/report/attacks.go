package report

import (
	"fmt"
	"strings"

	"github.com/tare-bench/tare/internal/analyze"
	"github.com/tare-bench/tare/internal/model"
	"github.com/tare-bench/tare/internal/view"
)

// AttackAnswers says for every arm whether its limits held when one of its guests
// attacked them, and what became of the guest beside it. Worst is
// Costs if a limit did not hold or that guest did not finish.
func AttackAnswers(res *analyze.Result) (out []IsolationAnswer) {
	var arms []string
	of := map[string][]analyze.Attack{}
	for _, a := range res.Attacks {
		if of[a.Arm] == nil {
			arms = append(arms, a.Arm)
		}
		of[a.Arm] = append(of[a.Arm], a)
	}
	for _, arm := range arms {
		out = append(out, attackAnswer(arm, of[arm]))
	}
	return out
}

func attackAnswer(arm string, of []analyze.Attack) IsolationAnswer {
	a := IsolationAnswer{Arm: view.Clean(arm), Worst: analyze.None}
	said := map[model.Held][]string{}
	var died, lost []string
	slowest := 0.0
	for _, attack := range of {
		said[attack.Held] = append(said[attack.Held], attack.On+attackFigures(attack))
		if attack.Died {
			died = append(died, attack.On)
		}
		if attack.Lost != "" {
			lost = append(lost, attack.On)
		} else if attack.Alone > 0 {
			slowest = max(slowest, attack.Beside/attack.Alone)
		}
	}
	var parts []string
	verdicts := map[model.Held]string{model.HeldNo: "does not hold: ", model.HeldYes: "holds: ",
		model.HeldUnknown: fmt.Sprintf("not reached in %d s: ", model.AttackSeconds)}
	for _, held := range []model.Held{model.HeldNo, model.HeldYes, model.HeldUnknown} {
		if what := said[held]; what != nil {
			parts = append(parts, verdicts[held]+strings.Join(what, ", "))
		}
	}
	if died != nil {
		parts = append(parts, "the attacking guest died of "+view.And(died))
	}
	switch {
	case lost != nil:
		parts = append(parts, "the guest beside it did not finish: "+view.And(lost))
	case slowest > 0:
		parts = append(parts, fmt.Sprintf("the guest beside it finished its work, in at most %s times the time alone",
			Digits(slowest, 2)))
	}
	if said[model.HeldNo] != nil || lost != nil {
		a.Worst = analyze.Costs
	} else if said[model.HeldUnknown] != nil {
		a.Worst = analyze.NotResolved
	}
	a.Text = view.Clean(strings.Join(parts, "; "))
	return a
}

// attackFigures says what the guest took and what it may have; "" if the first is not known.
func attackFigures(a analyze.Attack) string {
	if a.Took == 0 {
		return ""
	}
	if a.On == model.AttackProcesses {
		return fmt.Sprintf(" (%.0f of %.0f)", a.Took, a.Limit)
	}
	return fmt.Sprintf(" (%s of %s)", InUnit("B", a.Took, 3), InUnit("B", a.Limit, 3))
}
