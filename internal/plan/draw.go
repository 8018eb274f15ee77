package plan

import (
	"crypto/sha256"
	"encoding/binary"
	"math/rand/v2"
)

// draw is a stream of random numbers: one of each block.
//
// Its numbers must be the same in every version of tare and of Go. The stream
// of ChaCha8 is specified (C2SP chacha8rand); what math/rand/v2 makes of a
// source (IntN, Shuffle) is not, so that is done here.
type draw struct{ source *rand.ChaCha8 }

// newDraw makes the stream of one thing, such as number n of the blocks. Each
// has a key of its own, so that any can be drawn without those before it.
func newDraw(seed uint64, of string, n int) *draw {
	text := binary.BigEndian.AppendUint64([]byte(of), seed)
	text = binary.BigEndian.AppendUint64(text, uint64(n))
	return &draw{rand.NewChaCha8(sha256.Sum256(text))}
}

// below returns a number from 0 to n-1, every one equally likely.
func (d *draw) below(n int) int {
	// Numbers under 2^64 mod n are drawn again: of what is left, every
	// remainder has the same share.
	limit := -uint64(n) % uint64(n)
	for {
		if v := d.source.Uint64(); v >= limit {
			return int(v % uint64(n))
		}
	}
}

// shuffle puts items into random order (Fisher and Yates).
func shuffle[E any](d *draw, items []E) {
	for i := len(items) - 1; i > 0; i-- {
		j := d.below(i + 1)
		items[i], items[j] = items[j], items[i]
	}
}
