package model

// TrialID identifies a trial within a run.
type TrialID struct {
	Block    int // number of the workload's block, from 0
	Workload string
	Arm      string // name
	Duet     bool   // with other arms at once; its blocks are counted apart
}
