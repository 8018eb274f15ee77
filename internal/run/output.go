package run

import "github.com/tare-bench/tare/internal/campaign"

// trialOutput is how much output, in bytes, the guests of one trial may make tare
// hold in total; each has an equal share. A campaign that keeps more of a single
// step gets that much for one guest. Tests change it.
var trialOutput int64 = 256 << 20

// leastOutput is how much of a stream is kept in any case.
const leastOutput = 64 << 10

// share is how much output one of n guests of a trial may make tare hold.
func share(n int, ofStep campaign.Bytes) int64 {
	return max(trialOutput, 2*int64(ofStep)) / int64(n)
}

// outputLimit is how much of each stream of the next command is kept: as much as
// the campaign allows, but not more than half of what is left of the guest's
// share, since there are two streams.
func (x *execution) outputLimit(ofStep campaign.Bytes) int64 {
	return max(min(int64(ofStep), x.room/2), leastOutput)
}

// held notes that this many bytes of output are held until the trial ends.
func (x *execution) held(bytes int64) { x.room -= bytes }
