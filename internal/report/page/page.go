// Package page shows a run as one HTML file that needs nothing else: no network,
// no other file, and no script for reading. The script adds sorting, filtering and
// the packed trials. All text from guests and campaign files goes through
// html/template, and the page's own policy (CSP) forbids whatever is not in it.
//
// Like package report it computes nothing; the numbers, and what may be said about
// them, come from package analyze. The same run gives the same page.
package page

import (
	_ "embed"
	"html/template"
	"io"

	"github.com/tare-bench/tare/internal/analyze"
	"github.com/tare-bench/tare/internal/report"
	"github.com/tare-bench/tare/internal/store"
	"github.com/tare-bench/tare/internal/view"
)

//go:embed page.html
var pageHTML string

//go:embed live.js
var liveJS string

var tmpl = view.Template("page", pageHTML, template.FuncMap{"joinAnd": view.And})

// Options are what a page shows besides the run itself.
type Options struct {
	// Titles says in one line what each workload does; other workloads are shown
	// by name only.
	Titles map[string]string
	// Output returns the raw output of an attempt's steps, as store.Run does;
	// nil: the page has none.
	Output func(attempt int64) (stdout, stderr [][]byte, err error)
	// State is the address of the state of a run in progress, on the server that
	// serves the page: the page polls it, and reloads itself when there is more.
	// "": the page is a file.
	State string
	// Home is the address of the list of runs; "": there is none.
	Home string
}

// Write writes the page of a run. It reads the trials once to show them, and once more for the download unless there
// are too many. It keeps only a few bytes of most trials.
func Write(w io.Writer, r *store.Run, res *analyze.Result, o Options) error {
	ctx, err := report.ContextOf(r)
	if err != nil {
		return err
	}
	d, err := read(r)
	if err != nil {
		return err
	}
	v, err := newView(r, res, ctx, d, o)
	if err != nil {
		return err
	}
	script := ""
	if o.State != "" {
		script = liveJS
	}
	v.Look = view.NewLook(script, o.State != "")
	return view.Execute(w, tmpl, v)
}
