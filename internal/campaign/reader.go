package campaign

import (
	"fmt"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"github.com/tare-bench/tare/internal/nearest"
)

// position is a place in the file; both count from 1, columns in characters.
type position struct{ line, col int }

// value is a node of the file and the path that led to it: "arms[1].flavor".
type value struct {
	node ast.Node
	path string
}

// label is the last part of v's path, for messages.
func (v value) label() string {
	if v.path == "" {
		return "the file"
	}
	if strings.HasSuffix(v.path, "]") {
		return v.path[strings.LastIndexByte(v.path, '.')+1:]
	}
	return shorten(v.path[strings.LastIndexAny(v.path, ".]")+1:])
}

// reader reads one file, and collects its problems and warnings.
type reader struct {
	file     string
	lines    []string
	problems []Problem
	warnings []Problem
	where    map[string]position         // of the values that were read, by path
	failed   []string                    // paths where a problem was found while reading
	anchors  map[*ast.AliasNode]ast.Node // what each alias stands for
	entries  int                         // of mappings read so far
}

// child is the value at a key ("name") or an index ("[3]") of v. Its position is kept
// for the checks after reading.
func (r *reader) child(v value, step string, n ast.Node) value {
	path := join(v.path, step)
	r.where[path] = r.pos(n)
	return value{r.resolve(n), path}
}

func join(path, step string) string {
	if path == "" || strings.HasPrefix(step, "[") {
		return path + step
	}
	return path + "." + step
}

// pair is one entry of a mapping.
type pair struct {
	key     string
	keyNode ast.Node
	value   ast.Node
}

// pairs returns the entries of a mapping. Entries merged in by << come after its own,
// which take precedence. A repeated key is reported.
func (r *reader) pairs(at value, what string) ([]pair, bool) {
	var entries []*ast.MappingValueNode
	switch n := at.node.(type) {
	case *ast.MappingNode:
		entries = n.Values
	case *ast.MappingValueNode:
		entries = []*ast.MappingValueNode{n}
	default:
		r.failAt(at, "%s must be a mapping of keys to values, found %s", what, describe(at.node))
		return nil, false
	}
	before := r.entries
	if r.entries += 1 + len(entries); r.entries > maxEntries {
		if before <= maxEntries {
			r.failAt(at, "more than %d entries, counting each use of an alias", maxEntries)
		}
		return nil, false
	}
	var pairs []pair
	var merged []ast.Node
	for _, e := range entries {
		if _, ok := e.Key.(*ast.MergeKeyNode); ok {
			merged = append(merged, e.Value)
			continue
		}
		keyNode := r.resolve(e.Key)
		if !isScalar(keyNode) {
			r.failAt(value{e.Key, at.path}, "a key must be a plain word")
			continue
		}
		p := pair{text(keyNode), e.Key, e.Value}
		if i := slices.IndexFunc(pairs, func(q pair) bool { return q.key == p.key }); i >= 0 {
			r.failAt(value{e.Key, at.path}, "key %s appears twice, first in line %d", quote(p.key), r.pos(pairs[i].keyNode).line)
			continue
		}
		pairs = append(pairs, p)
	}
	for _, m := range merged {
		sources := []ast.Node{m}
		if sequence, ok := r.resolve(m).(*ast.SequenceNode); ok {
			sources = sequence.Values
		}
		for _, source := range sources {
			more, ok := r.pairs(value{r.resolve(source), at.path}, "the value of <<")
			if !ok {
				return nil, false
			}
			for _, p := range more {
				if !slices.ContainsFunc(pairs, func(q pair) bool { return q.key == p.key }) {
					pairs = append(pairs, p)
				}
			}
		}
	}
	return pairs, true
}

// failAt reports a problem with a value that could not be read.
func (r *reader) failAt(at value, format string, args ...any) {
	r.failed = append(r.failed, at.path)
	r.failPos(r.pos(at.node), format, args...)
}

// unknown reports an unknown word, with the nearest known one.
func (r *reader) unknown(at value, word string, known []string, format string, args ...any) {
	r.failAt(at, format, args...)
	r.problems[len(r.problems)-1].Hint = near(word, known)
}

func near(word string, known []string) string {
	if len(word) > 100 {
		return ""
	}
	return nearest.Nearest(word, known)
}

func (r *reader) failPos(at position, format string, args ...any) {
	r.problems = append(r.problems, r.problem(at, fmt.Sprintf(format, args...)))
}

// fail reports a problem with the value at path.
func (r *reader) fail(path, format string, args ...any) {
	r.failPos(r.at(path), format, args...)
}

// warn reports a doubt about the value at path.
func (r *reader) warn(path, format string, args ...any) {
	r.warnings = append(r.warnings, r.problem(r.at(path), fmt.Sprintf(format, args...)))
}

func (r *reader) problem(at position, msg string) Problem {
	p := Problem{File: r.file, Line: at.line, Col: at.col, Msg: msg}
	if at.line >= 1 && at.line <= len(r.lines) {
		p.Source = r.lines[at.line-1]
	}
	return p
}

// at is the position of path, or of the nearest value around it.
func (r *reader) at(path string) position {
	for path != "" {
		if p, ok := r.where[path]; ok {
			return p
		}
		path = path[:max(strings.LastIndexAny(path, ".["), 0)]
	}
	return position{1, 1}
}

// sound reports whether everything at, below and above these paths was read without
// problems.
func (r *reader) sound(paths ...string) bool {
	for _, path := range paths {
		for _, failed := range r.failed {
			if failed == path || below(failed, path) || below(path, failed) {
				return false
			}
		}
	}
	return true
}

// below reports whether path lies within parent.
func below(path, parent string) bool {
	rest, ok := strings.CutPrefix(path, parent)
	return ok && rest != "" && (rest[0] == '.' || rest[0] == '[')
}
