package page

import (
	_ "embed"
	"fmt"
	"io"

	"github.com/tare-bench/tare/internal/fleet"
)

//go:embed fleetchange.html
var fleetChangeHTML string

var fleetChangeTmpl = parse("fleetchange", fleetChangeHTML)

// fleetChangeView is what the template shows.
type fleetChangeView struct {
	look
	*fleet.Comparison
	Heads  []string
	Groups []groupChangeView
}

type groupChangeView struct {
	*fleet.GroupChange
	ID     string
	Tables []changeTable
	Plots  []fleetPlot
}

type changeTable struct {
	Name, Legend string
	Changes      []fleet.Change
}

// WriteFleetChange writes the page of a comparison of fleets: what changed in sentences and tables, and
// a forest plot of the machines for each change.
func WriteFleetChange(w io.Writer, c *fleet.Comparison) error {
	v := fleetChangeView{look: lookOf(pageCSS+fleetCSS, "", false), Comparison: c, Heads: fleet.ChangeHead[2:]}
	for i := range c.Groups {
		v.Groups = append(v.Groups, changeView(c, &c.Groups[i], fmt.Sprintf("g%d", i+1)))
	}
	return execute(w, fleetChangeTmpl, v)
}

func changeView(c *fleet.Comparison, g *fleet.GroupChange, id string) groupChangeView {
	v := groupChangeView{GroupChange: g, ID: id}
	for _, t := range []changeTable{{"Changes of costs", c.Legend(g), g.Changes},
		{"The machines themselves", fleet.BaselineLegend, g.Baselines}} {
		if len(t.Changes) == 0 {
			continue
		}
		v.Tables = append(v.Tables, t)
		for _, ch := range t.Changes {
			if len(ch.Machines) == 0 {
				continue
			}
			title := ch.Arm + " on " + ch.Title()
			drawn := forest{ch.Machines, ch.Change, c.Delta, "Change of " + title + ", by machine"}
			v.Plots = append(v.Plots, fleetPlot{Title: title, Forest: drawn.draw(fmt.Sprintf("%s-f%d", id, len(v.Plots)))})
		}
	}
	return v
}
