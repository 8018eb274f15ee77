// Package strict reads YAML files strictly, and reports everything that is wrong with one at once, with
// line, column and the word that was probably meant. The format of a file is a table of keys: reading, the
// canonical form and the JSON schema all follow from it, so that they cannot drift apart.
package strict

import (
	"fmt"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/nearest"
)

// position is a place in the file; both count from 1, columns in characters.
type position struct{ line, col int }

// Node is a value in the file, and the path that led to it: "arms[1].flavor".
type Node struct {
	node ast.Node
	path string
}

// label is the last part of n's path, for messages.
func (n Node) label() string {
	if n.path == "" {
		return "the file"
	}
	if strings.HasSuffix(n.path, "]") {
		return n.path[strings.LastIndexByte(n.path, '.')+1:]
	}
	return Shorten(n.path[strings.LastIndexAny(n.path, ".]")+1:])
}

// Path is where n is in the file, as in "arms[1].flavor"; "" is the whole file.
func (n Node) Path() string { return n.path }

// Reader reads one file, and collects its problems and warnings. Once the file is read, its methods check what
// one value alone does not tell; they name a value by its path.
type Reader struct {
	file     string
	lines    []string
	problems []Problem
	warnings []Problem
	where    map[string]position         // of the values that were read, by path
	failed   []string                    // paths where a problem was found while reading
	anchors  map[*ast.AliasNode]ast.Node // what each alias stands for
	entries  int                         // of mappings and of lists of any values, read so far
}

// Read reads a file of that kind. name is the file's name in messages. If ok is false, nothing could be read;
// otherwise r may have problems nevertheless, and v lacks what they are about.
func Read[V any](name string, text []byte, k Kind[V]) (v V, r *Reader, ok bool) {
	r = &Reader{file: name, where: map[string]position{}, anchors: map[*ast.AliasNode]ast.Node{}}
	if root := r.open(text); root != nil {
		v, ok = k.Read(r, Node{root, ""})
	} else if len(r.problems) == 0 {
		needs := ""
		if keys, _ := k.Schema["required"].([]string); len(keys) > 0 {
			needs = "; it needs the keys " + strings.Join(keys, ", ")
		}
		r.failPos(position{1, 1}, "the file is empty%s", needs)
	}
	return v, r, ok
}

// Err returns every problem of the file so far: an error of the kind fault.Campaign that wraps Errors; nil: none.
func (r *Reader) Err() error {
	if len(r.problems) == 0 {
		return nil
	}
	return &fault.Error{Kind: fault.Campaign, Err: Errors(tidy(r.problems))}
}

// Warnings returns the doubts about the file, in its order.
func (r *Reader) Warnings() []Problem { return tidy(r.warnings) }

// child is the value at a key ("name") or an index ("[3]") of n. Its position is kept for the checks after
// reading.
func (r *Reader) child(n Node, step string, value ast.Node) Node {
	path := n.path + "." + step
	if n.path == "" || strings.HasPrefix(step, "[") {
		path = n.path + step
	}
	r.where[path] = r.pos(value)
	return Node{r.resolve(value), path}
}

// pair is one entry of a mapping.
type pair struct {
	key     string
	keyNode ast.Node
	value   ast.Node
}

// pairs returns the entries of a mapping. Entries merged in by << come after its own, which take precedence. A
// repeated key is reported.
func (r *Reader) pairs(at Node, what string) ([]pair, bool) {
	var entries []*ast.MappingValueNode
	switch n := at.node.(type) {
	case *ast.MappingNode:
		entries = n.Values
	case *ast.MappingValueNode:
		entries = []*ast.MappingValueNode{n}
	default:
		r.FailAt(at, "%s must be a mapping of keys to values, found %s", what, describe(at.node))
		return nil, false
	}
	if !r.count(at, len(entries)) {
		return nil, false
	}
	var pairs []pair
	var merged []ast.Node
	first := map[string]ast.Node{}
	for _, e := range entries {
		if _, ok := e.Key.(*ast.MergeKeyNode); ok {
			merged = append(merged, e.Value)
			continue
		}
		keyNode := r.resolve(e.Key)
		if !isScalar(keyNode) {
			r.FailAt(Node{e.Key, at.path}, "a key must be a plain word")
			continue
		}
		p := pair{text(keyNode), e.Key, e.Value}
		if before, twice := first[p.key]; twice {
			line := r.pos(before).line
			r.FailAt(Node{e.Key, at.path}, "key %s appears twice, first in line %d", Quote(p.key), line)
			continue
		}
		first[p.key] = e.Key
		pairs = append(pairs, p)
	}
	for _, m := range merged {
		sources := []ast.Node{m}
		if sequence, ok := r.resolve(m).(*ast.SequenceNode); ok {
			sources = sequence.Values
		}
		for _, source := range sources {
			more, ok := r.pairs(Node{r.resolve(source), at.path}, "the value of <<")
			if !ok {
				return nil, false
			}
			for _, p := range more {
				if _, own := first[p.key]; !own {
					first[p.key] = p.keyNode
					pairs = append(pairs, p)
				}
			}
		}
	}
	return pairs, true
}

// count reports whether the file may have n more entries.
func (r *Reader) count(at Node, n int) bool {
	before := r.entries
	r.entries += 1 + n
	if r.entries > maxEntries && before <= maxEntries {
		r.FailAt(at, "more than %d entries, counting each use of an alias", maxEntries)
	}
	return r.entries <= maxEntries
}

// FailAt reports a problem with a value that could not be read.
func (r *Reader) FailAt(at Node, format string, args ...any) {
	r.failed = append(r.failed, at.path)
	r.failPos(r.pos(at.node), format, args...)
}

// unknown reports an unknown word, with the nearest known one.
func (r *Reader) unknown(at Node, word string, known []string, format string, args ...any) {
	r.FailAt(at, format, args...)
	r.problems[len(r.problems)-1].Hint = Near(word, known)
}

// Near returns the known word that was probably meant by word; "": none.
func Near(word string, known []string) string {
	if len(word) > 100 {
		return ""
	}
	return nearest.Nearest(word, known)
}

func (r *Reader) failPos(at position, format string, args ...any) {
	r.problems = append(r.problems, r.problem(at, fmt.Sprintf(format, args...)))
}

// Fail reports a problem with the value at path.
func (r *Reader) Fail(path, format string, args ...any) {
	r.failPos(r.at(path), format, args...)
}

// FailWord reports an unknown word at path, with the nearest known one.
func (r *Reader) FailWord(path, word string, known []string, format string, args ...any) {
	r.Fail(path, format, args...)
	r.problems[len(r.problems)-1].Hint = Near(word, known)
}

// Warn reports a doubt about the value at path.
func (r *Reader) Warn(path, format string, args ...any) {
	r.warnings = append(r.warnings, r.problem(r.at(path), fmt.Sprintf(format, args...)))
}

func (r *Reader) problem(at position, msg string) Problem {
	p := Problem{File: r.file, Line: at.line, Col: at.col, Msg: printable(msg)}
	if at.line >= 1 && at.line <= len(r.lines) {
		p.Source = r.lines[at.line-1]
	}
	return p
}

// Has reports whether the file has something at path.
func (r *Reader) Has(path string) bool {
	_, ok := r.where[path]
	return ok
}

// Line returns the line of the value at path, or of the nearest value around it.
func (r *Reader) Line(path string) int { return r.at(path).line }

func (r *Reader) at(path string) position {
	for path != "" {
		if p, ok := r.where[path]; ok {
			return p
		}
		path = path[:max(strings.LastIndexAny(path, ".["), 0)]
	}
	return position{1, 1}
}

// Sound reports whether everything at, below and above these paths was read without problems; without paths,
// whether the whole file was.
func (r *Reader) Sound(paths ...string) bool {
	if len(paths) == 0 {
		return len(r.problems) == 0
	}
	return !slices.ContainsFunc(paths, func(path string) bool {
		return slices.ContainsFunc(r.failed, func(failed string) bool {
			return failed == path || below(failed, path) || below(path, failed)
		})
	})
}

// below reports whether path lies within parent.
func below(path, parent string) bool {
	rest, ok := strings.CutPrefix(path, parent)
	return ok && rest != "" && (rest[0] == '.' || rest[0] == '[')
}
