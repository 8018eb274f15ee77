package analyze

// restoreMetrics are those of a workload that saves and restores its guests, by package workload's names.
var restoreMetrics = struct{ save, flushed, size, fresh, first, second string }{
	"save-time", "save-time-flushed", "saved-size", "fresh-time", "first-touch", "second-touch",
}

// Restored is how long it took to save the guests of an arm, and to use their memory for the first time after
// they were restored: medians of single guests, without an interval if there are too few.
type Restored struct {
	Save    Percentile `json:"save"`    // s until nothing of the saved guest ran any more
	Flushed Percentile `json:"flushed"` // s until its state was on the disk, too
	Size    Percentile `json:"size"`    // of that state, in bytes
	Fresh   Percentile `json:"fresh"`   // s that the same guests took to start
	First   Percentile `json:"first"`   // s of the program's first read of every page of its memory
	Second  Percentile `json:"second"`  // s of its second read
	// Ratios of medians, with an interval that follows from those of both at half of alpha each; absent
	// where one of them is.
	TimesFresh  *Percentile `json:"times_fresh,omitempty"`  // the restoration over the start
	TimesSecond *Percentile `json:"times_second,omitempty"` // the first read over the second
}

// restored describes an arm's saved guests; nil: the workload does not save its guests. times are those of its
// restorations.
func (a *analysis) restored(workload string, arm int, times series) (*Restored, error) {
	fresh := a.named(workload, restoreMetrics.fresh, arm)
	if len(fresh) == 0 {
		return nil, nil
	}
	r := &Restored{}
	var err error
	for _, of := range []struct {
		name string
		to   *Percentile
	}{{restoreMetrics.save, &r.Save}, {restoreMetrics.flushed, &r.Flushed}, {restoreMetrics.size, &r.Size},
		{restoreMetrics.fresh, &r.Fresh}, {restoreMetrics.first, &r.First}, {restoreMetrics.second, &r.Second}} {
		if *of.to, err = median(a.named(workload, of.name, arm), a.in.Alpha); err != nil {
			return nil, err
		}
	}
	if r.TimesFresh, err = quantileRatio(times, fresh, 0.5, a.in.Alpha); err != nil {
		return nil, err
	}
	first, second := a.named(workload, restoreMetrics.first, arm), a.named(workload, restoreMetrics.second, arm)
	r.TimesSecond, err = quantileRatio(first, second, 0.5, a.in.Alpha)
	return r, err
}
