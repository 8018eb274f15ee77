package campaign

import (
	"math/rand/v2"

	"github.com/goccy/go-yaml/ast"

	"github.com/tare-bench/tare/internal/fault"
)

// Parse reads a campaign file and checks it against what the caller knows. name is
// the name of the file in messages. The error is of the kind fault.Campaign and wraps
// Errors: every problem in the file, with its place.
func Parse(name string, text []byte, known Known) (*Campaign, error) {
	r := &reader{
		file:    name,
		where:   map[string]position{},
		anchors: map[*ast.AliasNode]ast.Node{},
	}
	var c Campaign
	if root := r.open(text); root != nil {
		if got, ok := campaignKind.read(r, value{root, ""}); ok {
			c = got
			r.check(&c, known)
		}
	}
	if len(r.problems) > 0 {
		return nil, &fault.Error{Kind: fault.Campaign, Err: Errors(tidy(r.problems))}
	}
	if !r.has("seed") {
		c.Seed = uint64(rand.Uint32()) // short enough to type
		if known.NewSeed != nil {
			c.Seed = known.NewSeed() & maxSeed
		}
	}
	c.Warnings = tidy(r.warnings)
	return &c, nil
}
