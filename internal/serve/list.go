package serve

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	"github.com/tare-bench/tare/internal/analyze"
	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/report"
	"github.com/tare-bench/tare/internal/store"
	"github.com/tare-bench/tare/internal/view"
)

// listJS shows summaries as they become available.
//
//go:embed list.js
var listJS string

// Limits on what a file can add to the list, far above what runs have.
const (
	maxText    = 300 // runes of any text
	maxAnswers = 64  // arms
)

// shownAnswers is how many arms of a run are visible without unfolding the rest.
const shownAnswers = 4

// patience is how long the list waits for runs that are being read.
const patience = 300 * time.Millisecond

// listed is a row of the list.
type listed struct {
	found
	ID, URL string
	Others  []string // answers that are folded away
}

func (s *Server) list(w http.ResponseWriter, r *http.Request) {
	files, err := s.files()
	if err != nil {
		fail(w, err)
		return
	}
	var runs []listed
	reading := 0
	for _, f := range s.summaries.look(r.Context(), files, patience) {
		escaped := url.PathEscape(f.Name)
		l := listed{found: f, ID: "run-" + escaped, URL: "/run/" + escaped}
		if n := shownAnswers; len(f.Answers) > n+1 {
			l.Answers, l.Others = f.Answers[:n], f.Answers[n:]
		}
		if f.Reading {
			reading++
		}
		runs = append(runs, l)
	}
	s.show(w, http.StatusOK, "list", map[string]any{"Runs": runs, "Reading": reading, "Most": maxFiles,
		"JS": template.JS(listJS)})
}

// summarize reads and analyzes a run for the list. Whatever a file contains, at worst
// its row says what is wrong with it.
func (s *Server) summarize(ctx context.Context, f file) (sum summary) {
	defer func() {
		if p := recover(); p != nil {
			sum.Problem = clip(fmt.Sprintf("tare cannot read it: %v", p))
		}
	}()
	err := s.with(ctx, f.Name, func(_ file, run *store.Run) error { return sum.read(run) })
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		sum.Problem = fmt.Sprintf("it cannot be read within %v", maxReading)
	case err != nil:
		text, _, _ := strings.Cut(err.Error(), "\n")
		if remedy := fault.RemedyOf(err); remedy != "" {
			text += "; " + remedy
		}
		sum.Problem = clip(strings.ReplaceAll(text, s.path+string(filepath.Separator), ""))
	}
	return sum
}

// read fills in what is known about a run, step by step: what it filled in before an
// error stays.
func (sum *summary) read(run *store.Run) error {
	ctx, err := report.ContextOf(run)
	if err != nil {
		return err
	}
	sum.Campaign, sum.Host = clip(ctx.Campaign), clip(ctx.Host)
	ending, complete := report.EndingOf(ctx)
	sum.Complete, sum.State = complete, clip(ending)
	sessions, err := run.Sessions()
	if err != nil {
		return err
	}
	if len(sessions) > 0 {
		sum.Began = sessions[0].Began
	}
	res, err := analyzed(run)
	if err != nil {
		return err
	}
	for _, s := range report.Summaries(res) {
		if len(sum.Answers) == maxAnswers {
			break
		}
		sum.Answers = append(sum.Answers, clip(s.Arm+": "+s.Text))
	}
	for _, c := range report.Causes(res.Findings) {
		if c.Severity != analyze.Serious {
			continue
		}
		if sum.Serious == 0 {
			sum.First = clip(c.Text())
		}
		sum.Serious += len(c.Findings)
	}
	return nil
}

// clip cuts text from a file to what fits into a row.
func clip(text string) string {
	runes := []rune(strings.Join(strings.Fields(view.Visible(text)), " "))
	if len(runes) <= maxText {
		return string(runes)
	}
	return string(runes[:maxText]) + " …"
}
