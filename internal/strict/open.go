package strict

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// Bounds of a file. They are far beyond any real one, and keep a hostile or mistaken file from costing more than
// a moment.
const (
	maxFile    = 1 << 20 // bytes
	maxLine    = 4096    // bytes
	maxDepth   = 20      // of nesting
	maxTokens  = 30_000  // of YAML; some of what its parser does is quadratic
	maxEntries = 30_000  // of mappings and lists, counting each use of an alias
)

// open checks that raw is text, parses it as YAML and returns the document's root; nil: problems were found, or
// the file is empty.
func (r *Reader) open(raw []byte) ast.Node {
	text := strings.TrimPrefix(string(raw), "\ufeff")
	if len(text) > maxFile {
		r.failPos(position{1, 1}, "the file has %d bytes; the limit is %d", len(text), maxFile)
		return nil
	}
	text = strings.ReplaceAll(text, "\r\n", "\n")
	r.lines = strings.Split(text, "\n")
	for i, line := range r.lines {
		if !utf8.ValidString(line) {
			valid, _, _ := strings.Cut(strings.ToValidUTF8(line, "\x00"), "\x00")
			r.failPos(position{i + 1, utf8.RuneCountInString(valid) + 1}, "the file is not UTF-8 text")
			return nil
		}
		if at := strings.IndexFunc(line, forbidden); at >= 0 {
			r.failPos(position{i + 1, utf8.RuneCountInString(line[:at]) + 1}, "control characters are not allowed")
			return nil
		}
		if len(line) > maxLine {
			r.failPos(position{i + 1, 1}, "the line has %d bytes; the limit is %d", len(line), maxLine)
			return nil
		}
	}
	file := r.parse(text)
	if file == nil {
		return nil
	}
	var root ast.Node
	for _, doc := range file.Docs {
		switch {
		case doc.Body == nil:
		case doc.Body.Type() == ast.DirectiveType:
		case root != nil:
			r.failPos(r.pos(doc.Body), "a second document; a file has only one")
			return nil
		default:
			root = doc.Body
		}
	}
	if root == nil || !r.link(root, map[string]ast.Node{}, 0) {
		return nil
	}
	return r.resolve(root)
}

// parse runs the YAML parser, and reports its errors and its crashes.
func (r *Reader) parse(text string) (file *ast.File) {
	defer func() {
		if crash := recover(); crash != nil {
			r.failPos(position{1, 1}, "not YAML: %s", printable(fmt.Sprint(crash)))
			file = nil
		}
	}()
	tokens := lexer.Tokenize(text)
	if len(tokens) > maxTokens {
		at := tokenPos(tokens[maxTokens])
		r.failPos(at, "the file has more than %d YAML tokens up to here, which is the limit", maxTokens)
		return nil
	}
	if !r.shallow(tokens) {
		return nil
	}
	file, err := parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		r.syntax(err)
		return nil
	}
	return file
}

// forbidden reports characters that YAML does not allow in text.
func forbidden(c rune) bool {
	return c < ' ' && c != '\t' || c == 0x7f || c >= 0x80 && c < 0xa0 || c == 0xfeff || c == 0xfffe || c == 0xffff
}

// shallow refuses deep brackets before parsing, which is quadratic in their depth.
func (r *Reader) shallow(tokens token.Tokens) bool {
	depth := 0
	for _, t := range tokens {
		switch t.Type {
		case token.SequenceStartType, token.MappingStartType:
			depth++
		case token.SequenceEndType, token.MappingEndType:
			depth--
		}
		if depth > maxDepth {
			r.failPos(tokenPos(t), "nested more than %d deep", maxDepth)
			return false
		}
	}
	return true
}

// syntax reports an error of the YAML parser, which finds only the first.
func (r *Reader) syntax(err error) {
	var e yaml.Error
	if !errors.As(err, &e) {
		r.failPos(position{1, 1}, "not YAML: %s", printable(err.Error()))
		return
	}
	at := position{1, 1}
	if t := e.GetToken(); t != nil {
		at = tokenPos(t)
	}
	r.failPos(at, "not YAML: %s", printable(strings.ReplaceAll(e.GetMessage(), "\t", `\t`)))
}

// link resolves every alias. It returns false if the file cannot be read any further.
func (r *Reader) link(n ast.Node, anchors map[string]ast.Node, depth int) bool {
	if depth > maxDepth {
		r.failPos(r.pos(n), "nested more than %d deep", maxDepth)
		return false
	}
	switch n := n.(type) {
	case *ast.AnchorNode:
		if !r.link(n.Value, anchors, depth+1) {
			return false
		}
		anchors[n.Name.GetToken().Value] = n.Value
	case *ast.AliasNode:
		name := n.Value.GetToken().Value
		target, ok := anchors[name]
		if !ok {
			r.failPos(r.pos(n), "*%s has no anchor &%s above it", Shorten(name), Shorten(name))
			return false
		}
		r.anchors[n] = target
	case *ast.TagNode:
		r.failPos(r.pos(n), "tags are not allowed")
		return false
	case *ast.MappingNode:
		for _, v := range n.Values {
			if !r.link(v, anchors, depth) {
				return false
			}
		}
	case *ast.MappingValueNode:
		return r.link(n.Key, anchors, depth+1) && r.link(n.Value, anchors, depth+1)
	case *ast.SequenceNode:
		for _, v := range n.Values {
			if !r.link(v, anchors, depth+1) {
				return false
			}
		}
	}
	return true
}

// resolve removes anchors and aliases from a node.
func (r *Reader) resolve(n ast.Node) ast.Node {
	for {
		switch t := n.(type) {
		case *ast.AnchorNode:
			n = t.Value
		case *ast.AliasNode:
			n = r.anchors[t]
		default:
			return n
		}
	}
}

// pos is the place of a node's first token.
func (r *Reader) pos(n ast.Node) position {
	switch t := n.(type) {
	case *ast.MappingNode:
		if !t.IsFlowStyle && len(t.Values) > 0 {
			return r.pos(t.Values[0].Key)
		}
	case *ast.MappingValueNode:
		return r.pos(t.Key)
	case nil:
		return position{1, 1}
	}
	if t := n.GetToken(); t != nil {
		return tokenPos(t)
	}
	return position{1, 1}
}

func tokenPos(t *token.Token) position {
	if t.Position == nil {
		return position{1, 1}
	}
	return position{max(t.Position.Line, 1), max(t.Position.Column, 1)}
}

// isScalar reports whether n is a plain value: neither mapping nor list.
func isScalar(n ast.Node) bool {
	_, ok := n.(ast.ScalarNode)
	return ok
}

// text is a plain value as it is in the file.
func text(n ast.Node) string {
	switch t := n.(type) {
	case *ast.StringNode:
		return t.Value
	case *ast.LiteralNode:
		return t.Value.Value
	}
	return n.GetToken().Value
}

// describe says what kind of value a node is.
func describe(n ast.Node) string {
	switch n.Type() {
	case ast.NullType:
		return "nothing"
	case ast.BoolType, ast.IntegerType, ast.FloatType:
		return Shorten(text(n))
	case ast.StringType:
		return "the text " + Quote(text(n))
	case ast.LiteralType:
		return "a block of text"
	case ast.MappingType, ast.MappingValueType:
		return "a mapping"
	case ast.SequenceType:
		return "a list"
	}
	return "something else"
}
