package page

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"

	"github.com/tare-bench/tare/internal/fleet"
)

//go:embed fleetchange.html
var fleetChangeHTML string

var fleetChangeTmpl = parse("fleetchange", fleetChangeHTML)

// fleetChangeView is what the template shows.
type fleetChangeView struct {
	*fleet.Comparison
	CSS    template.CSS
	Policy string
	Title  string
	Groups []groupChangeView
}

type groupChangeView struct {
	fleet.GroupChange
	ID       string
	Design   string
	Summary  []string
	Notes    []string
	OddLines []string
	Tables   []changeTable
	Plots    []fleetPlot
	Left     []string // what is not compared
}

type changeTable struct {
	Name, Legend string
	Heads        []string
	Rows         []fleetRow
}

// WriteFleetChange writes the page of a comparison of fleets: what changed in sentences and tables, and
// a forest plot of the machines for each change.
func WriteFleetChange(w io.Writer, c *fleet.Comparison) error {
	css := pageCSS + fleetCSS
	v := fleetChangeView{Comparison: c, CSS: template.CSS(css), Policy: policy(css, "", false), Title: c.Title()}
	for i := range c.Groups {
		v.Groups = append(v.Groups, changeView(c, &c.Groups[i], fmt.Sprintf("g%d", i+1)))
	}
	return execute(w, fleetChangeTmpl, v)
}

func changeView(c *fleet.Comparison, g *fleet.GroupChange, id string) groupChangeView {
	v := groupChangeView{GroupChange: *g, ID: id, Design: g.Design(), Summary: g.Summary(c), Notes: g.Notes(),
		OddLines: g.OddLines(), Left: g.LeftOut()}
	for _, t := range []struct {
		name, legend string
		changes      []fleet.Change
	}{{"Changes of costs", c.Legend(g), g.Changes}, {"The machines themselves", fleet.BaselineLegend, g.Baselines}} {
		if len(t.changes) == 0 {
			continue
		}
		table := changeTable{Name: t.name, Legend: t.legend, Heads: fleet.ChangeHead[2:]}
		for _, ch := range t.changes {
			cells := ch.Cells(c)
			row := fleetRow{Title: cells[0], Arm: cells[1], Cells: cells[2:], Class: "open"}
			if p := ch.Change; p != nil {
				row.Class = costClass(p.Verdict, p.OverheadPercent)
			}
			table.Rows = append(table.Rows, row)
			if len(ch.Machines) == 0 {
				continue
			}
			title := ch.Arm + " on " + ch.Title()
			drawn := forest{ch.Machines, ch.Change, c.Delta, "Change of " + title + ", by machine"}
			v.Plots = append(v.Plots, fleetPlot{Title: title, Forest: drawn.draw(fmt.Sprintf("%s-f%d", id, len(v.Plots)))})
		}
		v.Tables = append(v.Tables, table)
	}
	return v
}
