// Package findings contains the pages that explain findings: what each means, how it is found, how to
// fix its cause, and how it is tested. There is one page for every kind in package analyze, named by
// its ID.
package findings

import "embed"

//go:embed *.md
var pages embed.FS

// Page returns the page of a kind as Markdown; "" if there is none.
func Page(id string) string {
	b, err := pages.ReadFile(id + ".md")
	if err != nil {
		return ""
	}
	return string(b)
}

// URL is the address of the page of a kind.
func URL(id string) string {
	return "https://github.com/tare-bench/tare/blob/main/docs/findings/" + id + ".md"
}
