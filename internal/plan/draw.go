package plan

import (
	"crypto/sha256"
	"encoding/binary"
	"math/rand/v2"
)

// draw is a stream of random numbers. Each block has its own.
//
// The numbers must be the same in every version of tare and of Go. The stream of
// ChaCha8 is specified (C2SP chacha8rand). How math/rand/v2 uses a source (IntN,
// Shuffle) is not, so draw has its own methods.
type draw struct{ source *rand.ChaCha8 }

// newDraw returns the stream for number n of a kind of thing, such as block n.
// Each stream has its own key, so none depends on those before it.
func newDraw(seed uint64, of string, n int) *draw {
	text := binary.BigEndian.AppendUint64([]byte(of), seed)
	text = binary.BigEndian.AppendUint64(text, uint64(n))
	return &draw{rand.NewChaCha8(sha256.Sum256(text))}
}

// below returns a number from 0 to n-1, every one equally likely.
func (d *draw) below(n int) int {
	// Reject numbers below 2^64 mod n: among the rest, every remainder is
	// equally frequent.
	limit := -uint64(n) % uint64(n)
	for {
		if v := d.source.Uint64(); v >= limit {
			return int(v % uint64(n))
		}
	}
}

// shuffle puts items into random order (Fisher–Yates).
func shuffle[E any](d *draw, items []E) {
	for i := len(items) - 1; i > 0; i-- {
		j := d.below(i + 1)
		items[i], items[j] = items[j], items[i]
	}
}
