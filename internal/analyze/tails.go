package analyze

// Tail compares how often, and how much, trials of an arm and of its baseline
// stall. A trial is slow beyond Factor times the median of its own incarnation,
// on the costly side.
type Tail struct {
	Workload string  `json:"workload"`
	Metric   string  `json:"metric"`
	Unit     string  `json:"unit"`
	Arm      string  `json:"arm"`
	Baseline string  `json:"baseline"` // pooled with its control
	Factor   float64 `json:"factor"`

	N             int     `json:"n"`
	Slow          int     `json:"slow"`
	Share         float64 `json:"share"` // 0..1
	BaselineN     int     `json:"baseline_n"`
	BaselineSlow  int     `json:"baseline_slow"`
	BaselineShare float64 `json:"baseline_share"`
	// Difference is Share - BaselineShare, with its interval.
	Difference float64 `json:"difference"`
	Low        float64 `json:"low"`
	High       float64 `json:"high"`
	P          float64 `json:"p_value"`
	PHolm      float64 `json:"p_holm"`
	// More: claimed that the arm stalls more often than its baseline.
	More bool `json:"more"`
	// Size is the median slow trial over the median of its incarnation, turned so
	// that above 1 costs more. Absent where no trial is slow.
	Size         float64 `json:"size,omitzero"`
	BaselineSize float64 `json:"baseline_size,omitzero"`

	// On the costly side: of a metric of which more is better, P95 is what 95 %
	// of the trials reach. An order-statistic interval stands beside each;
	// absent where n is too small for it.
	P95         *Percentile `json:"p95,omitempty"`
	P99         *Percentile `json:"p99,omitempty"`
	BaselineP95 *Percentile `json:"baseline_p95,omitempty"`
	BaselineP99 *Percentile `json:"baseline_p99,omitempty"`
}

// Percentile is one of a series, in its unit.
type Percentile struct {
	Value float64 `json:"value"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
}
