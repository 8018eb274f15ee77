package tool

import (
	"cmp"
	"encoding/json"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/tare-bench/tare/internal/fault"
)

// jsonAt returns where a JSON object begins at the start of a line, or -1.
func jsonAt(text string) int { return strings.Index("\n"+text, "\n{") }

// jsonObjects returns all JSON objects in the text that begin and end at the start of a line, and the text
// outside of them.
func jsonObjects(tool, text string) (objects []string, others string, err error) {
	for {
		at := jsonAt(text)
		if at < 0 {
			return objects, others + text, nil
		}
		others += text[:at]
		text = text[at:]
		var raw json.RawMessage
		decoder := json.NewDecoder(strings.NewReader(text))
		if err := decoder.Decode(&raw); err != nil {
			return nil, "", fault.Guestf("%s's JSON is damaged or cut off: %w", tool, err)
		}
		objects = append(objects, string(raw))
		text = text[decoder.InputOffset():]
	}
}

// jsonTree decodes JSON into maps, lists and numbers as they are written.
func jsonTree(text string) (map[string]any, error) {
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	var tree map[string]any
	if err := decoder.Decode(&tree); err != nil && err != io.EOF {
		return nil, err
	}
	return tree, nil
}

// addTree adds all numbers in a decoded JSON value. Their names are the keys that lead to them. unit returns
// the unit of a name, and false for numbers that are no figures.
func addTree(r *Report, name string, v any, unit func(name string) (string, bool)) error {
	switch v := v.(type) {
	case map[string]any:
		for _, key := range slices.SortedFunc(maps.Keys(v), inOrder) {
			if err := addTree(r, strings.TrimSpace(name+" "+quoteless(key)), v[key], unit); err != nil {
				return err
			}
		}
	case []any:
		for i, of := range v {
			if err := addTree(r, name+" "+strconv.Itoa(i+1), of, unit); err != nil {
				return err
			}
		}
	case json.Number:
		printed, ok := unit(name)
		if !ok {
			return nil
		}
		if strings.HasPrefix(v.String(), "-") { // such as a CPU's share of time that is rounded below 0
			return fault.Guestf("%s is %s", Quote(name), v)
		}
		f := r.number(v.String())
		r.add(name, f, printed, "")
	}
	return nil
}

// inOrder compares keys as numbers if both are some.
func inOrder(a, b string) int {
	x, errX := strconv.ParseFloat(a, 64)
	y, errY := strconv.ParseFloat(b, 64)
	if errX == nil && errY == nil && x != y {
		return cmp.Compare(x, y)
	}
	return strings.Compare(a, b)
}
