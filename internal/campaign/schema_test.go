package campaign

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

// conforms validates v against the part of JSON schema that Schema uses; an unknown
// keyword is a failure.
func conforms(s map[string]any, v any, path string) error {
	for keyword, want := range s {
		ok := true
		switch keyword {
		case "$schema", "title", "description", "default", "properties", "required":
		case "const":
			ok = v == want
		case "enum":
			ok = slices.Contains(want.([]any), v)
		case "anyOf":
			ok = slices.ContainsFunc(want.([]any), func(one any) bool { return conforms(one.(map[string]any), v, path) == nil })
		case "type":
			types, many := want.([]any)
			if !many {
				types = []any{want}
			}
			ok = slices.Contains(types, any(typeOf(v))) || typeOf(v) == "integer" && slices.Contains(types, any("number"))
		case "pattern":
			text, is := v.(string)
			ok = !is || regexp.MustCompile(want.(string)).MatchString(text)
		case "minimum":
			n, is := v.(float64)
			ok = !is || n >= want.(float64)
		case "exclusiveMinimum":
			n, is := v.(float64)
			ok = !is || n > want.(float64)
		case "maxLength":
			text, is := v.(string)
			ok = !is || len(text) <= int(want.(float64))
		case "maximum":
			n, is := v.(float64)
			ok = !is || n <= want.(float64)
		case "minItems", "maxItems", "items":
			list, _ := v.([]any)
			switch keyword {
			case "minItems":
				ok = len(list) >= int(want.(float64))
			case "maxItems":
				ok = len(list) <= int(want.(float64))
			default:
				for i, item := range list {
					if err := conforms(want.(map[string]any), item, fmt.Sprintf("%s[%d]", path, i)); err != nil {
						return err
					}
				}
			}
		case "additionalProperties", "minProperties", "maxProperties", "propertyNames":
		default:
			return fmt.Errorf("%s: the test does not know the keyword %s", path, keyword)
		}
		if !ok {
			return fmt.Errorf("%s: %v is not as %s says: %v", path, v, keyword, want)
		}
	}
	object, is := v.(map[string]any)
	if _, closed := s["additionalProperties"]; !is || !closed {
		return nil
	}
	required, _ := s["required"].([]any)
	for _, key := range required {
		if _, ok := object[key.(string)]; !ok {
			return fmt.Errorf("%s: no %s", path, key)
		}
	}
	properties, _ := s["properties"].(map[string]any)
	for key, item := range object {
		sub, ok := properties[key].(map[string]any)
		if !ok {
			if sub, ok = s["additionalProperties"].(map[string]any); !ok {
				return fmt.Errorf("%s: unknown key %s", path, key)
			}
		}
		if names, ok := s["propertyNames"].(map[string]any); ok {
			if err := conforms(names, key, path); err != nil {
				return err
			}
		}
		if err := conforms(sub, item, path+"."+key); err != nil {
			return err
		}
	}
	return nil
}

func typeOf(v any) string {
	switch n := v.(type) {
	case string:
		return "string"
	case bool:
		return "boolean"
	case float64:
		if n == float64(int64(n)) {
			return "integer"
		}
		return "number"
	case []any:
		return "array"
	case map[string]any:
		return "object"
	}
	return "null"
}

// asJSON turns YAML, aliases and merges included, into what JSON decodes to.
func asJSON(t *testing.T, text []byte) any {
	t.Helper()
	text, err := yaml.YAMLToJSON(text)
	if err != nil {
		t.Fatal(err)
	}
	var v any
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func parsedSchema(t *testing.T) map[string]any {
	t.Helper()
	var s map[string]any
	if err := json.Unmarshal(Schema(), &s); err != nil {
		t.Fatal(err)
	}
	return s
}

func TestSchemaGolden(t *testing.T) {
	golden(t, "testdata/schema.json", Schema())
}

// TestSchemaAgrees: the schema accepts what the parser accepts, as a file and in the
// canonical form.
func TestSchemaAgrees(t *testing.T) {
	s := parsedSchema(t)
	texts := map[string][]byte{"full": []byte(full)}
	for _, name := range BuiltinNames() {
		text, err := Builtin(name)
		if err != nil {
			t.Fatal(err)
		}
		texts[name] = text
	}
	for name, text := range texts {
		if err := conforms(s, asJSON(t, text), "$"); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		c, err := Parse(name, text, lab())
		if err != nil {
			t.Fatal(err)
		}
		if err := conforms(s, asJSON(t, c.Resolved()), "$"); err != nil {
			t.Errorf("canonical form of %s: %v", name, err)
		}
	}
}

// TestSchemaRefuses: the schema, too, refuses whatever has the wrong form, independent
// of the host.
func TestSchemaRefuses(t *testing.T) {
	s := parsedSchema(t)
	const rest = "\nworkloads: [x]\n"
	for _, text := range []string{
		"arms: [native]" + rest,
		"name: a\narms: []" + rest,
		"name: a\narms: [native]\nnmae: b" + rest,
		"name: a b\narms: [native]" + rest,
		"name: a\narms: [{flavor: x}]" + rest,
		"name: a\narms: [native]\nflavors: {x: {memory: 512}}" + rest,
		"name: a\narms: [native]\nflavors: {x: {memory: 5MMB}}" + rest,
		"name: a\narms: [native]\nflavors: {x: {fs: zfs}}" + rest,
		"name: a\narms: [native]\nflavors: {x y: {}}" + rest,
		"name: a\narms: [native]\nprecision: 2" + rest,
		"name: a\narms: [native]\nbudget: 2" + rest,
		"name: a\narms: [native]\nblocks: {min: 2}" + rest,
		"name: a\narms: [native]\nblocks: 0" + rest,
		"name: a\narms: [native]\ncontrol: false" + rest,
		"name: a\narms: [native]\nscenarios: [duo]" + rest,
	} {
		if conforms(s, asJSON(t, []byte(text)), "$") == nil {
			t.Errorf("the schema accepts\n%s", text)
		}
		if _, err := Parse("a.yaml", []byte(text), Known{}); err == nil {
			t.Errorf("the parser accepts\n%s", text)
		}
	}
}

// TestEveryKeyIsDescribed also checks that the tables have no key twice.
func TestEveryKeyIsDescribed(t *testing.T) {
	var walk func(path string, s map[string]any)
	count := 0
	walk = func(path string, s map[string]any) {
		properties, _ := s["properties"].(map[string]any)
		for name, sub := range properties {
			count++
			about, _ := sub.(map[string]any)["description"].(string)
			if !strings.HasSuffix(about, ".") {
				t.Errorf("%s.%s is described as %q", path, name, about)
			}
			walk(path+"."+name, sub.(map[string]any))
		}
		for _, keyword := range []string{"items", "additionalProperties"} {
			if sub, ok := s[keyword].(map[string]any); ok {
				walk(path, sub)
			}
		}
		anyOf, _ := s["anyOf"].([]any)
		for _, sub := range anyOf {
			walk(path, sub.(map[string]any))
		}
	}
	walk("$", parsedSchema(t))
	want := len(campaignKeys) + len(flavorKeys) + len(armKeys) + len(workloadKeys) + len(fileKeys) + len(metricKeys) +
		len(overKeys) + len(imageKeys) + len(blocksKeys) + len(scenarioKeys) + len(partKeys) + 2*len(endKeys) +
		len(uplinkKeys) + len(bootKeys) + len(ioKeys) + len(netKeys) + len(politeKeys) + len(requestsKeys)
	if count != want {
		t.Errorf("the schema has %d keys, the tables %d", count, want)
	}
}

func TestBuiltin(t *testing.T) {
	if got := BuiltinNames(); !slices.Equal(got, []string{"quick", "sandboxes"}) {
		t.Errorf("names %v", got)
	}
	if _, err := Builtin("quikc"); err == nil || !strings.Contains(err.Error(), `did you mean "quick"`) {
		t.Errorf("%v", err)
	}
	text, err := Builtin("quick")
	if err != nil {
		t.Fatal(err)
	}
	known := lab()
	c, err := Parse("quick", text, known)
	if err != nil {
		t.Fatal(err)
	}
	if c.Baseline != "native" || len(c.Attacks) != 3 {
		t.Errorf("%+v", c)
	}
	// An emulated system is left out where another one has a kernel of its own.
	for _, own := range []string{"kvm", "gvisor", "uml", ""} { // one of them is usable
		for _, name := range []string{"kvm", "gvisor", "uml"} {
			known.Systems[name] = Limits{Usable: name == own, Why: "not installed", CPUCap: true, Pin: true, MaxVCPUs: 8}
		}
		if c, err = Parse("quick", text, known); err != nil {
			t.Fatal(err)
		}
		arm, ok := c.Arm("qemu-tcg")
		if !ok || (arm.Skip != "") != (own != "") || own != "" && arm.Skip != own+" takes part" {
			t.Errorf("with %q: qemu-tcg is left out because %q", own, arm.Skip)
		}
	}
	for name := range known.Systems { // with nothing but the host itself
		if name != NativeSystem {
			known.Systems[name] = Limits{Why: "not installed"}
		}
	}
	if c, err = Parse("quick", text, known); err != nil || len(c.Active()) != 1 {
		t.Errorf("%v, %+v", err, c)
	}
}
