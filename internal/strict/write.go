package strict

import (
	"bytes"
	"encoding/json"
	"fmt"
	"iter"
	"regexp"
	"slices"
	"strings"
)

// objectWriter writes a JSON object whose members keep their order.
type objectWriter struct{ b bytes.Buffer }

func (w *objectWriter) add(name string, v json.RawMessage) {
	if v == nil {
		return
	}
	if w.b.Len() > 0 {
		w.b.WriteByte(',')
	}
	w.b.Write(Encode(name))
	w.b.WriteByte(':')
	w.b.Write(v)
}

func (w *objectWriter) bytes() json.RawMessage {
	return slices.Concat([]byte("{"), w.b.Bytes(), []byte("}"))
}

// Encode writes v as JSON that is YAML as well: it does not escape <, > and &, but control characters that the readers
// of this package refuse, such as DEL.
func Encode(v any) json.RawMessage {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err) // only words, numbers and booleans come here
	}
	return Escaped(bytes.TrimRight(b.Bytes(), "\n"), forbidden)
}

// Escaped is JSON with escapes for these characters, which must occur in strings alone.
func Escaped(text []byte, which func(rune) bool) []byte {
	if bytes.IndexFunc(text, which) < 0 {
		return text
	}
	var escaped bytes.Buffer
	for _, r := range string(text) {
		if which(r) {
			fmt.Fprintf(&escaped, `\u%04x`, r)
		} else {
			escaped.WriteRune(r)
		}
	}
	return escaped.Bytes()
}

// EncodeIndent is Encode for people.
func EncodeIndent(v any) []byte {
	var b bytes.Buffer
	if err := json.Indent(&b, Encode(v), "", "  "); err != nil {
		panic(err)
	}
	return b.Bytes()
}

// YAML writes JSON as a YAML file for people: a line for each key, and for each mapping that is in it.
func YAML(object json.RawMessage) []byte {
	var b bytes.Buffer
	for key, value := range members(object) {
		b.WriteString(key + ":")
		switch items := slices.Collect(elements(value)); {
		case value[0] == '{' && bytes.Contains(value, []byte(":{")):
			b.WriteByte('\n')
			for key, value := range members(value) {
				b.WriteString("  " + key + ": " + flow(value) + "\n")
			}
		case len(items) > 0 && items[0][0] == '{':
			b.WriteByte('\n')
			for _, item := range items {
				b.WriteString("  - " + flow(item) + "\n")
			}
		default:
			b.WriteString(" " + flow(value) + "\n")
		}
	}
	return b.Bytes()
}

// flow writes JSON in one line of YAML.
func flow(value json.RawMessage) string {
	var parts []string
	switch value[0] {
	case '{':
		for key, value := range members(value) {
			parts = append(parts, key+": "+flow(value))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case '[':
		for item := range elements(value) {
			parts = append(parts, flow(item))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	}
	return plain(value)
}

// isPlain matches text that needs no quotes: words, and numbers with a unit.
var isPlain = regexp.MustCompile(`^([A-Za-z][A-Za-z0-9_-]*|[0-9]+(\.[0-9]+)?(%|[A-Za-z]+([0-9]+[a-z]+)*))$`).MatchString

// notText are words that YAML does not take for text.
var notText = []string{"true", "false", "null", "yes", "no", "on", "off", "y", "n"}

// plain writes a plain value, without quotes if it needs none.
func plain(value json.RawMessage) string {
	var s string
	if json.Unmarshal(value, &s) != nil || !isPlain(s) || slices.Contains(notText, strings.ToLower(s)) {
		return string(value)
	}
	return s
}

// members yields the keys and values of a JSON object in their order.
func members(object json.RawMessage) iter.Seq2[string, json.RawMessage] {
	return func(yield func(string, json.RawMessage) bool) {
		d := json.NewDecoder(bytes.NewReader(object))
		for d.Token(); d.More(); {
			key, _ := d.Token()
			var value json.RawMessage
			if d.Decode(&value) != nil || !yield(plain(Encode(key)), value) {
				return
			}
		}
	}
}

// elements yields the items of a JSON array; none if it is something else.
func elements(array json.RawMessage) iter.Seq[json.RawMessage] {
	var items []json.RawMessage
	_ = json.Unmarshal(array, &items) // something else has no items
	return slices.Values(items)
}
