package stats

import "slices"

// Location returns the Hodges–Lehmann location of d, the median of the Walsh
// averages (d_i+d_j)/2, i ≤ j: the centre of the values, which up to 29 % of
// them can be far off without moving much [Hodges & Lehmann 1963]. It sorts d,
// which must hold one finite value at least, and takes n log n.
func Location(d []float64) float64 {
	switch n := len(d); n {
	case 1:
		return d[0]
	case 2:
		return d[0]/2 + d[1]/2
	}
	slices.Sort(d)
	n := len(d)
	total := n * (n + 1) / 2
	countLE := func(x float64) int { return walshLE(d, x) }
	mid := selectRank(countLE, d[0], d[n-1], (total+1)/2)
	if total%2 == 0 {
		mid = mid/2 + selectRank(countLE, mid, d[n-1], total/2+1)/2
	}
	return mid
}
