package tool

import (
	"github.com/tare-bench/tare/internal/fault"
)

var cpioBlocks = line(" block", `^(\d+) blocks?$`)

// readCpio reads the report of cpio, which --quiet suppresses; time adds the rest.
func readCpio(text string, r *Report) error {
	if err := r.refused(text); err != nil {
		return err
	}
	r.expect("archive blocks", "… blocks")
	switch m := cpioBlocks.all(text); len(m) {
	case 0:
	case 1:
		blocks := r.number(m[0][1])
		if blocks == 0 {
			return fault.Guestf("cpio archived nothing")
		}
		r.add("archive blocks", blocks, "512 B", "")
	default:
		return notOnce("cpio", "blocks", len(m))
	}
	return withTimes(r, text)
}
