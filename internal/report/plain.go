package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

// Whatever tare prints may contain text from guests, files and campaigns. These make it
// harmless to what reads it: terminals, programs, spreadsheets.

// PlainJSON escapes what valid JSON may contain and a terminal would obey. The value
// stays the same, except that invalid UTF-8 is replaced.
func PlainJSON(text []byte) []byte {
	text = bytes.ToValidUTF8(text, []byte("�"))
	unseen := func(r rune) bool { return Unseen(r) && r != '\n' && r != '\t' }
	if bytes.IndexFunc(text, unseen) < 0 {
		return text
	}
	var b bytes.Buffer
	for _, r := range string(text) {
		if unseen(r) { // only strings have any
			fmt.Fprintf(&b, `\u%04x`, r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.Bytes()
}

// PrintJSON writes v as JSON, indented, for people and programs.
func PrintJSON(w io.Writer, v any) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return err
	}
	_, err := w.Write(PlainJSON(b.Bytes()))
	return err
}

// cell is a text as a cell of CSV. Spreadsheets would calculate one that begins like a
// formula.
func cell(text string) string {
	text = Visible(text)
	if strings.ContainsAny(text[:min(len(text), 1)], "=+-@\t") {
		return "'" + text
	}
	return text
}
