package campaign

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"

	"github.com/goccy/go-yaml/ast"
)

// schema is a JSON schema, or a part of one.
type schema map[string]any

// kind is one kind of value in a campaign file. Its schema, how it is read and how it
// is written in the canonical form are defined together, so that they cannot drift
// apart.
type kind[V any] struct {
	schema schema
	read   func(r *reader, at value) (V, bool) // false: a problem was reported
	write  func(v V) json.RawMessage
}

// key is one key of a mapping that is read into a T.
type key[T any] struct {
	name     string
	required bool
	schema   schema // with its description and its default
	preset   func(t *T)
	read     func(r *reader, at value, t *T)
	write    func(t *T) json.RawMessage // nil: left out
}

// field makes an optional key whose absence leaves the zero value.
func field[T, V any](name, about string, k kind[V], at func(*T) *V) key[T] {
	return key[T]{
		name:   name,
		schema: k.schema.with(schema{"description": about}),
		preset: func(*T) {},
		read: func(r *reader, v value, t *T) {
			if got, ok := k.read(r, v); ok {
				*at(t) = got
			}
		},
		write: func(t *T) json.RawMessage {
			if reflect.ValueOf(at(t)).Elem().IsZero() {
				return nil
			}
			return k.write(*at(t))
		},
	}
}

// fieldOr makes an optional key with a default.
func fieldOr[T, V any](name, about string, k kind[V], at func(*T) *V, preset V) key[T] {
	f := field(name, about, k, at)
	f.schema = f.schema.with(schema{"default": k.write(preset)})
	f.preset = func(t *T) { *at(t) = preset }
	f.write = func(t *T) json.RawMessage { return k.write(*at(t)) }
	return f
}

// need makes an optional key required.
func need[T any](f key[T]) key[T] {
	f.required = true
	return f
}

// with returns s with the members of more added.
func (s schema) with(more schema) schema {
	merged := make(schema, len(s)+len(more))
	for k, v := range s {
		merged[k] = v
	}
	for k, v := range more {
		merged[k] = v
	}
	return merged
}

// object is a mapping with these keys and no others.
func object[T any](what string, keys []key[T]) kind[T] {
	names := make([]string, len(keys))
	properties := schema{}
	required := []string{}
	for i, k := range keys {
		names[i] = k.name
		properties[k.name] = k.schema
		if k.required {
			required = append(required, k.name)
		}
	}
	s := schema{"type": "object", "properties": properties, "additionalProperties": false}
	if len(required) > 0 {
		s["required"] = required
	}
	return kind[T]{
		schema: s,
		read: func(r *reader, at value) (T, bool) {
			var t T
			for _, k := range keys {
				k.preset(&t)
			}
			pairs, ok := r.pairs(at, what)
			if !ok {
				return t, false
			}
			var there []string // the keys, misspelled ones corrected
			for _, p := range pairs {
				i := slices.Index(names, p.key)
				if i < 0 {
					r.unknown(value{p.keyNode, at.path}, p.key, names, "unknown key %s in %s", quote(p.key), what)
					there = append(there, near(p.key, names))
					continue
				}
				keys[i].read(r, r.child(at, p.key, p.value), &t)
				there = append(there, p.key)
			}
			for _, k := range keys {
				if k.required && !slices.Contains(there, k.name) {
					r.failAt(at, "%s needs the key %s", what, quote(k.name))
				}
			}
			return t, true
		},
		write: func(t T) json.RawMessage {
			var w objectWriter
			for _, k := range keys {
				w.add(k.name, k.write(&t))
			}
			return w.bytes()
		},
	}
}

// list is a sequence of one to limit items.
func list[V any](what string, limit int, item kind[V]) kind[[]V] {
	return kind[[]V]{
		schema: schema{"type": "array", "items": item.schema, "minItems": 1, "maxItems": limit},
		read: func(r *reader, at value) ([]V, bool) {
			sequence, ok := at.node.(*ast.SequenceNode)
			if !ok {
				r.failAt(at, "%s must be a list of %s, found %s", at.label(), what, describe(at.node))
				return nil, false
			}
			if n := len(sequence.Values); n < 1 || n > limit {
				r.failAt(at, "%s must have 1 to %d %s, found %d", at.label(), limit, what, n)
				return nil, false
			}
			var items []V
			for i, n := range sequence.Values {
				// An item that failed keeps its place, so that positions match
				// those in the file.
				v, _ := item.read(r, r.child(at, "["+strconv.Itoa(i)+"]", n))
				items = append(items, v)
			}
			return items, true
		},
		write: func(items []V) json.RawMessage {
			var b bytes.Buffer
			b.WriteByte('[')
			for i, v := range items {
				if i > 0 {
					b.WriteByte(',')
				}
				b.Write(item.write(v))
			}
			b.WriteByte(']')
			return b.Bytes()
		},
	}
}

// named is a mapping from names to items, read into a slice in its order.
func named[V any](what string, limit int, item kind[V], name func(*V) *string) kind[[]V] {
	return kind[[]V]{
		schema: schema{
			"type": "object", "additionalProperties": item.schema,
			"propertyNames": schema{"pattern": namePattern}, "minProperties": 1, "maxProperties": limit,
		},
		read: func(r *reader, at value) ([]V, bool) {
			pairs, ok := r.pairs(at, what)
			if !ok {
				return nil, false
			}
			if len(pairs) < 1 || len(pairs) > limit {
				r.failAt(at, "%s must have 1 to %d entries, found %d", at.label(), limit, len(pairs))
				return nil, false
			}
			var items []V
			for _, p := range pairs {
				child := r.child(at, p.key, p.value)
				if !isName(p.key) {
					r.failAt(value{p.keyNode, child.path}, "%s is not a valid name: %s", quote(p.key), nameRule)
				}
				v, _ := item.read(r, child)
				*name(&v) = p.key
				items = append(items, v)
			}
			return items, true
		},
		write: func(items []V) json.RawMessage {
			var w objectWriter
			for _, v := range items {
				w.add(*name(&v), item.write(v))
			}
			return w.bytes()
		},
	}
}

// shorthand lets a plain word or number replace a mapping.
func shorthand[V, S any](long kind[V], short kind[S], expand func(S) V) kind[V] {
	return kind[V]{
		schema: schema{"anyOf": []schema{short.schema, long.schema}},
		read: func(r *reader, at value) (V, bool) {
			if !isScalar(at.node) {
				return long.read(r, at)
			}
			s, ok := short.read(r, at)
			return expand(s), ok
		},
		write: long.write,
	}
}

// scalar is a plain value of one of the node types that parse accepts.
func scalar[V any](want string, s schema, parse func(string) (V, error), format func(V) any, types ...ast.NodeType) kind[V] {
	return kind[V]{
		schema: s,
		read: func(r *reader, at value) (v V, ok bool) {
			if !slices.Contains(types, at.node.Type()) {
				r.failAt(at, "%s must be %s, found %s", at.label(), want, describe(at.node))
				return v, false
			}
			v, err := parse(text(at.node))
			if err != nil {
				r.failAt(at, "%s must be %s: %v", at.label(), want, err)
				return v, false
			}
			return v, true
		},
		write: func(v V) json.RawMessage { return encode(format(v)) },
	}
}

// oneOf is one of a few fixed words.
func oneOf(words ...string) kind[string] {
	return kind[string]{
		schema: schema{"type": "string", "enum": words},
		read: func(r *reader, at value) (string, bool) {
			if at.node.Type() != ast.StringType {
				r.failAt(at, "%s must be one of %s, found %s", at.label(), words, describe(at.node))
				return "", false
			}
			word := text(at.node)
			if !slices.Contains(words, word) {
				r.unknown(at, word, words, "%s must be one of %s, found %s", at.label(), words, quote(word))
				return "", false
			}
			return word, true
		},
		write: func(v string) json.RawMessage { return encode(v) },
	}
}

// whole is a whole number from low to high.
func whole[I int | int64 | uint64](low, high int64) kind[I] {
	want := fmt.Sprintf("a whole number from %d to %d", low, high)
	parse := func(s string) (I, error) {
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil || n < low || n > high {
			return 0, fmt.Errorf("%s is not one", shorten(s))
		}
		return I(n), nil
	}
	s := schema{"type": "integer", "minimum": low, "maximum": high}
	return scalar(want, s, parse, func(v I) any { return v }, ast.IntegerType)
}

// objectWriter writes a JSON object whose members keep their order.
type objectWriter struct{ b bytes.Buffer }

func (w *objectWriter) add(name string, v json.RawMessage) {
	if v == nil {
		return
	}
	if w.b.Len() > 0 {
		w.b.WriteByte(',')
	}
	w.b.Write(encode(name))
	w.b.WriteByte(':')
	w.b.Write(v)
}

func (w *objectWriter) bytes() json.RawMessage {
	return slices.Concat([]byte("{"), w.b.Bytes(), []byte("}"))
}

// encode writes v as JSON and does not escape <, > and &.
func encode(v any) json.RawMessage {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err) // only words, numbers and booleans come here
	}
	return bytes.TrimRight(b.Bytes(), "\n")
}

// encodeIndent is encode for people.
func encodeIndent(v any) []byte {
	var b bytes.Buffer
	if err := json.Indent(&b, encode(v), "", "  "); err != nil {
		panic(err)
	}
	return b.Bytes()
}
