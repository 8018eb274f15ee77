package archtest

import (
	"go/scanner"
	"go/token"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

const maxColumns = 120

// TestLinesAreShort: no line of a Go file has more than maxColumns characters, a tab being one. Lines of raw strings
// may: they are text of other languages, whose lines cannot always be broken.
func TestLinesAreShort(t *testing.T) {
	eachFile(t, func(name string, text []byte) {
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, ".pb.go") {
			return
		}
		raw := linesOfRawStrings(text)
		n := 0
		for line := range strings.Lines(string(text)) {
			n++
			if utf8.RuneCountInString(strings.TrimSuffix(line, "\n")) > maxColumns && !raw[n] {
				t.Errorf("%s:%d has more than %d characters", name, n, maxColumns)
			}
		}
	})
}

// linesOfRawStrings are the numbers of the lines that have a part of a raw string.
func linesOfRawStrings(text []byte) map[int]bool {
	lines := map[int]bool{}
	files := token.NewFileSet()
	file := files.AddFile("", files.Base(), len(text))
	var s scanner.Scanner
	s.Init(file, text, nil, 0)
	for {
		pos, tok, literal := s.Scan()
		if tok == token.EOF {
			return lines
		}
		if tok == token.STRING && literal[0] == '`' {
			from := file.Line(pos)
			for n := range strings.Count(literal, "\n") + 1 {
				lines[from+n] = true
			}
		}
	}
}

var (
	heading  = regexp.MustCompile("(?m)^#+ (.*)$")
	fenced   = regexp.MustCompile("(?ms)^```.*?^```$")
	link     = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	unspoken = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// TestLinks: every link of a page leads to a file of the checkout, and to a heading if it names one.
// Links to other sites are not followed.
func TestLinks(t *testing.T) {
	anchors := map[string][]string{} // of every file, by name
	pages := map[string]string{}
	eachFile(t, func(name string, text []byte) {
		anchors[name] = nil
		if !strings.HasSuffix(name, ".md") || strings.Contains(name, "testdata/") {
			return
		}
		pages[name] = fenced.ReplaceAllString(string(text), "")
		for _, m := range heading.FindAllStringSubmatch(pages[name], -1) {
			anchors[name] = append(anchors[name], anchor(m[1]))
		}
	})
	for page, text := range pages {
		for _, m := range link.FindAllStringSubmatch(text, -1) {
			if strings.Contains(m[1], ":") {
				continue
			}
			file, at, named := strings.Cut(m[1], "#")
			if file = path.Join(path.Dir(page), file); strings.HasPrefix(m[1], "#") {
				file = page
			}
			if known, ok := anchors[file]; !ok && !isDir(t, file) {
				t.Errorf("%s links to %s, which is not there", page, m[1])
			} else if named && !slices.Contains(known, at) {
				t.Errorf("%s links to %s, but %s has no such heading", page, m[1], file)
			}
		}
	}
}

// anchor is what GitHub calls a heading in links.
func anchor(heading string) string {
	return strings.ReplaceAll(unspoken.ReplaceAllString(strings.ToLower(heading), ""), " ", "-")
}

func isDir(t *testing.T, name string) bool {
	st, err := os.Stat(path.Join(root(t), name))
	return err == nil && st.IsDir()
}
