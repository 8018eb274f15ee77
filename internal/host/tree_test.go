package host

import (
	"io/fs"
	"os"
	"strings"
	"testing"
	"testing/fstest"
)

// tree is a synthetic root; see the head of a testdata/*.tree for the format.
type tree struct {
	fstest.MapFS
	denied map[string]bool
}

func (t tree) Open(name string) (fs.File, error) {
	if t.denied[name] {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrPermission}
	}
	return t.MapFS.Open(name)
}

func loadTree(t testing.TB, name string) tree {
	t.Helper()
	b, err := os.ReadFile("testdata/" + name + ".tree")
	if err != nil {
		t.Fatal(err)
	}
	out := tree{MapFS: fstest.MapFS{}, denied: map[string]bool{}}
	var open []*fstest.MapFile
	for line := range strings.Lines(string(b)) {
		head, ok := strings.CutPrefix(line, "-- ")
		if !ok {
			for _, f := range open {
				f.Data = append(f.Data, line...)
			}
			continue
		}
		open = nil
		head = strings.TrimSpace(head)
		path, rest, _ := strings.Cut(head, " ")
		if target, ok := strings.CutPrefix(rest, "-> "); ok {
			out.MapFS[path] = &fstest.MapFile{Data: []byte(strings.TrimSuffix(target, " --")), Mode: fs.ModeSymlink}
			continue
		}
		value := strings.TrimSpace(strings.TrimPrefix(rest, "--"))
		for _, p := range expand(path) {
			f := &fstest.MapFile{}
			if value != "" {
				f.Data = []byte(value + "\n")
			} else {
				open = append(open, f)
			}
			out.MapFS[p] = f
			out.denied[p] = value == "!"
		}
	}
	return out
}

// expand replaces one {a,b} in a path by each of its words.
func expand(path string) []string {
	pre, rest, ok := strings.Cut(path, "{")
	if !ok {
		return []string{path}
	}
	words, post, _ := strings.Cut(rest, "}")
	var out []string
	for w := range strings.SplitSeq(words, ",") {
		out = append(out, pre+w+post)
	}
	return out
}
