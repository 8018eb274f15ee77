package analyze

// Width is how far one workload is on the way to the precision asked for.
type Width struct {
	Workload string
	// Half is the largest half-width, on the logarithmic scale, over the primary
	// metrics of all arms that are neither emulated nor controls; 0: not known.
	Half float64
	// SD is the standard deviation of the units that Half comes from, from which
	// the blocks still to go can be foretold.
	SD     float64
	Blocks int // blocks of the workload that have run
	Units  int // independent units behind Half
	// Reached: the precision is reached, and no more blocks are needed.
	Reached bool
}
