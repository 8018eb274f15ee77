package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"

	"github.com/tare-bench/tare/internal/analyze"
	"github.com/tare-bench/tare/internal/dataset"
	"github.com/tare-bench/tare/internal/run"
	"github.com/tare-bench/tare/internal/store"
)

// progress shows the progress of a run: on a terminal a few lines that are redrawn,
// elsewhere a line now and then and one for each event.
type progress struct {
	w        io.Writer
	store    *store.Run
	terminal bool
	drawn    int // lines on the terminal that the next draw replaces
	width    int

	status string
	live   []string
	told   time.Time // when the last line about a pass was written
	begun  bool      // the first trial has begun
}

// tellEvery is the least time between two lines about passes.
const tellEvery = 10 * time.Second

func newProgress(w io.Writer, s *store.Run) *progress {
	p := &progress{w: w, store: s, width: 100}
	if f, ok := w.(*os.File); ok && isTerminal(f) && os.Getenv("TERM") != "dumb" {
		p.terminal = true
		if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 20 {
			p.width = width
		}
	}
	return p
}

func (p *progress) event(e run.Event) {
	switch e.Kind {
	case run.Phase:
		p.status = e.Text
		if !p.terminal && !p.begun { // later phases repeat what was printed once
			fmt.Fprintln(p.w, e.Text)
		}
	case run.Notice:
		p.say("note: " + e.Text)
	case run.TrialLost:
		p.say(fmt.Sprintf("no result: block %d of %s on %s: %s", e.Trial.Block+1, e.Trial.Workload, e.Trial.Arm, e.Text))
	case run.TrialBegin:
		p.begun = true
		where := "on " + e.Trial.Arm
		if e.Trial.Duet {
			where = "on all at once"
		}
		p.status = fmt.Sprintf("pass %d%s: %s %s%s", e.Pass+1, of(e.Passes), e.Trial.Workload, where, left(e.Left))
	case run.PassDone:
		p.intervals()
		if now := time.Now(); !p.terminal && now.Sub(p.told) >= tellEvery {
			p.told = now
			fmt.Fprintf(p.w, "pass %d%s done in %v%s\n", e.Pass+1, of(e.Passes), e.Took.Round(100*time.Millisecond),
				left(e.Left))
		}
	}
	p.draw()
}

func of(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(" of about %d", n)
}

func left(d time.Duration) string {
	if d <= 0 {
		return ""
	}
	return fmt.Sprintf(", at most %v left", d.Round(time.Second))
}

// intervals computes the comparisons so far. These intervals are valid however
// often they are looked at.
func (p *progress) intervals() {
	if !p.terminal {
		return
	}
	in, err := dataset.Read(p.store)
	if err != nil {
		return // the end of the run will report it
	}
	live, err := analyze.Live(in)
	if err != nil {
		return
	}
	primary := map[string]string{}
	for _, m := range in.Metrics {
		if m.Primary {
			primary[m.Workload] = m.Name
		}
	}
	byWorkload := map[string]*strings.Builder{}
	var order []string
	for _, l := range live {
		if primary[l.Workload] != l.Metric {
			continue
		}
		b := byWorkload[l.Workload]
		if b == nil {
			b = &strings.Builder{}
			byWorkload[l.Workload] = b
			order = append(order, l.Workload)
		}
		fmt.Fprintf(b, "  %s %s", l.Arm, percent(l.Ratio))
		if l.Low > 0 {
			fmt.Fprintf(b, " (%s … %s)", percent(l.Low), percent(l.High))
		}
	}
	p.live = p.live[:0]
	for _, w := range order {
		p.live = append(p.live, fmt.Sprintf("  %-15s%s", w, byWorkload[w]))
	}
}

// percent writes a ratio as a cost.
func percent(ratio float64) string {
	if ratio >= 3 {
		return fmt.Sprintf("%.3g×", ratio)
	}
	return fmt.Sprintf("%+.1f %%", 100*(ratio-1))
}

// say prints a line that is not redrawn.
func (p *progress) say(line string) {
	p.erase()
	fmt.Fprintln(p.w, line)
}

func (p *progress) erase() {
	if p.drawn > 0 {
		fmt.Fprintf(p.w, "\x1b[%dA\x1b[J", p.drawn)
		p.drawn = 0
	}
}

func (p *progress) draw() {
	if !p.terminal {
		return
	}
	p.erase()
	lines := append([]string{p.status}, p.live...)
	for _, l := range lines {
		fmt.Fprintln(p.w, clip(l, p.width-1))
	}
	p.drawn = len(lines)
}

// clip cuts a line to the terminal's width, because a wrapped line cannot be erased.
func clip(line string, width int) string {
	runes := []rune(line)
	if len(runes) <= width {
		return line
	}
	return string(runes[:width-1]) + "…"
}

// end removes what is drawn.
func (p *progress) end() { p.erase() }
