package main

import (
	"fmt"
	"math"
	"strings"
	"time"
)

// Places of the plot, in pixels.
const (
	plotWidth, plotHeight         = 640, 360
	plotLeft, plotRight           = 60, 60
	plotTop, plotBottom   float64 = 20, 50
)

// svg plots the share of runs that found a cost against their budget, with a line for
// each cost and a logarithmic axis of the budget.
func (p *power) svg() string {
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="12">`+
		"\n", plotWidth, plotHeight)
	b.WriteString("<title>Share of runs that find a cost, by its size and the seconds spent</title>\n")
	fmt.Fprintf(&b, `<rect width="%d" height="%d" fill="white"/>`+"\n", plotWidth, plotHeight)
	budgets := p.budgets()
	if len(budgets) == 0 {
		b.WriteString("</svg>\n")
		return b.String()
	}
	x := func(d time.Duration) float64 {
		span := math.Log(float64(budgets[len(budgets)-1]) / float64(budgets[0]))
		if span == 0 {
			return plotLeft
		}
		return plotLeft + math.Log(float64(d)/float64(budgets[0]))/span*(plotWidth-plotLeft-plotRight)
	}
	y := func(share float64) float64 { return plotTop + (1-share)*(plotHeight-plotTop-plotBottom) }
	for i := range 6 {
		share := float64(i) / 5
		fmt.Fprintf(&b, `<path d="M%d %.1fH%d" stroke="#ddd"/><text x="%d" y="%.1f" text-anchor="end">%.0f %%</text>`+"\n",
			plotLeft, y(share), plotWidth-plotRight, plotLeft-6, y(share)+4, 100*share)
	}
	for _, d := range budgets {
		fmt.Fprintf(&b, `<text x="%.1f" y="%.1f" text-anchor="middle">%g s</text>`+"\n", x(d), y(0)+18, d.Seconds())
	}
	fmt.Fprintf(&b, `<text x="%d" y="%d" text-anchor="middle">budget of the run</text>`+"\n", plotWidth/2, plotHeight-8)
	percents := p.percents()
	for i, percent := range percents {
		shade := 170 * i / max(1, len(percents)-1) // the smallest cost is darkest
		colour := fmt.Sprintf("rgb(%d,%d,%d)", shade/2, shade, 150+shade/3)
		var points []string
		var lastX, lastY float64
		for _, d := range budgets {
			if r := p.cells[cell{percent, d}]; r != nil {
				lastX, lastY = x(d), y(float64(r.found)/float64(r.runs))
				points = append(points, fmt.Sprintf("%.1f,%.1f", lastX, lastY))
				fmt.Fprintf(&b, `<circle cx="%.1f" cy="%.1f" r="3" fill="%s"/>`+"\n", lastX, lastY, colour)
			}
		}
		fmt.Fprintf(&b, `<polyline points="%s" fill="none" stroke="%s" stroke-width="2"/><text x="%.1f" y="%.1f" fill="%s">%g %%</text>`+"\n",
			strings.Join(points, " "), colour, lastX+6, lastY+4, colour, percent)
	}
	b.WriteString("</svg>\n")
	return b.String()
}
