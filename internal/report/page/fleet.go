package page

import (
	"cmp"
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
	look
	*fleet.Result
	Title, Level  string
	Groups        []fleetGroup
	BetweenLegend string
	BetweenHeads  []string
}

type fleetGroup struct {
	*fleet.Group
	ID    string
	Long  bool // so many machines that the reader has to ask for their map
	Plots []fleetPlot
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
	v := fleetView{look: lookOf(pageCSS+fleetCSS, "", false), Result: r, Title: cmp.Or(r.Name, "A fleet"),
		Level: fmt.Sprintf("%.4g %%", 100*(1-r.Alpha)), BetweenLegend: fleet.BetweenLegend, BetweenHeads: fleet.BetweenHead}
	for i := range r.Groups {
		v.Groups = append(v.Groups, groupView(r, &r.Groups[i], fmt.Sprintf("g%d", i+1)))
	}
	return execute(w, fleetTmpl, v)
}

func groupView(r *fleet.Result, g *fleet.Group, id string) fleetGroup {
	v := fleetGroup{Group: g, ID: id, Long: len(g.Machines) > manyMachines}
	for i, c := range g.Costs {
		if len(c.Machines) == 0 {
			continue
		}
		plot := fleetPlot{Title: c.Arm + " on " + c.Title(), Forest: costForest(fmt.Sprintf("%s-f%d", id, i), c, r),
			Without: withoutRows(c.Machines), Note: betweenText(c, r)}
		if slices.ContainsFunc(c.Shares, func(s fleet.Share) bool { return s.Percent > 0 }) {
			plot.Shares = sharesPlot(fmt.Sprintf("%s-s%d", id, i), c)
		}
		v.Plots = append(v.Plots, plot)
	}
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

// machineClass is how a machine's cost is coloured: by its interval alone. Without one, CILow is 0.
func machineClass(m *fleet.MachineCost, delta float64) string {
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
