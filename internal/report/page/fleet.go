package page

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"math"
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
}

type fleetGroup struct {
	fleet.Group
	ID    string
	Heads []string
	Rows  []fleetRow
	Map   *fleetMap
	Plots []fleetPlot
	Notes []string // what is not pooled
}

type fleetRow struct {
	Title, Arm string
	Cells      []string
	Class      string
}

// fleetMap has a row for each machine and a column for each cost.
type fleetMap struct {
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
}

// WriteFleet writes the page of a fleet: the pooled costs, a map of machines and systems, a forest
// plot for each cost, where the variance comes from, and the odd machines.
func WriteFleet(w io.Writer, r *fleet.Result) error {
	css := pageCSS + fleetCSS
	v := fleetView{Result: r, CSS: template.CSS(css), Policy: policy(css, "", false), Title: "A fleet", Legend: r.Legend(),
		Level: fmt.Sprintf("%.4g %%", 100*(1-r.Alpha))}
	if r.Name != "" {
		v.Title = r.Name
	}
	for i, g := range r.Groups {
		v.Groups = append(v.Groups, groupView(r, g, fmt.Sprintf("g%d", i+1)))
	}
	var b bytes.Buffer // so that a page is written completely or not at all
	if err := fleetTmpl.Execute(&b, v); err != nil {
		return fmt.Errorf("page: %w", err)
	}
	_, err := w.Write(bytes.Map(seen, bytes.ToValidUTF8(b.Bytes(), []byte("�"))))
	return err
}

func groupView(r *fleet.Result, g fleet.Group, id string) fleetGroup {
	v := fleetGroup{Group: g, ID: id, Notes: g.LeftOut()}
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
		plot := fleetPlot{Title: c.Arm + " on " + c.Title(), Forest: forestPlot(fmt.Sprintf("%s-f%d", id, i), c, r)}
		if len(c.Shares) > 0 && slices.ContainsFunc(c.Shares, func(s fleet.Share) bool { return s.Percent > 0 }) {
			plot.Shares = sharesPlot(fmt.Sprintf("%s-s%d", id, i), c)
		}
		plot.Note = betweenText(c, r)
		v.Plots = append(v.Plots, plot)
	}
	v.Map = mapView(r, g)
	return v
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
	m := &fleetMap{}
	for _, c := range g.Costs {
		m.Heads = append(m.Heads, c.Arm+" on "+c.Title())
	}
	for _, machine := range g.Machines {
		row := fleetMapRow{Machine: machine.Name}
		for _, c := range g.Costs {
			cell := fleetMapCell{Text: "–", Class: "open"}
			for _, mc := range c.Machines {
				if mc.Machine == machine.Name {
					cell = fleetMapCell{fleet.Percent(mc.Ratio), fleet.Interval(mc.CILow, mc.CIHigh),
						machineClass(mc, r.Delta), mc.Odd}
				}
			}
			row.Cells = append(row.Cells, cell)
		}
		m.Rows = append(m.Rows, row)
	}
	return m
}

// machineClass is how a machine's cost is coloured: by its interval alone.
func machineClass(m fleet.MachineCost, delta float64) string {
	switch {
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

// forestPlot draws a cost on every machine with its interval, the pooled cost as a diamond, and the
// prediction interval of the next machine as a bar below.
func forestPlot(id string, c fleet.Cost, r *fleet.Result) template.HTML {
	const names = 120.0
	a := axis{low: math.Log1p(-0.02), high: math.Log1p(0.02), from: names, to: chartWidth - 8}
	see := func(ratios ...float64) {
		for _, ratio := range ratios {
			if ratio > 0 {
				a.low, a.high = min(a.low, math.Log(ratio)), max(a.high, math.Log(ratio))
			}
		}
	}
	for _, m := range c.Machines { // the ends of very wide intervals may leave the plot
		see(m.Ratio, max(m.CILow, m.Ratio/5), min(m.CIHigh, m.Ratio*5))
	}
	if p := c.Pooled; p != nil {
		see(p.Ratio, max(p.CILow, p.Ratio/5), min(p.CIHigh, p.Ratio*5))
		if p.NextHigh > 0 {
			see(max(p.NextLow, p.Ratio/5), min(p.NextHigh, p.Ratio*5))
		}
	}
	pad := 0.05 * (a.high - a.low)
	a.low, a.high = a.low-pad, a.high+pad
	var s svg
	const top, step = 22.0, 22.0
	rows := float64(len(c.Machines))
	bottom := top + step*rows + 4
	if c.Pooled != nil {
		bottom += 2 * step
	}
	band := math.Log1p(r.Delta)
	s.rect(a.x(-band), top, a.x(band)-a.x(-band), bottom-top, "band")
	lastEnd := -100.0
	for _, t := range a.ticks() {
		x, class := a.x(t.ln), "grid"
		if math.Abs(t.ln) < 1e-9 {
			class = "zero"
		}
		s.line(x, top, x, bottom, class)
		if x-lastEnd > 46 {
			s.text(min(x, chartWidth-24), 14, "tick", t.label)
			lastEnd = x
		}
	}
	y := top + step/2 + 2
	label := func(name string) {
		if short := []rune(name); len(short) > 16 {
			name = string(short[:15]) + "…"
		}
		s.text(4, y+4, "name", name)
	}
	for _, m := range c.Machines {
		label(m.Machine)
		class := machineClass(m, r.Delta)
		s.line(a.x(math.Log(m.CILow)), y, a.x(math.Log(m.CIHigh)), y, "bar "+class)
		title := fmt.Sprintf("%s: %s, %s", m.Machine, fleet.Percent(m.Ratio), fleet.Interval(m.CILow, m.CIHigh))
		if m.Odd {
			s.dot(a.x(math.Log(m.Ratio)), y, 7.5, "odd", title)
			title += "; odd"
		}
		s.dot(a.x(math.Log(m.Ratio)), y, 4, "est "+class, title)
		y += step
	}
	if p := c.Pooled; p != nil {
		s.line(4, y-step/2, chartWidth-4, y-step/2, "grid")
		label("pooled")
		low, mid, high := a.x(math.Log(p.CILow)), a.x(math.Log(p.Ratio)), a.x(math.Log(p.CIHigh))
		s.mark(low, y, fmt.Sprintf("L%[1]s %[2]sL%[3]s %[4]sL%[1]s %[5]sz", num(mid), num(y-7), num(high), num(y), num(y+7)),
			"pooled "+costClass(p.Verdict, p.OverheadPercent),
			fmt.Sprintf("pooled: %s, %s", fleet.Percent(p.Ratio), fleet.Interval(p.CILow, p.CIHigh)))
		y += step
		label("next machine")
		if p.NextHigh > 0 {
			s.line(a.x(math.Log(p.NextLow)), y, a.x(math.Log(p.NextHigh)), y, "next")
		} else {
			s.text(a.x(0)+6, y+4, "none", "needs 3 machines")
		}
	}
	desc := fmt.Sprintf("For each machine a point with its interval, below them the pooled cost as a diamond and where "+
		"the cost on the next machine lies. The table and the map have the same figures. The band is ±%.3g %%.", 100*r.Delta)
	return s.chart(id, bottom+2, "What "+c.Arm+" costs on "+c.Title()+", by machine", desc)
}

// sharesPlot draws the shares of variance as parts of one bar.
func sharesPlot(id string, c fleet.Cost) template.HTML {
	var s svg
	const y, height = 4.0, 18.0
	x := 4.0
	var legend float64 = 4
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
		text := fmt.Sprintf("%s %s %%", name, report.Digits(share.Percent, 2))
		s.rect(legend, y+height+10, 10, 10, fmt.Sprintf("share s%d", i))
		s.text(legend+14, y+height+19, "name", text)
		legend += 24 + 7*float64(len(text))
		if words != "" {
			words += ", "
		}
		words += text
	}
	return s.chart(id, y+height+26, "Where the variance of a block comes from", words+".")
}
