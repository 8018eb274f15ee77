// Package findings holds the pages that explain the findings: what each means,
// how it is found, how to mend its cause, and how it was proven to work. There
// is one page for every kind that package analyze knows, named by its ID.
package findings

import (
	"embed"
	"io/fs"
	"strings"
)

//go:embed *.md
var pages embed.FS

// Page returns the page of a kind as Markdown; "" where there is none.
func Page(id string) string {
	b, err := pages.ReadFile(id + ".md")
	if err != nil {
		return ""
	}
	return string(b)
}

// URL is where the page of a kind can be read without tare.
func URL(id string) string {
	return "https://github.com/tare-bench/tare/blob/main/docs/findings/" + id + ".md"
}

// IDs lists the kinds that have a page; README.md is their index and no page.
func IDs() []string {
	names, _ := fs.Glob(pages, "*.md")
	var ids []string
	for _, n := range names {
		if id := strings.TrimSuffix(n, ".md"); id != "README" {
			ids = append(ids, id)
		}
	}
	return ids
}
