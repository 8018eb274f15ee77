package page

import (
	"fmt"
	"strings"

	"github.com/tare-bench/tare/internal/analyze"
	"github.com/tare-bench/tare/internal/report"
)

// answer is what the run found about one arm, in sentences.
type answer struct {
	Arm       string
	Emulated  bool
	Class     string // of the worst result: costs, gains, none, open
	Sentences []string
}

// answers says for every arm what it costs, emulated arms last; then what did not
// finish, and which figures have a serious finding.
func answers(res *analyze.Result, d *data) []answer {
	var out []answer
	said := map[string]bool{}
	for _, a := range report.OrderedAnswers(res.Answers) {
		said[a.Arm] = true
		out = append(out, answerOf(res, a))
	}
	for _, arm := range d.arms { // those with nothing to compare
		if of := primaryOf(res, arm.Name); !said[arm.Name] && len(of) > 0 && of[0].Baseline == res.Baseline {
			out = append(out, answerOf(res, analyze.Answer{Arm: arm.Name, Emulated: arm.Emulated}))
		}
	}
	return out
}

// primaryOf are the comparisons of an arm by primary metrics.
func primaryOf(res *analyze.Result, arm string) (of []analyze.Comparison) {
	for _, c := range res.Comparisons {
		if c.Primary && !c.Control && c.Arm == arm {
			of = append(of, c)
		}
	}
	return of
}

func answerOf(res *analyze.Result, a analyze.Answer) answer {
	out := answer{Arm: a.Arm, Emulated: a.Emulated, Class: "open"}
	say := func(text string) { out.Sentences = append(out.Sentences, text+".") }
	if a.Workloads > 0 || a.Emulated {
		say(capital(report.AnswerWords(a)))
	}
	switch {
	case a.Emulated:
		return out
	case len(a.Costs) > 0:
		out.Class = "costs"
	case len(a.Gains) > 0:
		out.Class = "gains"
	case len(a.None) > 0:
		out.Class = "none"
	}
	var failed, doubted []string
	all := primaryOf(res, a.Arm)
	for _, c := range all {
		if c.N == 0 && report.Failures(res, c) > 0 {
			failed = append(failed, c.Workload)
		} else if len(report.Doubts(res, c)) > 0 {
			doubted = append(doubted, c.Workload)
		}
	}
	if failed != nil {
		say("Did not finish " + allOr(failed, len(all)))
	}
	if doubted != nil {
		say(fmt.Sprintf("A serious finding concerns %s on %s",
			map[bool]string{true: "the figure", false: "the figures"}[len(doubted) == 1], allOr(doubted, len(all))))
	}
	return out
}

// summaries say in one sentence per system what is known about it.
func summaries(res *analyze.Result) (out []answer) {
	for _, s := range report.Summaries(res) {
		out = append(out, answer{Arm: s.Arm, Emulated: s.Emulated, Class: "open", Sentences: []string{capital(s.Text) + "."}})
	}
	return out
}

// capital makes the first letter of a sentence a capital one.
func capital(text string) string {
	return strings.ToUpper(text[:min(1, len(text))]) + text[min(1, len(text)):]
}

// isolated says for every system how other guests slow its guests down.
func isolated(res *analyze.Result) []answer { return besides(report.IsolationAnswers(res)) }

// attacked says for every system which of its limits hold.
func attacked(res *analyze.Result) []answer { return besides(report.AttackAnswers(res)) }

func besides(answers []report.IsolationAnswer) (out []answer) {
	classes := map[analyze.Verdict]string{analyze.Costs: "costs", analyze.None: "none", analyze.NotResolved: "open"}
	for _, a := range answers {
		out = append(out, answer{Arm: a.Arm, Emulated: a.Emulated, Class: classes[a.Worst],
			Sentences: []string{capital(a.Text) + "."}})
	}
	return out
}

// allOr names workloads, or says that it means all of them.
func allOr(names []string, of int) string {
	if len(names) == of && of > 2 {
		return fmt.Sprintf("all %d workloads", of)
	}
	return joinAnd(names)
}

func joinAnd(list []string) string {
	if len(list) < 2 {
		return strings.Join(list, "")
	}
	first, last := list[:len(list)-1], list[len(list)-1]
	switch {
	case strings.Contains(strings.Join(list, ""), ","):
		return strings.Join(first, "; ") + "; and " + last
	case len(first) == 1:
		return first[0] + " and " + last
	}
	return strings.Join(first, ", ") + ", and " + last
}
