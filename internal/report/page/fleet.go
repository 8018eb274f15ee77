package page

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"slices"

	"github.com/tare-bench/tare/internal/fleet"
	"github.com/tare-bench/tare/internal/report"
)

//go:embed fleet.html
var fleetHTML string

//go:embed fleet.css
var fleetCSS string

var fleetTmpl = parse("fleet", fleetHTML)

// fleetView is what the template shows.
type fleetView struct {
	*fleet.Result
	CSS          template.CSS
	Policy       string
	Title, Level string
	Legend       string
	Groups       []fleetGroup
	// Groups against each other.
	BetweenLegend string
	BetweenHeads  []string
	BetweenRows   []fleetRow
}

type fleetGroup struct {
	fleet.Group
	ID    string
	Lead  string
	Next  []fleetAnswer // what to expect of the next machine; none with fewer than three machines
	Heads []string
	Rows  []fleetRow
	Map   *fleetMap
	Plots []fleetPlot
	Notes []string // what is not pooled
}

type fleetAnswer struct{ Arm, Text, Class string }

type fleetRow struct {
	Title, Arm string
	Cells      []string
	Class      string
}

// fleetMap has a row for each machine and a column for each cost.
type fleetMap struct {
	Long  bool // so many machines that the reader has to ask for it
	Heads []string
	Rows  []fleetMapRow
}

type fleetMapRow struct {
	Machine string
	Cells   []fleetMapCell
}

type fleetMapCell struct {
	Text, Interval, Class string
	Odd                   bool
}

type fleetPlot struct {
	Title  string
	Forest template.HTML
	Shares template.HTML
	Note   string
	// Without has a row for each machine: its figure, and what the others say.
	Without [][]string
}

// WriteFleet writes the page of a fleet: the pooled costs, a map of machines and systems, a forest
// plot for each cost, where the variance comes from, and the odd machines.
func WriteFleet(w io.Writer, r *fleet.Result) error {
	css := pageCSS + fleetCSS
	v := fleetView{Result: r, CSS: template.CSS(css), Policy: policy(css, "", false), Title: "A fleet", Legend: r.Legend(),
		BetweenLegend: fleet.BetweenLegend, BetweenHeads: fleet.BetweenHead,
		Level: fmt.Sprintf("%.4g %%", 100*(1-r.Alpha))}
	if r.Name != "" {
		v.Title = r.Name
	}
	for i, g := range r.Groups {
		v.Groups = append(v.Groups, groupView(r, g, fmt.Sprintf("g%d", i+1)))
	}
	for _, x := range r.Between {
		cells := x.Cells(r)
		v.BetweenRows = append(v.BetweenRows, fleetRow{cells[0], cells[1], cells[2:],
			costClass(x.Verdict, x.OverheadPercent)})
	}
	return execute(w, fleetTmpl, v)
}

func groupView(r *fleet.Result, g fleet.Group, id string) fleetGroup {
	v := fleetGroup{Group: g, ID: id, Notes: g.LeftOut()}
	if len(g.Machines) > 2 {
		v.Lead = g.AnswersLead(r)
		for _, a := range g.Answers(r) {
			v.Next = append(v.Next, fleetAnswer{a.Arm, a.Text, costClass(a.Class, 0)})
		}
	}
	v.Heads = []string{"Machines", "Cost", "Interval", "Next machine", "Spread", "Result"}
	for i, c := range g.Costs {
		row := fleetRow{Title: c.Title(), Arm: c.Arm, Cells: c.Cells(r), Class: "open"}
		if c.Pooled != nil {
			row.Class = costClass(c.Pooled.Verdict, c.Pooled.OverheadPercent)
		}
		v.Rows = append(v.Rows, row)
		if len(c.Machines) == 0 {
			continue
		}
		plot := fleetPlot{Title: c.Arm + " on " + c.Title(), Forest: costForest(fmt.Sprintf("%s-f%d", id, i), c, r),
			Without: withoutRows(c.Machines)}
		if len(c.Shares) > 0 && slices.ContainsFunc(c.Shares, func(s fleet.Share) bool { return s.Percent > 0 }) {
			plot.Shares = sharesPlot(fmt.Sprintf("%s-s%d", id, i), c)
		}
		plot.Note = betweenText(c, r)
		v.Plots = append(v.Plots, plot)
	}
	v.Map = mapView(r, g)
	return v
}

// withoutRows are what each machine says, and the others without it; none with fewer than four.
func withoutRows(machines []fleet.MachineCost) [][]string {
	var rows [][]string
	for _, m := range machines {
		if w := m.Without; w != nil {
			rows = append(rows, []string{m.Machine, report.Cost(m.Ratio), report.CostInterval(m.CILow, m.CIHigh),
				report.Cost(w.Ratio), report.CostInterval(w.NextLow, w.NextHigh), report.Digits(w.Residual, 2)})
		}
	}
	return rows
}

// betweenText says how much machines differ.
func betweenText(c fleet.Cost, r *fleet.Result) string {
	p := c.Pooled
	if p == nil {
		return ""
	}
	text := fmt.Sprintf("The spread between machines is %s (%s … %s).", fleet.Spread(p.Tau), fleet.Spread(p.TauLow),
		fleet.Spread(p.TauHigh))
	if p.DifferP < r.Alpha {
		return text + " The machines differ by more than their own intervals explain."
	}
	return text + " Chance alone could explain the differences between the machines."
}

// mapView is nil for a group of one machine.
func mapView(r *fleet.Result, g fleet.Group) *fleetMap {
	if len(g.Machines) < 2 {
		return nil
	}
	m := &fleetMap{Long: len(g.Machines) > manyMachines}
	for _, c := range g.Costs {
		m.Heads = append(m.Heads, c.Arm+" on "+c.Title())
	}
	for _, machine := range g.Machines {
		row := fleetMapRow{Machine: machine.Name}
		for _, c := range g.Costs {
			cell := fleetMapCell{Text: "–", Class: "open"}
			for _, mc := range c.Machines {
				if mc.Machine == machine.Name {
					cell = fleetMapCell{report.Cost(mc.Ratio), report.CostInterval(mc.CILow, mc.CIHigh),
						machineClass(mc, r.Delta), mc.Odd}
				}
			}
			row.Cells = append(row.Cells, cell)
		}
		m.Rows = append(m.Rows, row)
	}
	return m
}

// machineClass is how a machine's cost is coloured: by its interval alone. Without one, CILow is 0.
func machineClass(m fleet.MachineCost, delta float64) string {
	switch {
	case m.CILow <= 0:
		return "open"
	case m.CILow > 1 && m.Ratio >= 1.25:
		return "costs much"
	case m.CILow > 1:
		return "costs"
	case m.CIHigh < 1:
		return "gains"
	case m.CIHigh < 1+delta && m.CILow > 1/(1+delta):
		return "none"
	}
	return "open"
}

// sharesPlot draws the shares of variance as parts of one bar, with a line of text below it for each.
func sharesPlot(id string, c fleet.Cost) template.HTML {
	var s svg
	const y, height = 4.0, 18.0
	x, line := 4.0, y+height+10
	words := ""
	for i, share := range c.Shares {
		if !share.Known {
			continue
		}
		w := (chartWidth - 8) * share.Percent / 100
		s.rect(x, y, w, height, fmt.Sprintf("share s%d", i))
		x += w
		name := share.Level
		if i+1 < len(c.Shares) && !c.Shares[i+1].Known {
			name += " and " + c.Shares[i+1].Level
		}
		text := fmt.Sprintf("%s %s", name, share.Text())
		s.rect(4, line, 10, 10, fmt.Sprintf("share s%d", i))
		s.text(20, line+9, "name", text)
		line += 17
		if words != "" {
			words += ", "
		}
		words += text
	}
	return s.chart(id, line, "Where the variance of a block comes from", words+".")
}
