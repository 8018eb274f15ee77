// Package page shows a run as one HTML file that needs nothing else: no network,
// no other file, and no script for reading. The script adds sorting, filtering and
// the packed trials. All text from guests and campaign files goes through
// html/template, and the page's own policy (CSP) forbids whatever is not in it.
//
// Like package report it computes nothing; the numbers, and what may be said about
// them, come from package analyze. The same run gives the same page.
package page

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/tare-bench/tare/internal/analyze"
	"github.com/tare-bench/tare/internal/report"
	"github.com/tare-bench/tare/internal/store"
)

//go:embed page.html
var pageHTML string

//go:embed page.css
var pageCSS string

//go:embed page.js
var pageJS string

//go:embed live.js
var liveJS string

var tmpl = parse("page", pageHTML)

// head begins each page: it allows the page's own style and script, and nothing from anywhere else.
const head = `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{{.Policy}}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
`

// body follows the title of each page.
const body = `
<style>{{.CSS}}</style>
</head>
<body>
<a class="skip" href="#main">Skip to the answer</a>
<header>
`

// parse returns the template of a page, whose text has its title in the first line.
func parse(name, html string) *template.Template {
	title, rest, _ := strings.Cut(html, "\n")
	return template.Must(template.New(name).Funcs(template.FuncMap{
		"tie": tie, "joinAnd": joinAnd, "cost": report.Cost, "interval": report.CostInterval,
		"heat": heat, "costClass": costClass, "pooledClass": pooledClass, "machineClass": machineClass,
	}).Parse(head + title + body + rest))
}

// look is the style and the script of a page, and what it allows: these two, and nothing from anywhere else.
type look struct {
	CSS    template.CSS
	JS     template.JS
	Policy string
}

// lookOf lets live pages ask the server that serves them for more.
func lookOf(css, js string, live bool) look {
	policy := "default-src 'none'; style-src " + Hash(css) + "; script-src " + Hash(js) +
		"; img-src data:; base-uri 'none'; form-action 'none'"
	if live {
		policy += "; connect-src 'self'"
	}
	return look{template.CSS(css), template.JS(js), policy}
}

// tie keeps figures and their percent signs on one line.
func tie(words string) string {
	return strings.ReplaceAll(words, " %", "\u00a0%")
}

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
	script := pageJS
	if o.State != "" {
		script += liveJS
	}
	v.look = lookOf(pageCSS, script, o.State != "")
	return execute(w, tmpl, v)
}

// execute writes a page completely, or not at all.
func execute(w io.Writer, t *template.Template, view any) error {
	var b bytes.Buffer
	if err := t.Execute(&b, view); err != nil {
		return fmt.Errorf("page: %w", err)
	}
	_, err := w.Write(bytes.Map(seen, bytes.ToValidUTF8(b.Bytes(), []byte("�"))))
	return err
}

// seen replaces invisible characters; see report.Unseen.
func seen(r rune) rune {
	if report.Unseen(r) && r != '\n' && r != '\t' {
		return utf8.RuneError
	}
	return r
}

// Hash names a style or a script in a page's policy.
func Hash(s string) string {
	sum := sha256.Sum256([]byte(s))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}
