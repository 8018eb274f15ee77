package strict

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/tare-bench/tare/internal/fault"
)

// thing is a file of these tests.
type thing struct {
	Name  string
	Count int
	Words []string
	Any   any
}

var thingKind = Object("a thing", []Key[thing]{
	Required(Field("name", "Its name.", Name, func(t *thing) *string { return &t.Name })),
	FieldOr("count", "How many.", Whole[int](1, 9), func(t *thing) *int { return &t.Count }, 3),
	Field("words", "Words.", OrNull(List("words", 5, OneOf("one", "true", "25%", "a b", "7"))),
		func(t *thing) *[]string { return &t.Words }),
	Field("any", "Anything.", Any, func(t *thing) *any { return &t.Any }),
})

// TestRefusedItem: an item that its check refuses is an error, and its text is empty, so that nothing goes on with it.
func TestRefusedItem(t *testing.T) {
	kind := Object("names", []Key[[]string]{Field("names", "", List("names", 3, Name),
		func(l *[]string) *[]string { return l })})
	list, r, _ := Read("f.yaml", []byte("names: [good, not/good]\n"), kind)
	if err := r.Err(); err == nil || !strings.Contains(err.Error(), `"not/good" is not one: `+nameRule) {
		t.Errorf("%v", err)
	}
	if len(list) != 2 || list[0] != "good" || list[1] != "" {
		t.Errorf("%q", list)
	}
}

// TestHugeFile: files unlike any real one are refused in seconds, although parts of the
// YAML parser are quadratic. The bound leaves room for the race detector on a busy
// machine.
func TestHugeFile(t *testing.T) {
	if testing.Short() {
		t.Skip("reads megabytes")
	}
	for name, text := range map[string]string{
		"over the limit": strings.Repeat("# filler\n", maxFile/8),
		"many keys":      strings.Repeat("key: 1\n", maxFile/8),
		"fewer keys":     strings.Repeat("key: 1\n", maxTokens/3),
		"many entries":   "any:\n" + strings.Repeat("  a: {b: c}\n", maxFile/16),
		"many items":     "any:\n" + strings.Repeat("- {a: b}\n", maxTokens/9),
		"lists of lists": "any:\n" + bomb("[%s]"),
		"merges":         "any:\n" + bomb("{<<: [%s]}"),
		"dashes":         strings.Repeat(strings.Repeat("- ", 2000)+"\n", 100),
		"brackets":       strings.Repeat(strings.Repeat("[", 2000)+"\n", 100),
	} {
		t.Run(name, func(t *testing.T) {
			start := time.Now()
			_, r, _ := Read("huge.yaml", []byte(text), thingKind)
			err := r.Err()
			if fault.KindOf(err) != fault.Campaign {
				t.Fatalf("%v", err)
			}
			if d := time.Since(start); d > time.Minute {
				t.Errorf("took %v", d)
			}
			if len(err.Error()) > 100_000 {
				t.Errorf("a message of %d bytes", len(err.Error()))
			}
		})
	}
}

// bomb is lists of aliases of lists of aliases: few lines that stand for billions of values.
func bomb(format string) string {
	text := "  a0: &a0 {x: 1}\n"
	for i := range 12 {
		ten := strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d, ", i), 10), ", ")
		text += fmt.Sprintf("  a%d: &a%d "+format+"\n", i+1, i+1, ten)
	}
	return text
}

func TestProblems(t *testing.T) {
	for text, want := range map[string]string{
		"":                                 "f.yaml:1:1: the file is empty; it needs the keys name",
		"name: a\nwrods: [one]":            `f.yaml:2:1: unknown key "wrods" in a thing (did you mean "words"?)`,
		"count: 2":                         `f.yaml:1:1: a thing needs the key "name"`,
		"name: a\ncount: 10":               "f.yaml:2:8: count must be a whole number from 1 to 9",
		"name: a\nwords: [on]":             `f.yaml:2:9: words[0] must be one of`,
		"name: a\nname: b":                 `f.yaml:2:1: key "name" appears twice, first in line 1`,
		"name: a\nany: {b: 1, b: 2}":       `f.yaml:2:13: key "b" appears twice, first in line 2`,
		"name: a\n--- \nname: b":           "f.yaml:3:1: a second document",
		"name: !!str a":                    "f.yaml:1:7: tags are not allowed",
		"- 1":                              "f.yaml:1:1: a thing must be a mapping of keys to values, found a list",
		"name: a\nany: *b":                 "f.yaml:2:6: *b has no anchor &b above it",
		"name: " + strings.Repeat("[", 50): "nested more than 20 deep",
	} {
		_, r, _ := Read("f.yaml", []byte(text), thingKind)
		var all Errors
		err := r.Err()
		if !errors.As(err, &all) || fault.KindOf(err) != fault.Campaign || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// TestYAML: what is written is read again as it was, in full and without defaults.
func TestYAML(t *testing.T) {
	const text = "name: a\nwords: [one, \"true\", 25%, \"a b\", \"7\"]\n"
	in := thing{Name: "a", Count: 3, Words: []string{"one", "true", "25%", "a b", "7"}}
	if got := string(YAML(thingKind.Write(in, false))); got != text {
		t.Errorf("got\n%s\nwant\n%s", got, text)
	}
	if got := string(YAML(thingKind.Write(in, true))); !strings.Contains(got, "\ncount: 3\n") {
		t.Errorf("in full:\n%s", got)
	}
}
