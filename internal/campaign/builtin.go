package campaign

import (
	"embed"
	"strings"

	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/strict"
)

//go:embed builtin/*.yaml
var builtin embed.FS

// BuiltinNames returns the names of the built-in campaigns.
func BuiltinNames() []string {
	entries, err := builtin.ReadDir("builtin")
	if err != nil {
		panic(err) // embedded: it is there
	}
	names := make([]string, len(entries)) // ReadDir sorts
	for i, e := range entries {
		names[i] = strings.TrimSuffix(e.Name(), ".yaml")
	}
	return names
}

// Builtin returns the text of a built-in campaign.
func Builtin(name string) ([]byte, error) {
	text, err := builtin.ReadFile("builtin/" + name + ".yaml")
	if err != nil {
		hint := ""
		if word := strict.Near(name, BuiltinNames()); word != "" {
			hint = " (did you mean \"" + word + "\"?)"
		}
		return nil, fault.Campaignf("no built-in campaign %s%s; the built-in campaigns are: %s", strict.Quote(name), hint,
			strings.Join(BuiltinNames(), ", "))
	}
	return text, nil
}
