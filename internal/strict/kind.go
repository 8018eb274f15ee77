package strict

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"

	"github.com/goccy/go-yaml/ast"
)

// Schema is a JSON schema, or a part of one.
type Schema map[string]any

// Kind is one kind of value in a file: its schema, how it is read, and how it is written.
type Kind[V any] struct {
	Schema Schema
	Read   func(r *Reader, at Node) (V, bool) // false: a problem was reported
	// Write writes a value as JSON, in full with every default or without any.
	Write func(v V, full bool) json.RawMessage
}

// Key is one key of a mapping that is read into a T.
type Key[T any] struct {
	Name     string
	required bool
	schema   Schema // with its description and its default
	preset   func(t *T)
	read     func(r *Reader, at Node, t *T)
	// Write is that of the value; nil: the key is left out.
	Write func(t *T, full bool) json.RawMessage
}

// Field makes an optional key whose absence leaves the zero value.
func Field[T, V any](name, about string, k Kind[V], at func(*T) *V) Key[T] {
	return Key[T]{
		Name:   name,
		schema: k.Schema.With(Schema{"description": about}),
		preset: func(*T) {},
		read: func(r *Reader, v Node, t *T) {
			if got, ok := k.Read(r, v); ok {
				*at(t) = got
			}
		},
		Write: func(t *T, full bool) json.RawMessage {
			if reflect.ValueOf(at(t)).Elem().IsZero() {
				return nil
			}
			return k.Write(*at(t), full)
		},
	}
}

// FieldOr makes an optional key with a default.
func FieldOr[T, V any](name, about string, k Kind[V], at func(*T) *V, preset V) Key[T] {
	f := Field(name, about, k, at)
	f.schema = f.schema.With(Schema{"default": k.Write(preset, true)})
	f.preset = func(t *T) { *at(t) = preset }
	f.Write = func(t *T, full bool) json.RawMessage {
		if !full && reflect.DeepEqual(*at(t), preset) {
			return nil
		}
		return k.Write(*at(t), full)
	}
	return f
}

// Default returns what a mapping without any keys is.
func Default[T any](keys []Key[T]) (t T) {
	for _, k := range keys {
		k.preset(&t)
	}
	return t
}

// Required makes an optional key required.
func Required[T any](f Key[T]) Key[T] {
	f.required = true
	return f
}

// With returns s with the members of more added.
func (s Schema) With(more Schema) Schema {
	merged := make(Schema, len(s)+len(more))
	for k, v := range s {
		merged[k] = v
	}
	for k, v := range more {
		merged[k] = v
	}
	return merged
}

// Object is a mapping with these keys and no others.
func Object[T any](what string, keys []Key[T]) Kind[T] {
	names := make([]string, len(keys))
	properties := Schema{}
	required := []string{}
	for i, k := range keys {
		names[i] = k.Name
		properties[k.Name] = k.schema
		if k.required {
			required = append(required, k.Name)
		}
	}
	s := Schema{"type": "object", "properties": properties, "additionalProperties": false}
	if len(required) > 0 {
		s["required"] = required
	}
	return Kind[T]{
		Schema: s,
		Read: func(r *Reader, at Node) (T, bool) {
			t := Default(keys)
			pairs, ok := r.pairs(at, what)
			if !ok {
				return t, false
			}
			var there []string // the keys, misspelled ones corrected
			for _, p := range pairs {
				i := slices.Index(names, p.key)
				if i < 0 {
					r.unknown(Node{p.keyNode, at.path}, p.key, names, "unknown key %s in %s", Quote(p.key), what)
					there = append(there, Near(p.key, names))
					continue
				}
				keys[i].read(r, r.child(at, p.key, p.value), &t)
				there = append(there, p.key)
			}
			for _, k := range keys {
				if k.required && !slices.Contains(there, k.Name) {
					r.FailAt(at, "%s needs the key %s", what, Quote(k.Name))
				}
			}
			return t, true
		},
		Write: func(t T, full bool) json.RawMessage {
			var w objectWriter
			for _, k := range keys {
				w.add(k.Name, k.Write(&t, full))
			}
			return w.bytes()
		},
	}
}

// OrNull lets null, or no value at all, stand for the absence of the key.
func OrNull[V any](k Kind[V]) Kind[V] {
	read := k.Read
	k.Read = func(r *Reader, at Node) (v V, ok bool) {
		if at.node.Type() == ast.NullType {
			return v, true
		}
		return read(r, at)
	}
	return k
}

// Then adds a check to a kind, or completes what was read. It is not called for what could not be read.
func Then[V any](k Kind[V], check func(r *Reader, at Node, v *V)) Kind[V] {
	read := k.Read
	k.Read = func(r *Reader, at Node) (V, bool) {
		v, ok := read(r, at)
		if ok {
			check(r, at, &v)
		}
		return v, ok
	}
	return k
}

// Keys is a mapping of which only the keys matter, in their order.
func Keys(what string) Kind[[]string] {
	return Kind[[]string]{Read: func(r *Reader, at Node) (keys []string, ok bool) {
		pairs, ok := r.pairs(at, what)
		for _, p := range pairs {
			keys = append(keys, p.key)
		}
		return keys, ok
	}}
}

// Any is any value: numbers as json.Number if JSON can hold them, mappings as map[string]any, lists as []any.
var Any = Kind[any]{Read: func(r *Reader, at Node) (any, bool) { return r.any(at), true }}

func (r *Reader) any(at Node) any {
	switch n := at.node.(type) {
	case *ast.NullNode:
		return nil
	case *ast.BoolNode:
		return n.Value
	case *ast.IntegerNode, *ast.FloatNode:
		if s := text(n); json.Valid([]byte(s)) {
			return json.Number(s) // keeps trailing zeros
		}
	case *ast.SequenceNode:
		list := []any{}
		if r.count(at, len(n.Values)) {
			for _, v := range n.Values {
				list = append(list, r.any(Node{r.resolve(v), at.path}))
			}
		}
		return list
	case *ast.MappingNode, *ast.MappingValueNode:
		m := map[string]any{}
		pairs, _ := r.pairs(at, "this")
		for _, p := range pairs {
			m[p.key] = r.any(Node{r.resolve(p.value), at.path})
		}
		return m
	}
	return text(at.node)
}

// List is a sequence of one to limit items.
func List[V any](what string, limit int, item Kind[V]) Kind[[]V] {
	return Kind[[]V]{
		Schema: Schema{"type": "array", "items": item.Schema, "minItems": 1, "maxItems": limit},
		Read: func(r *Reader, at Node) ([]V, bool) {
			sequence, ok := at.node.(*ast.SequenceNode)
			if !ok {
				r.FailAt(at, "%s must be a list of %s, found %s", at.label(), what, describe(at.node))
				return nil, false
			}
			if n := len(sequence.Values); n < 1 || n > limit {
				r.FailAt(at, "%s must have 1 to %d %s, found %d", at.label(), limit, what, n)
				return nil, false
			}
			var items []V
			for i, n := range sequence.Values {
				// An item that failed keeps its place, so that positions match
				// those in the file.
				v, _ := item.Read(r, r.child(at, "["+strconv.Itoa(i)+"]", n))
				items = append(items, v)
			}
			return items, true
		},
		Write: func(items []V, full bool) json.RawMessage {
			var b bytes.Buffer
			b.WriteByte('[')
			for i, v := range items {
				if i > 0 {
					b.WriteByte(',')
				}
				b.Write(item.Write(v, full))
			}
			b.WriteByte(']')
			return b.Bytes()
		},
	}
}

const (
	namePattern = "^[A-Za-z0-9][A-Za-z0-9_-]{0,39}$"
	nameRule    = "up to 40 letters, digits, - and _, the first a letter or a digit"
)

// IsName reports whether a word can be the name of something that a file defines.
var IsName = regexp.MustCompile(namePattern).MatchString

// Name is a name that a file gives to something, or by which it refers to it.
var Name = Verbatim("a valid name", Schema{"type": "string", "pattern": namePattern}, Rule(IsName, nameRule), Text)

// Named is a mapping from names to items, read into a slice in its order.
func Named[V any](what string, limit int, item Kind[V], name func(*V) *string) Kind[[]V] {
	return Kind[[]V]{
		Schema: Schema{
			"type": "object", "additionalProperties": item.Schema,
			"propertyNames": Schema{"pattern": namePattern}, "minProperties": 1, "maxProperties": limit,
		},
		Read: func(r *Reader, at Node) ([]V, bool) {
			pairs, ok := r.pairs(at, what)
			if !ok {
				return nil, false
			}
			if len(pairs) < 1 || len(pairs) > limit {
				r.FailAt(at, "%s must have 1 to %d entries, found %d", at.label(), limit, len(pairs))
				return nil, false
			}
			var items []V
			for _, p := range pairs {
				child := r.child(at, p.key, p.value)
				if !IsName(p.key) {
					r.FailAt(Node{p.keyNode, child.path}, "%s is not a valid name: %s", Quote(p.key), nameRule)
				}
				v, _ := item.Read(r, child)
				*name(&v) = p.key
				items = append(items, v)
			}
			return items, true
		},
		Write: func(items []V, full bool) json.RawMessage {
			var w objectWriter
			for _, v := range items {
				w.add(*name(&v), item.Write(v, full))
			}
			return w.bytes()
		},
	}
}

// Shorthand lets a plain word or number replace a mapping.
func Shorthand[V, S any](long Kind[V], short Kind[S], expand func(S) V) Kind[V] {
	return Kind[V]{
		Schema: Schema{"anyOf": []Schema{short.Schema, long.Schema}},
		Read: func(r *Reader, at Node) (V, bool) {
			if !isScalar(at.node) {
				return long.Read(r, at)
			}
			s, ok := short.Read(r, at)
			return expand(s), ok
		},
		Write: long.Write,
	}
}

// Form is how a plain value looks.
type Form = ast.NodeType

// The forms of plain values.
const (
	Text    Form = ast.StringType
	Block   Form = ast.LiteralType // of text, after | or >
	Integer Form = ast.IntegerType
	Float   Form = ast.FloatType
	Bool    Form = ast.BoolType
)

// Scalar is a plain value in one of those forms that parse accepts; parse gets it as it is in the file.
func Scalar[V any](want string, s Schema, parse func(string) (V, error), format func(V) any, forms ...Form) Kind[V] {
	return Kind[V]{
		Schema: s,
		Read: func(r *Reader, at Node) (v V, ok bool) {
			if !slices.Contains(forms, at.node.Type()) {
				r.FailAt(at, "%s must be %s, found %s", at.label(), want, describe(at.node))
				return v, false
			}
			v, err := parse(text(at.node))
			if err != nil {
				r.FailAt(at, "%s must be %s: %v", at.label(), want, err)
				return v, false
			}
			return v, true
		},
		Write: func(v V, _ bool) json.RawMessage { return Encode(format(v)) },
	}
}

// Verbatim is a Scalar that stays as it is in the file. check says what is wrong with it; nil: nothing ever is.
func Verbatim(want string, s Schema, check func(string) error, forms ...Form) Kind[string] {
	return Scalar(want, s, func(s string) (string, error) {
		if check != nil {
			if err := check(s); err != nil {
				return "", err
			}
		}
		return s, nil
	}, func(s string) any { return s }, forms...)
}

// Rule is a check for Verbatim; the error of a word that does not keep to the rule says what the rule is.
func Rule(keeps func(string) bool, rule string) func(string) error {
	return func(s string) error {
		if !keeps(s) {
			return fmt.Errorf("%s is not one: %s", Quote(s), rule)
		}
		return nil
	}
}

// OneOf is one of a few fixed words.
func OneOf(words ...string) Kind[string] {
	return Kind[string]{
		Schema: Schema{"type": "string", "enum": words},
		Read: func(r *Reader, at Node) (string, bool) {
			if at.node.Type() != ast.StringType {
				r.FailAt(at, "%s must be one of %s, found %s", at.label(), words, describe(at.node))
				return "", false
			}
			word := text(at.node)
			if !slices.Contains(words, word) {
				r.unknown(at, word, words, "%s must be one of %s, found %s", at.label(), words, Quote(word))
				return "", false
			}
			return word, true
		},
		Write: func(v string, _ bool) json.RawMessage { return Encode(v) },
	}
}

// Whole is a whole number from low to high.
func Whole[I int | int64 | uint64](low, high int64) Kind[I] {
	want := fmt.Sprintf("a whole number from %d to %d", low, high)
	parse := func(s string) (I, error) {
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil || n < low || n > high {
			return 0, fmt.Errorf("%s is not one", Shorten(s))
		}
		return I(n), nil
	}
	s := Schema{"type": "integer", "minimum": low, "maximum": high}
	return Scalar(want, s, parse, func(v I) any { return v }, ast.IntegerType)
}
