package findings_test

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/tare-bench/tare/docs/findings"
	"github.com/tare-bench/tare/internal/analyze"
)

// TestPages: every kind of finding has a page, every page has a kind, and each page has all
// sections.
func TestPages(t *testing.T) {
	var known []string
	for _, k := range analyze.Kinds() {
		if slices.Contains(known, k.ID) {
			t.Errorf("two kinds are called %s", k.ID)
		}
		known = append(known, k.ID)
		if k.Headline == "" || k.Remedy == "" || k.Severity == "" ||
			!regexp.MustCompile(`^[a-z]+(-[a-z]+)*$`).MatchString(k.ID) {
			t.Errorf("incomplete: %+v", k)
		}
		page := findings.Page(k.ID)
		if page == "" {
			t.Errorf("docs/findings/%s.md is missing", k.ID)
			continue
		}
		lines := strings.Split(page, "\n")
		if !strings.HasPrefix(lines[0], "# ") || !strings.HasPrefix(lines[2], fmt.Sprintf("`%s` · %s", k.ID, k.Severity)) {
			t.Errorf("%s.md begins %q, want a title, and %q", k.ID, lines[:3], fmt.Sprintf("`%s` · %s", k.ID, k.Severity))
		}
		for _, chapter := range []string{"What it means", "How it is found", "How to fix it", "How it is tested"} {
			_, text, ok := strings.Cut(page, "\n## "+chapter+"\n")
			text, _, _ = strings.Cut(text, "\n## ")
			if !ok || len(strings.TrimSpace(text)) < 40 {
				t.Errorf("%s.md says nothing under %q", k.ID, chapter)
			}
		}
	}
	for _, id := range ids(t) {
		if !slices.Contains(known, id) {
			t.Errorf("docs/findings/%s.md is about no kind of finding", id)
		}
	}
}

// ids lists the kinds that have a page; README.md is the index, not a page.
func ids(t *testing.T) (ids []string) {
	names, err := filepath.Glob("*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range names {
		if id := strings.TrimSuffix(n, ".md"); id != "README" {
			ids = append(ids, id)
		}
	}
	return ids
}

// TestIndex: README.md lists every kind, in the order of reports, and nothing else.
func TestIndex(t *testing.T) {
	var want []string
	for _, k := range analyze.Kinds() {
		want = append(want, k.ID)
	}
	var got []string
	for _, m := range regexp.MustCompile(`(?m)^\| \[([a-z-]+)\]\(([a-z-]+)\.md\) \| [a-z]`).FindAllStringSubmatch(
		findings.Page("README"), -1) {
		if m[1] != m[2] {
			t.Errorf("%s leads to %s.md", m[1], m[2])
		}
		got = append(got, m[1])
	}
	if !slices.Equal(got, want) {
		t.Errorf("README.md lists\n%v, the kinds are\n%v", got, want)
	}
}

// TestLinks: every link to another page has a target.
func TestLinks(t *testing.T) {
	for _, id := range append(ids(t), "README") {
		for _, m := range regexp.MustCompile(`\]\(([a-z-]+)\.md\)`).FindAllStringSubmatch(findings.Page(id), -1) {
			if findings.Page(m[1]) == "" {
				t.Errorf("%s.md links to %s.md, which is not there", id, m[1])
			}
		}
	}
}
