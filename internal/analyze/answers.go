package analyze

// Answer is what a run says of one arm, over all its workloads, by their
// primary metrics in the first scenario.
type Answer struct {
	Arm      string `json:"arm"`
	System   string `json:"system"`
	Emulated bool   `json:"emulated,omitempty"`
	// Workloads is how many were compared, each in one of the four lists.
	Workloads int      `json:"workloads"`
	None      []string `json:"none"`  // workloads that cost nothing beyond ± delta
	Costs     []Claim  `json:"costs"` // the largest first
	Gains     []Claim  `json:"gains"` // the largest first
	Open      []Claim  `json:"open"`  // not resolved, the widest first
	// AtMostPercent is the largest size of a FartherPercent over None and Open:
	// whatever was not found is no larger. 0: both are empty, or no interval is.
	AtMostPercent float64 `json:"at_most_percent,omitzero"`
	Scope         Scope   `json:"scope,omitempty"` // these-guests if any of them is
}

// Claim is one comparison within an Answer: an overhead and its interval in
// percent, and Ratio as in Comparison.
type Claim struct {
	Workload string  `json:"workload"`
	Metric   string  `json:"metric"`
	Percent  float64 `json:"percent"`
	Low      float64 `json:"low_percent"`
	High     float64 `json:"high_percent"`
	Ratio    float64 `json:"ratio"`
}

// Ranking orders the arms of one scenario by one metric, the baseline among
// them and no controls, from the cheapest on.
type Ranking struct {
	Workload string  `json:"workload"`
	Metric   string  `json:"metric"`
	Scenario string  `json:"scenario,omitempty"`
	Places   []Place `json:"places"`
}

// Place holds arms that were not told apart.
type Place struct {
	Rank int      `json:"rank"` // from 1; after a place of two arms comes one more by two
	Arms []string `json:"arms"` // by their estimates
}
