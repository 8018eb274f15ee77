package campaign

import (
	"math/rand/v2"

	"github.com/tare-bench/tare/internal/strict"
)

// Parse reads a campaign file and checks it against what the caller knows. name is
// the name of the file in messages. The error is of the kind fault.Campaign and wraps
// strict.Errors: every problem in the file, with its place.
func Parse(name string, text []byte, known Known) (*Campaign, error) {
	c, r, ok := strict.Read(name, text, campaignKind)
	if ok {
		(&checker{r}).check(&c, known)
	}
	if err := r.Err(); err != nil {
		return nil, err
	}
	if !r.Has("seed") {
		c.Seed = uint64(rand.Uint32()) // short enough to type
		if known.NewSeed != nil {
			c.Seed = known.NewSeed() & maxSeed
		}
	}
	c.Warnings = r.Warnings()
	return &c, nil
}
