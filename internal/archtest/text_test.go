package archtest

import (
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"flag"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

const maxColumns = 120

// longLines has a digest of every line that was too long before TestLinesAreShort existed, so that
// the file that it is in may change. `go test ./internal/archtest -update` removes those that have
// been shortened, and adds none.
//
//go:embed testdata/longlines.txt
var longLines string

var update = flag.Bool("update", false, "remove the digests of lines that are short now")

// TestLinesAreShort: no line of a Go file has more than maxColumns characters, a tab being one.
func TestLinesAreShort(t *testing.T) {
	known, still := strings.Fields(longLines), []string{}
	eachFile(t, func(name string, text []byte) {
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, ".pb.go") {
			return
		}
		number := 0
		for line := range strings.Lines(string(text)) {
			number++
			line = strings.TrimSuffix(line, "\n")
			n := utf8.RuneCountInString(line)
			if n <= maxColumns {
				continue
			}
			sum := sha256.Sum256([]byte(strings.TrimSpace(line)))
			digest := hex.EncodeToString(sum[:4])
			still = append(still, digest)
			if !slices.Contains(known, digest) {
				t.Errorf("%s:%d: %d characters, more than %d", name, number, n, maxColumns)
			}
		}
	})
	if *update {
		slices.Sort(still)
		still = slices.DeleteFunc(slices.Compact(still), func(d string) bool { return !slices.Contains(known, d) })
		if err := os.WriteFile("testdata/longlines.txt", []byte(strings.Join(still, "\n")+"\n"), 0o644); err != nil {
			t.Fatal(err)
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
