package paper

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestMoreArticles: docs/articles/README.md says what the audit finds in the files beside
// it. Each number was checked by hand.
func TestMoreArticles(t *testing.T) {
	const dir = "../../docs/articles"
	page, err := os.ReadFile(filepath.Join(dir, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	paths, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err != nil || len(paths) < 3 {
		t.Fatal(paths, err)
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		name := filepath.Base(path)
		a, err := Parse(name, text)
		if err != nil {
			t.Error(err)
			continue
		}
		if a.Document.Name+".yaml" != name {
			t.Errorf("%s: the short name is %s", name, a.Document.Name)
		}
		r := Audit(a)
		if len(r.Unchecked) > 0 {
			t.Errorf("%s: %+v", name, r.Unchecked)
		}
		wants := []string{fmt.Sprintf("| %d | %d |", r.Agree, len(r.Findings))}
		for _, f := range r.Findings {
			printed, recomputed := f.Values()
			wants = append(wants, fmt.Sprintf("| %s | %s |", printed, recomputed))
		}
		line, _, _ := strings.Cut(string(page)[strings.Index(string(page), "]("+name+")"):], "\n")
		if !strings.Contains(line, wants[0]) {
			t.Errorf("README.md says %q of %s, not %s", line, name, wants[0])
		}
		for _, want := range wants[1:] {
			if !strings.Contains(string(page), want) {
				t.Errorf("README.md does not have %q, of %s", want, name)
			}
		}
	}
}
