package page

import (
	"slices"

	"github.com/tare-bench/tare/internal/analyze"
	"github.com/tare-bench/tare/internal/report"
	"github.com/tare-bench/tare/internal/view"
)

// workloadView is the chapter of one workload.
type workloadView struct {
	*view.Section
	Doubts []doubt
}

// doubt is the findings of one kind on one workload, in a line.
type doubt struct {
	Severity     analyze.Severity
	ID, Headline string
	Arms         []string
}

// workloads makes the chapters of all workloads about which anything is known.
func workloads(res *analyze.Result, ctx report.Context, d *data, titles map[string]string) (all []workloadView) {
	ctx.Trials = d.drawn
	for _, name := range d.workloads {
		w := workloadView{report.Workload(res, ctx, name), doubts(res, name)}
		if len(w.Parts) == 0 {
			continue
		}
		if title := titles[name]; title != "" {
			w.About = "Its work: " + title + ". "
		}
		if size, ok := d.sizes[name]; ok {
			w.About += "Each trial: " + report.Size(size) + "."
		}
		all = append(all, w)
	}
	return all
}

// mostDots is how many dots one page draws; beyond that, trials share marks.
const mostDots = 5000

// drawn are the trials of a workload, of arms that are alone or of others.
func (d *data) drawn(workload string, alone bool) (strips []view.Strip, limit int) {
	for _, a := range d.arms {
		if s := d.strips[key{workload, a.Name}]; s != nil && (a.Scenario == d.arms[0].Scenario) == alone {
			strips = append(strips, view.Strip{Name: a.Name, Points: s.points, Lost: s.lost})
		}
	}
	return strips, min(max(mostDots/max(len(d.strips), 1), 60), 400)
}

// doubts are the findings on a workload except for those of severity info, a line
// for each kind.
func doubts(res *analyze.Result, workload string) []doubt {
	var out []doubt
	for _, f := range res.Findings {
		if f.Workload != workload || f.Severity == analyze.Info {
			continue
		}
		i := slices.IndexFunc(out, func(d doubt) bool { return d.ID == f.ID })
		if i < 0 {
			i = len(out)
			out = append(out, doubt{Severity: f.Severity, ID: f.ID, Headline: analyze.KindOf(f.ID).Headline})
		}
		if f.Arm != "" && !slices.Contains(out[i].Arms, f.Arm) {
			out[i].Arms = append(out[i].Arms, f.Arm)
		}
	}
	return out
}
