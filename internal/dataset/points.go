package dataset

import "iter"

// point is one observation within its series.
type point struct {
	block, guest, member, position int32
	value                          float64
}

// seriesList holds the points of each metric and arm, 24 bytes a value, in
// chunks, so that it grows without copying: a run may have many millions.
type seriesList struct {
	arms   int
	chunks [][][]point
}

const chunkLen = 1 << 12 // points

func newSeriesList(metrics, arms int) *seriesList {
	return &seriesList{arms, make([][][]point, metrics*arms)}
}

func (l *seriesList) add(metric, arm int, p point) {
	c := &l.chunks[metric*l.arms+arm]
	last := len(*c) - 1
	if last < 0 || len((*c)[last]) == chunkLen {
		room := chunkLen
		if last < 0 {
			room = 16 // most runs are small
		}
		*c = append(*c, make([]point, 0, room))
		last++
	}
	(*c)[last] = append((*c)[last], p)
}

// all yields the points series by series, as repeats or not.
func (l *seriesList) all(repeat bool) iter.Seq2[Observation, error] {
	return func(yield func(Observation, error) bool) {
		for i, chunks := range l.chunks {
			metric, arm := int32(i/l.arms), int32(i%l.arms)
			for _, chunk := range chunks {
				for _, p := range chunk {
					if !yield(Observation{Metric: metric, Arm: arm, Block: p.block, Guest: p.guest, Member: p.member,
						Position: p.position, Repeat: repeat, Value: p.value}, nil) {
						return
					}
				}
			}
		}
	}
}
