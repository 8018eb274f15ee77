package paper

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"github.com/tare-bench/tare/internal/nearest"
)

// Limits of a file. An article with a thousand figures is far below them, and a
// hostile file cannot cost more than a moment.
const (
	maxFile     = 1 << 20 // bytes
	maxTokens   = 60_000  // of YAML; its parser is partly quadratic
	maxDepth    = 12      // of nesting
	maxProblems = 20      // reported for one file
)

// Problem is one error in a file, and its place.
type Problem struct {
	File      string
	Line, Col int // both from 1, the column in characters
	Msg       string
}

func (p Problem) String() string { return fmt.Sprintf("%s:%d:%d: %s", p.File, p.Line, p.Col, p.Msg) }

// Errors are the errors in one file, at least one, in the file's order.
type Errors []Problem

func (e Errors) Error() string {
	lines := make([]string, len(e))
	for i, p := range e {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

// reader reads one file and collects its problems.
type reader struct {
	file     string
	problems Errors
}

func (r *reader) failPos(line, col int, format string, args ...any) {
	r.problems = append(r.problems, Problem{r.file, max(line, 1), max(col, 1), printable(fmt.Sprintf(format, args...))})
}

func (r *reader) fail(n ast.Node, format string, args ...any) {
	line, col := place(n)
	r.failPos(line, col, format, args...)
}

// place returns the start of a node.
func place(n ast.Node) (line, col int) {
	switch t := n.(type) {
	case *ast.MappingNode:
		if !t.IsFlowStyle && len(t.Values) > 0 {
			return place(t.Values[0].Key)
		}
	case *ast.MappingValueNode:
		return place(t.Key)
	case nil:
		return 1, 1
	}
	return tokenPlace(n.GetToken())
}

func tokenPlace(t *token.Token) (line, col int) {
	if t == nil || t.Position == nil {
		return 1, 1
	}
	return t.Position.Line, t.Position.Column
}

// open parses text as one YAML document. A nil root means that problems were found.
func (r *reader) open(raw []byte) (root ast.Node) {
	text := strings.ReplaceAll(strings.TrimPrefix(string(raw), "\ufeff"), "\r\n", "\n")
	if len(text) > maxFile {
		r.failPos(1, 1, "the file has %d bytes; the limit is %d", len(text), maxFile)
		return nil
	}
	for i, line := range strings.Split(text, "\n") {
		if !utf8.ValidString(line) {
			r.failPos(i+1, 1, "the line is not UTF-8 text")
			return nil
		}
		if at := strings.IndexFunc(line, func(c rune) bool { return unicode.IsControl(c) && c != '\t' }); at >= 0 {
			r.failPos(i+1, utf8.RuneCountInString(line[:at])+1, "a data file must not contain control characters")
			return nil
		}
	}
	defer func() {
		if crash := recover(); crash != nil { // of the YAML parser
			r.failPos(1, 1, "not YAML: %v", crash)
			root = nil
		}
	}()
	tokens := lexer.Tokenize(text)
	depth := 0
	for i, t := range tokens {
		switch t.Type {
		case token.SequenceStartType, token.MappingStartType:
			depth++
		case token.SequenceEndType, token.MappingEndType:
			depth--
		}
		if i >= maxTokens || depth > maxDepth {
			line, col := tokenPlace(t)
			r.failPos(line, col, "too long or nested too deeply for an article")
			return nil
		}
	}
	file, err := parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		line, col, msg := 1, 1, err.Error()
		var e yaml.Error
		if errors.As(err, &e) {
			line, col = tokenPlace(e.GetToken())
			msg = e.GetMessage()
		}
		r.failPos(line, col, "not YAML: %s", msg)
		return nil
	}
	for _, doc := range file.Docs {
		switch {
		case doc.Body == nil:
		case root != nil:
			r.fail(doc.Body, "a data file contains one document; this is a second one")
			return nil
		default:
			root = doc.Body
		}
	}
	if root == nil {
		r.failPos(1, 1, "the file is empty; it needs at least document, systems and results")
	}
	return root
}

// fields are the entries of a mapping.
type fields struct {
	r      *reader
	node   ast.Node
	what   string // for messages: "a result"
	keys   []string
	values map[string]ast.Node
	at     map[string]ast.Node // the keys
}

// fields reads a mapping. If known keys are given, others are problems.
func (r *reader) fields(n ast.Node, what string, known ...string) (*fields, bool) {
	var entries []*ast.MappingValueNode
	switch n := n.(type) {
	case *ast.MappingNode:
		entries = n.Values
	case *ast.MappingValueNode:
		entries = []*ast.MappingValueNode{n}
	default:
		r.fail(n, "%s must be a mapping of keys to values, found %s", what, describe(n))
		return nil, false
	}
	f := &fields{r, n, what, nil, map[string]ast.Node{}, map[string]ast.Node{}}
	for _, e := range entries {
		key, ok := scalar(e.Key)
		if !ok {
			r.fail(e.Key, "a key must be a plain word")
			continue
		}
		if first, ok := f.at[key]; ok {
			line, _ := place(first)
			r.fail(e.Key, "duplicate key %s, first in line %d", quote(key), line)
			continue
		}
		if len(known) > 0 && !slices.Contains(known, key) {
			hint := ""
			if near := nearest.Nearest(clip(key), known); near != "" {
				hint = fmt.Sprintf(" (did you mean %q?)", near)
			}
			r.fail(e.Key, "%s has no key %s%s", what, quote(key), hint)
			continue
		}
		f.keys = append(f.keys, key)
		f.values[key], f.at[key] = e.Value, e.Key
	}
	return f, true
}

// has reports whether key has a value.
func (f *fields) has(key string) bool {
	n, ok := f.values[key]
	return ok && n.Type() != ast.NullType
}

// text returns a plain value as written in the file; "": missing.
func (f *fields) text(key string) string {
	if !f.has(key) {
		return ""
	}
	s, ok := scalar(f.values[key])
	if !ok {
		f.r.fail(f.values[key], "%s must be text, found %s", key, describe(f.values[key]))
	}
	return s
}

// required returns text that must not be missing.
func (f *fields) required(key string) string {
	s := f.text(key)
	if !f.has(key) || strings.TrimSpace(s) == "" {
		f.r.fail(f.node, "%s needs a %s", f.what, key)
	}
	return s
}

// positive returns a number above 0, or 0 if it is missing.
func (f *fields) positive(key string) float64 {
	if !f.has(key) {
		return 0
	}
	s, _ := scalar(f.values[key])
	n, ok := parseNumber(s)
	if !ok || n.Value <= 0 {
		f.r.fail(f.values[key], "%s must be a number above 0, found %s", key, describe(f.values[key]))
		return 0
	}
	return n.Value
}

// list returns the elements at key.
func (f *fields) list(key string) []ast.Node {
	if !f.has(key) {
		return nil
	}
	s, ok := f.values[key].(*ast.SequenceNode)
	if !ok {
		f.r.fail(f.values[key], "%s must be a list, found %s", key, describe(f.values[key]))
		return nil
	}
	return s.Values
}

// scalar returns a plain value as written in the file.
func scalar(n ast.Node) (string, bool) {
	switch t := n.(type) {
	case *ast.StringNode:
		return t.Value, true
	case *ast.LiteralNode:
		return t.Value.Value, true
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
		return t.GetToken().Value, true
	}
	return "", false
}

// tree returns a node as JSON-ready values. It refuses anchors, aliases and tags.
func (r *reader) tree(n ast.Node, depth int) any {
	if depth > maxDepth {
		r.fail(n, "nested more than %d levels deep", maxDepth)
		return nil
	}
	switch t := n.(type) {
	case *ast.NullNode:
		return nil
	case *ast.BoolNode:
		return t.Value
	case *ast.IntegerNode, *ast.FloatNode:
		if s := t.GetToken().Value; json.Valid([]byte(s)) {
			return json.Number(s) // keeps trailing zeros
		}
		return t.GetToken().Value
	case *ast.SequenceNode:
		list := []any{}
		for _, v := range t.Values {
			list = append(list, r.tree(v, depth+1))
		}
		return list
	case *ast.MappingNode, *ast.MappingValueNode:
		m := map[string]any{}
		if f, ok := r.fields(n, "this"); ok {
			for _, k := range f.keys {
				m[k] = r.tree(f.values[k], depth+1)
			}
		}
		return m
	}
	s, ok := scalar(n)
	if !ok {
		r.fail(n, "a data file must not contain anchors, aliases or tags")
	}
	return s
}

func describe(n ast.Node) string {
	if s, ok := scalar(n); ok {
		return quote(s)
	}
	switch n.(type) {
	case *ast.NullNode:
		return "nothing"
	case *ast.MappingNode, *ast.MappingValueNode:
		return "a mapping"
	case *ast.SequenceNode:
		return "a list"
	}
	return "something else"
}

func quote(s string) string { return fmt.Sprintf("%q", clip(s)) }

// clip shortens a long word for a message.
func clip(s string) string {
	if runes := []rune(s); len(runes) > 60 {
		return string(runes[:57]) + "..."
	}
	return s
}

// printable returns a message as one line without control characters.
func printable(s string) string {
	return strings.Map(func(c rune) rune {
		if c == '\n' || c == '\t' {
			return ' '
		}
		if !unicode.IsPrint(c) {
			return unicode.ReplacementChar
		}
		return c
	}, s)
}
