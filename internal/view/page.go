package view

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"maps"
	"strings"
	"unicode/utf8"
)

//go:embed page.css
var pageCSS string

//go:embed page.js
var pageJS string

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

// Template is the template of a page, whose text has its title in the first line. It has the functions of view, and
// these.
func Template(name, html string, functions template.FuncMap) *template.Template {
	title, rest, _ := strings.Cut(html, "\n")
	all := template.FuncMap{
		"tie": Tie, "show": HTML,
		"parts": func(level int, s *Section) (template.HTML, error) { return HTML(level, s.Parts...) },
	}
	maps.Copy(all, functions)
	return template.Must(template.New(name).Funcs(all).Parse(head + title + body + rest))
}

// Look is the style and the script of a page, and what it allows: these two, and nothing from anywhere else.
type Look struct {
	CSS    template.CSS
	JS     template.JS
	Policy string
}

// NewLook adds a script to that of all pages. Live pages may ask the server that serves them for more.
func NewLook(script string, live bool) Look { return newLook(pageJS+script, live) }

func newLook(js string, live bool) Look {
	policy := "default-src 'none'; style-src " + Hash(pageCSS) + "; script-src " + Hash(js) +
		"; img-src data:; base-uri 'none'; form-action 'none'"
	if live {
		policy += "; connect-src 'self'"
	}
	return Look{template.CSS(pageCSS), template.JS(js), policy}
}

// Execute writes a page completely, or not at all.
func Execute(w io.Writer, t *template.Template, v any) error {
	var b bytes.Buffer
	if err := t.Execute(&b, v); err != nil {
		return fmt.Errorf("page: %w", err)
	}
	_, err := w.Write(bytes.Map(seen, bytes.ToValidUTF8(b.Bytes(), []byte("\ufffd"))))
	return err
}

// seen replaces invisible characters; see Unseen.
func seen(r rune) rune {
	if Unseen(r) && r != '\n' && r != '\t' {
		return utf8.RuneError
	}
	return r
}

// Hash names a style or a script in a page's policy.
func Hash(s string) string {
	sum := sha256.Sum256([]byte(s))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

var plainPage = Template("page", `<title>{{.Title}} · tare</title>
<p class="brand">{{.Brand}}</p>
<h1>{{.Title}}</h1>
{{with .About}}<p class="about">{{tie .}}</p>{{end}}
<nav aria-label="Contents"><ul>{{range .Contents}}<li><a href="#{{.ID}}">{{.Title}}</a></li>{{end}}</ul></nav>
</header>
<main id="main">
{{parts 2 .Section}}
</main>
</body>
</html>
`, nil)

// WritePage writes a section as a page of its own. brand says what kind of page it is.
func WritePage(w io.Writer, brand string, s *Section) error {
	page := struct {
		Look
		*Section
		Brand    string
		Contents []*Section
	}{Look: newLook("", false), Section: s, Brand: brand}
	for _, p := range s.Parts {
		if in, ok := p.(*Section); ok && in.ID != "" {
			page.Contents = append(page.Contents, in)
		}
	}
	return Execute(w, plainPage, page)
}
