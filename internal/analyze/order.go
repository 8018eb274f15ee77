package analyze

// Position is how much more the first counted trial of a group (a block and
// workload) costs than the later ones, whichever arm makes it.
type Position struct {
	Workload string  `json:"workload"`
	Metric   string  `json:"metric"`
	Percent  float64 `json:"percent"`
	Low      float64 `json:"low_percent"`
	High     float64 `json:"high_percent"`
	P        float64 `json:"p_value"`
	PHolm    float64 `json:"p_holm"`
}

// Thaw is how much more an arm's first trial after a thaw costs than one made
// right after it, without freezing in between.
type Thaw struct {
	Arm     string  `json:"arm"`
	System  string  `json:"system"`
	N       int     `json:"n"` // pairs of trials, of all workloads
	Percent float64 `json:"percent"`
	Low     float64 `json:"low_percent"`
	High    float64 `json:"high_percent"`
}
