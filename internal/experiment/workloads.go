package experiment

import (
	"fmt"

	"github.com/tare-bench/tare/internal/campaign"
	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/image"
	"github.com/tare-bench/tare/internal/system"
	"github.com/tare-bench/tare/internal/workload"
	"github.com/tare-bench/tare/internal/workload/builtin"
)

// workloadOf is the workload of a campaign's entry, and the user's build that it
// runs; nil: none.
func workloadOf(cw campaign.Workload) (*workload.Workload, *image.OwnBuild, error) {
	return workloadAs(cw, nil)
}

// workloadAs is workloadOf for commands that run as a container image's program does; nil: they do not.
func workloadAs(cw campaign.Workload, as *workload.Process) (*workload.Workload, *image.OwnBuild, error) {
	var w *workload.Workload
	var err error
	if cw.Custom() {
		spec := specOf(cw)
		spec.As = as
		w, err = workload.Custom(spec)
	} else if w, err = builtin.Get(cw.Name); err == nil {
		w, err = w.With(cw.Series(), cw.Settings())
		if err == nil && as != nil {
			w = bare(w)
		}
	}
	if err != nil || cw.Build == "" {
		return w, nil, err
	}
	own, err := image.ReadOwnBuild(cw.Build)
	if err != nil {
		return nil, nil, fmt.Errorf("workload %s: %w", cw.Series(), err)
	}
	return w.Built(own.GuestPath()), &own, nil
}

// specOf translates what a campaign defines into the terms of package workload.
func specOf(cw campaign.Workload) workload.Spec {
	own := cw.Own
	s := workload.Spec{
		Name: cw.Series(), Params: cw.Settings(), Command: own.Command, Prepare: own.Prepare, Clean: own.Clean,
		Server: own.Server, Ready: own.Ready, Packages: own.Packages, Expect: own.Expect, Refuse: own.Refuse,
		SizeUnit: own.SizeUnit, MinSize: own.MinSize, MaxSize: own.MaxSize, DiskBytes: int64(own.Disk), Timeout: own.Timeout,
	}
	if q := workload.Requests(own.Requests); q.Port > 0 {
		s.Requests = &q
	}
	for _, f := range own.Files {
		s.Files = append(s.Files, workload.SpecFile(f))
	}
	for _, m := range own.Metrics {
		s.Metrics = append(s.Metrics, workload.SpecMetric{
			Metric: workload.Metric{Name: m.Name, Unit: m.Unit, Better: workload.Better(m.Better), Clock: workload.GuestClock,
				About: m.About},
			Regex: m.Regex, JSON: m.JSON, CSV: m.CSV, Which: m.Which, Scale: m.Scale,
			Over: workload.Curve{Parameter: m.Over.Name, In: m.Over.Unit, At: m.Over.Values},
		})
	}
	return s
}

// workloads returns those that a campaign uses, and checks that the image has
// their tools.
func (t *Testbed) workloads(c *campaign.Campaign) (map[string]*workload.Workload, error) {
	all := map[string]*workload.Workload{}
	as, err := processOf(t.Image)
	if err != nil {
		return nil, err
	}
	for _, cw := range c.Workloads {
		w, _, err := workloadAs(cw, as)
		if err != nil {
			return nil, err
		}
		if missing := t.Image.MissingTools(w.Programs); len(missing) > 0 {
			return nil, fault.WithRemedy(fault.Hostf("workload %s: the userland image has no %v", w.Name, missing),
				"remove %s and build it again: tare image %s", t.Image.Dir, w.Name)
		}
		all[w.Name] = w
	}
	return all, t.checkArms(c)
}

// checkArms refuses workloads that not all arms of a campaign can run. It needs no image.
func (t *Testbed) checkArms(c *campaign.Campaign) error {
	for _, cw := range c.Workloads {
		w, _, err := workloadOf(cw)
		if err != nil {
			return err
		}
		if w.Creates {
			err = checkCreates(c, cw)
		}
		if err == nil && c.Polite.Asked() && w.DropsHost() {
			err = fault.WithRemedy(fault.Campaignf("workload %s drops the caches of the whole host, which a polite run does "+
				"not do", cw.Series()), "leave it out, or measure without polite")
		}
		if err == nil && w.Fill != nil {
			err = t.checkFill(c, cw, w.Fill)
		}
		if err == nil && w.Restores {
			err = t.checkRestores(c, cw)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// checkRestores refuses arms whose guests cannot be saved.
func (t *Testbed) checkRestores(c *campaign.Campaign, cw campaign.Workload) error {
	for _, a := range c.Active() {
		if err := system.SaveRefusal(t.Drivers[a.System]); err != nil {
			return fault.WithRemedy(fmt.Errorf("workload %s: arm %s: %w", cw.Series(), a.Name, err),
				"leave the arm out, and name another baseline if it is native")
		}
	}
	return nil
}

// checkCreates refuses what a workload that creates its guests cannot have: machines of somebody else,
// and guests beside it that are there before.
func checkCreates(c *campaign.Campaign, cw campaign.Workload) error {
	for _, a := range c.Active() {
		if a.Target != "" {
			return fault.Campaignf("workload %s: tare does not create the machine of arm %s, so its start cannot be measured",
				cw.Series(), a.Name)
		}
	}
	for _, s := range c.Scenarios {
		if s.Runs(cw.Name) && (len(s.Neighbours) > 0 || s.Pairs > 0 || s.MemoryLeft > 0) {
			return fault.WithRemedy(fault.Campaignf("workload %s: scenario %s has neighbours, pairs or memory_left, "+
				"but this workload runs alone or as a number of guests at once", cw.Series(), s.Name),
				"leave it out there with workloads: [...]")
		}
	}
	return nil
}

// mostWindows is how often a fill may measure requests: tare keeps what the clients print until the fill ends.
const mostWindows = 100

// checkServing refuses a limit of the latency of requests to the guests that serve if it cannot be kept track of.
func checkServing(cw campaign.Workload, f *workload.Fill) error {
	switch steps := (f.Most + f.Step - 1) / f.Step; {
	case f.Level.Serving == 0:
		return nil
	case !f.Serves():
		return fault.WithRemedy(fault.Campaignf("workload %s: serving_p99 is a limit for the guests that serve, but "+
			"serving is 0", cw.Series()), "set serving to 1 or more, or leave serving_p99 out")
	case steps > mostWindows:
		return fault.WithRemedy(fault.Campaignf("workload %s: with serving_p99, a fill has at most %d steps, but %d "+
			"guests in steps of %d are %d", cw.Series(), mostWindows, f.Most, f.Step, steps),
			"set step to %d or more", (f.Most+mostWindows-1)/mostWindows)
	}
	return nil
}

// checkFill refuses what a workload that fills the host cannot have besides: several guests to begin with,
// and guests whose memory is not this host's, where the fill's limit of memory does not hold.
func (t *Testbed) checkFill(c *campaign.Campaign, cw campaign.Workload, f *workload.Fill) error {
	if err := checkServing(cw, f); err != nil {
		return err
	}
	known := t.Known(nil, campaign.Host{}).Systems
	for _, a := range c.Active() {
		if known[a.System].OwnMemory {
			return fault.Campaignf("workload %s: the memory of arm %s's guests is not part of this host's memory, so its fill "+
				"has no limit that protects the host", cw.Series(), a.Name)
		}
	}
	for _, s := range c.Scenarios {
		if s.Runs(cw.Name) && (s.Guests > 1 || len(s.Mix) > 0) {
			return fault.WithRemedy(fault.Campaignf("workload %s: scenario %s has several guests, but a fill decides "+
				"itself how many", cw.Series(), s.Name), "leave it out there with workloads: [...]")
		}
	}
	return nil
}
