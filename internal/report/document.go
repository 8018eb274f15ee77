package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"

	"github.com/tare-bench/tare/internal/analyze"
	"github.com/tare-bench/tare/internal/plan"
	"github.com/tare-bench/tare/internal/view"
)

// Table writes the result of a run for a terminal.
func Table(w io.Writer, res *analyze.Result, ctx Context) error {
	return view.Terminal(w, view.Options{Width: ctx.Width, Colour: ctx.Colour, All: ctx.AllMetrics, Plots: ctx.AllMetrics,
		More: more(ctx)},
		Document(res, ctx))
}

// Formats write the result of a run for other readers than a terminal: the same sections in each.
var Formats = map[string]func(io.Writer, *view.Section) error{
	"markdown": func(w io.Writer, s *view.Section) error { return view.Markdown(w, 1, s) },
	"csv":      func(w io.Writer, s *view.Section) error { return view.CSV(w, s) },
	"json":     func(w io.Writer, s *view.Section) error { return view.PrintJSON(w, s) },
}

// more is the command that shows everything.
func more(ctx Context) string { return "tare show --all " + cmp.Or(view.Clean(ctx.Path), "RUN") }

// Document is the result of a run as sections, for all that shows it.
func Document(res *analyze.Result, ctx Context) *view.Section {
	d := &view.Section{}
	d.Add(header(res, ctx), Together(res), answers(res), CostsPlot(res), Isolates(res), Attacked(res), MatrixTable(res),
		Overview(res, nil, false), SweptCurves(res))
	for _, w := range Workloads(res) {
		d.Add(Workload(res, ctx, w))
	}
	if len(res.Comparisons) == 0 {
		d.Add(view.Warning{Text: "No trial has a result yet"})
	}
	d.Add(Memory(res, ctx.Merging), Alerts(res, more(ctx)))
	return d
}

// Workloads are those that have a comparison.
func Workloads(res *analyze.Result) (names []string) {
	for _, c := range res.Comparisons {
		if !slices.Contains(names, c.Workload) {
			names = append(names, c.Workload)
		}
	}
	return names
}

func header(res *analyze.Result, ctx Context) *view.Section {
	s := &view.Section{Lead: "tare · campaign " + ctx.Campaign + when(ctx.Path != "", " · "+ctx.Path)}
	if ctx.Ended == plan.ReasonBudget && res.Blocks < ctx.MinBlocks {
		s.Add(view.Warning{Label: "TOO FEW",
			Text: fmt.Sprintf("the campaign asks for at least %d blocks; the budget ran out first", ctx.MinBlocks)})
	}
	if ctx.Incomplete != "" {
		s.Add(view.Warning{Label: "INCOMPLETE", Text: "this run is not finished: " + ctx.Incomplete +
			when(ctx.Path != "", "; to continue: tare resume "+ctx.Path)})
	}
	s.Add(SummaryList(res))
	blocks := BlocksText(res)
	if why := endings[ctx.Ended]; why != "" {
		blocks += ": " + why
	}
	facts := &view.Facts{Items: [][2]string{{"blocks", fmt.Sprintf("%s; order drawn from seed %d", blocks, ctx.Seed)}}}
	add := func(name, text string) {
		if text != "" {
			facts.Items = append(facts.Items, [2]string{name, text})
		}
	}
	add("host", ctx.Host)
	add("programs", ctx.Programs)
	add("energy", when(ctx.NoEnergy != "", "not measured: "+ctx.NoEnergy))
	add("swap", Swap(res.Swap, ctx.Machine.Memory.Swaps))
	add("polite", ctx.Polite)
	add("caches", ctx.Effects)
	named := func(name string, all []Named) {
		for _, n := range all {
			add(name, n.Name+": "+n.Text)
			name = ""
		}
	}
	named(plural(len(ctx.Scenarios), "scenario"), ctx.Scenarios)
	named("left out", ctx.LeftOut)
	s.Add(facts)
	return s
}

// SummaryList says in one sentence per system all that is known, before anything else.
func SummaryList(res *analyze.Result) *view.List {
	l := &view.List{Lead: SummaryLead(res)}
	for _, s := range Summaries(res) {
		l.Items = append(l.Items, view.Item{Name: s.Arm, Marks: emulatedMark(s.Emulated), Class: view.Open,
			Sentences: []string{s.Text}})
	}
	return l
}

func answers(res *analyze.Result) *view.List {
	l := AnswerList(res)
	l.Lead = fmt.Sprintf("What each costs against %s, with %.4g %% intervals:", res.Baseline, 100*(1-res.Alpha))
	return l
}

// AnswerList says for each arm what it costs, with intervals, emulated arms last; then what did not finish, and which
// figures have a serious finding.
func AnswerList(res *analyze.Result) *view.List {
	l := &view.List{}
	said := map[string]bool{}
	for _, a := range OrderedAnswers(res.Answers) {
		said[a.Arm] = true
		l.Items = append(l.Items, answerItem(res, a))
	}
	for _, c := range res.Comparisons { // those with nothing to compare
		if c.Primary && !c.Control && c.Baseline == res.Baseline && !said[c.Arm] {
			said[c.Arm] = true
			l.Items = append(l.Items, answerItem(res, analyze.Answer{Arm: c.Arm, Emulated: isEmulated(res, c.Arm, c.Workload)}))
		}
	}
	return l
}

func answerItem(res *analyze.Result, a analyze.Answer) view.Item {
	out := view.Item{Name: a.Arm, Marks: emulatedMark(a.Emulated), Class: view.Open}
	say := func(text string) { out.Sentences = append(out.Sentences, text) }
	if a.Workloads > 0 || a.Emulated {
		say(AnswerWords(a))
	}
	switch {
	case a.Emulated:
		return out
	case len(a.Costs) > 0:
		out.Class = view.Costs
	case len(a.Gains) > 0:
		out.Class = view.Gains
	case len(a.None) > 0:
		out.Class = view.None
	}
	var failed, doubted []string
	all := 0
	for _, c := range res.Comparisons {
		if !c.Primary || c.Control || c.Arm != a.Arm {
			continue
		}
		all++
		if c.N == 0 && Failures(res, c) > 0 {
			failed = append(failed, c.Workload)
		} else if len(Doubts(res, c)) > 0 {
			doubted = append(doubted, c.Workload)
		}
	}
	if failed != nil {
		say("did not finish " + allOr(failed, all))
	}
	if doubted != nil {
		say(fmt.Sprintf("a serious finding concerns %s on %s",
			map[bool]string{true: "the figure", false: "the figures"}[len(doubted) == 1], allOr(doubted, all)))
	}
	return out
}

// allOr names workloads, or says that it means all of them.
func allOr(names []string, of int) string {
	if len(names) == of && of > 2 {
		return fmt.Sprintf("all %d workloads", of)
	}
	return view.And(names)
}

// Isolates says for each system in a sentence how other guests slow its guests down.
func Isolates(res *analyze.Result) *view.List {
	return besides("How each isolates, a guest beside others against one alone:", IsolationAnswers(res))
}

// Attacked says for each system which of its limits hold.
func Attacked(res *analyze.Result) *view.List {
	return besides("Which limits hold when a guest attacks them:", AttackAnswers(res))
}

func besides(lead string, answers []IsolationAnswer) *view.List {
	classes := map[analyze.Verdict]view.Class{analyze.Costs: view.Costs, analyze.None: view.None}
	l := &view.List{Lead: lead}
	for _, a := range answers {
		l.Items = append(l.Items, view.Item{Name: a.Arm, Marks: emulatedMark(a.Emulated),
			Class: cmp.Or(classes[a.Worst], view.Open), Sentences: []string{a.Text}})
	}
	return l
}
