package analyze

import (
	"cmp"
	"errors"
	"math"
	"slices"

	"github.com/tare-bench/tare/internal/claim"
	"github.com/tare-bench/tare/internal/stats"
)

// What a slow trial is.
const (
	slowDeviations = 5    // standard deviations of the baseline above its own median
	slowLeast      = 1.25 // times the median, however little the baseline varies
	slowWindow     = 8    // trials at least that the median is of
	slowTwins      = 0.05 // below this p the baseline and its control differ, and nothing is claimed
)

// Tail compares how often, and how much, trials of an arm and of its baseline stall,
// which a comparison of typical trials does not show. A trial is slow if it is beyond
// Factor times the median of its own guest (or of several guests in a row, if they have
// few trials), on the costly side.
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
	// Size is the median slow trial over the median of its guest, inverted where
	// necessary so that above 1 costs more. Absent if no trial is slow.
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

// trials are what an arm did on one metric, for the question how often it stalls.
type trials struct {
	sorted []float64 // all values, the cheapest first
	off    []float64 // ln of each over the median of its window, above 0 costs more
}

// trialsOf reads the trials of one arm.
func (a *analysis) trialsOf(metric, arm int) trials {
	s, turn := a.metrics.at(metric, arm), a.turn(metric)
	t := trials{sorted: s.values()}
	slices.SortFunc(t.sorted, func(x, y float64) int { return cmp.Compare(turn*x, turn*y) })
	for _, w := range s.windows(slowWindow) {
		v := w.values()
		slices.Sort(v)
		median, _ := stats.QuantileSorted(v, 0.5) // v is not empty
		for _, p := range w {
			t.off = append(t.off, turn*(math.Log(p.value)-math.Log(median)))
		}
	}
	return t
}

// windows splits a series where another guest begins, but not so that a
// part has fewer than n points.
func (s series) windows(n int) (out []series) {
	from := 0
	for i := range s {
		if i > 0 && s[i].guest != s[i-1].guest && i-from >= n && len(s)-i >= n {
			out, from = append(out, s[from:i]), i
		}
	}
	if from < len(s) {
		out = append(out, s[from:])
	}
	return out
}

// slower counts the trials beyond a factor, and returns the median of them.
func (t trials) slower(factor float64) (n int, size float64) {
	var slow []float64
	for _, off := range t.off {
		if off > math.Log(factor) {
			slow = append(slow, off)
		}
	}
	if len(slow) == 0 {
		return 0, 0
	}
	median, _ := stats.Quantile(slow, 0.5) // they are finite
	return len(slow), stats.Interval{Estimate: median}.Exp().Estimate
}

// tails compares the trials of every arm with those of its baseline and control.
func (a *analysis) tails() ([]Tail, error) {
	out := []Tail{}
	var alike []bool // the baseline and its control are
	of := map[metricOf]trials{}
	read := func(metric int, arm string) trials {
		k := metricOf{metric, a.arms[arm]}
		if _, ok := of[k]; !ok {
			of[k] = a.trialsOf(k.metric, k.arm)
		}
		return of[k]
	}
	for _, c := range a.comparisons {
		if c.Control || c.class != FamilyPrimary || c.Family == FamilyEmulated || c.N == 0 || !a.in.Arms[c.arm].Uniform() {
			continue
		}
		arm, base, control := read(c.metric, c.Arm), read(c.metric, c.Baseline), trials{}
		if c.BaselineControl != "" {
			control = read(c.metric, c.BaselineControl)
		}
		tail, same, err := a.tail(c, arm, base, control)
		if err != nil {
			return nil, errorf("tails of %s on %s: %w", c.Arm, c.Workload, err)
		}
		out, alike = append(out, tail), append(alike, same)
	}
	if err := claim.Adjust(pointers(out), func(t *Tail) (p, to *float64) { return &t.P, &t.PHolm }); err != nil {
		return nil, err
	}
	for i := range out {
		t := &out[i]
		t.More = alike[i] && t.PHolm < findingAlpha && t.Difference > 0
	}
	return out, nil
}

// metricOf is one metric of one arm.
type metricOf struct{ metric, arm int }

// tail compares one arm; alike says that there is a control which stalls about
// as often as the baseline does.
func (a *analysis) tail(c *comparison, arm, base, control trials) (t Tail, alike bool, err error) {
	pooled := trials{slices.Concat(base.sorted, control.sorted), slices.Concat(base.off, control.off)}
	slices.Sort(pooled.sorted)
	if c.Better == "higher" {
		slices.Reverse(pooled.sorted)
	}
	t = Tail{Workload: c.Workload, Metric: c.Metric, Unit: c.Unit, Arm: c.Arm, Baseline: c.Baseline,
		Factor: slowFactor(pooled.off), N: len(arm.off), BaselineN: len(pooled.off)}
	t.Slow, t.Size = arm.slower(t.Factor)
	t.BaselineSlow, t.BaselineSize = pooled.slower(t.Factor)
	t.Share, t.BaselineShare = float64(t.Slow)/float64(t.N), float64(t.BaselineSlow)/float64(t.BaselineN)
	d, err := stats.ShareDifference(t.Slow, t.N, t.BaselineSlow, t.BaselineN, a.in.Alpha)
	if err != nil {
		return t, false, err
	}
	t.Difference, t.Low, t.High, t.P, t.PHolm = d.Estimate, d.Low, d.High, d.P, d.P
	if len(control.off) > 0 && len(base.off) > 0 {
		x, _ := base.slower(t.Factor)
		y, _ := control.slower(t.Factor)
		p, err := stats.FisherP(x, len(base.off), y, len(control.off))
		if err != nil {
			return t, false, err
		}
		alike = p >= slowTwins
	}
	for _, q := range []struct {
		of     []float64
		p      float64
		result **Percentile
	}{{arm.sorted, 0.95, &t.P95}, {arm.sorted, 0.99, &t.P99}, {pooled.sorted, 0.95, &t.BaselineP95},
		{pooled.sorted, 0.99, &t.BaselineP99}} {
		if *q.result, err = a.percentile(q.of, q.p); err != nil {
			return t, false, err
		}
	}
	return t, alike, nil
}

// percentile of values in the order of their cost; nil: there are too few.
func (a *analysis) percentile(sorted []float64, p float64) (*Percentile, error) {
	iv, err := stats.QuantileInterval(sorted, p, a.in.Alpha)
	if errors.Is(err, stats.ErrTooFew) {
		return nil, nil
	}
	return &Percentile{iv.Estimate, min(iv.Low, iv.High), max(iv.Low, iv.High)}, err
}

// slowFactor is beyond what a trial is slow: so far above its median that the
// baseline's noise does not come there, and a plain share in any case.
func slowFactor(off []float64) float64 {
	size := make([]float64, len(off))
	for i, v := range off {
		size[i] = math.Abs(v)
	}
	mad, err := stats.Quantile(size, 0.5)
	if err != nil {
		return slowLeast
	}
	factor := math.Exp(min(slowDeviations*1.4826*mad, 10))
	return max(slowLeast, math.Round(100*factor)/100)
}
