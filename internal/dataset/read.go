// Package dataset reads a run for the analysis, and for comparisons of runs. It knows
// what was measured, not what may be claimed of it. A Set does not have the details of
// single trials, such as their order and output: pages and exports read those from the
// store.
package dataset

import (
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math"

	"github.com/tare-bench/tare/internal/campaign"
	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/histogram"
	"github.com/tare-bench/tare/internal/model"
	"github.com/tare-bench/tare/internal/store"
)

// CampaignOf reads the campaign of a run, with all defaults filled in.
func CampaignOf(r *store.Run) (*campaign.Campaign, error) {
	body, err := r.Document(store.DocCampaign)
	if err != nil {
		return nil, err
	}
	c, err := campaign.FromResolved(body)
	if err != nil {
		return nil, fault.Campaignf("%s is damaged: %w", r.Path(), err)
	}
	return c, nil
}

// ArmsOf reads which arms take part in a run of the campaign, as it was planned when the run
// began; for a run file of a version that did not store it, as it is planned today, which is the
// same (TestOlderArms).
func ArmsOf(r *store.Run, c *campaign.Campaign) ([]campaign.PlannedArm, error) {
	stored, err := r.HasDocument(store.DocArms)
	if err != nil {
		return nil, err
	}
	if !stored {
		return c.Planned(), nil
	}
	body, err := r.Document(store.DocArms)
	if err != nil {
		return nil, err
	}
	arms, err := c.ReadPlanned(body)
	if err != nil {
		return nil, fault.Campaignf("%s is damaged: %s: %w", r.Path(), store.DocArms, err)
	}
	return arms, nil
}

// maxSeries is how many series of values are analyzed, that is, arms times metrics and
// probes. Large campaigns have ten thousands. An analysis needs memory for each series,
// also for those without values, of which a small file may have any number.
const maxSeries = 1_000_000

// maxBlocks is how many blocks of a workload are analyzed: as many as a campaign may
// ask for.
const maxBlocks = 100_000

// Read reads a run into a Set: its arms, the values of all trials that are done, the
// failures, and the campaign's precision and delta. The store is not needed afterwards.
// Both series of observations can be read any number of times.
func Read(r *store.Run) (Set, error) {
	c, err := CampaignOf(r)
	if err != nil {
		return Set{}, err
	}
	in := Set{
		Baseline:  model.ArmName{Of: c.Baseline, Scenario: c.Scenarios[0].Name}.String(),
		Controls:  map[string]string{},
		Delta:     c.Delta.Fraction(),
		Precision: c.Precision.Fraction(),
		Boots:     len(c.Boots) > 0,
	}
	for _, w := range c.Workloads {
		if !w.Custom() && w.Settings()["cache"] == "cold" {
			in.Cold = append(in.Cold, w.Series())
		}
	}
	if c.Precision == 0 && c.Budget == 0 {
		in.Planned = c.Blocks.Max
	}
	arms, err := r.Arms()
	if err != nil {
		return Set{}, err
	}
	if in.Sizes, err = r.Sizes(); err != nil {
		return Set{}, err
	}
	metrics, err := r.Metrics()
	if err != nil {
		return Set{}, err
	}
	if n := len(arms) * len(metrics); n > maxSeries {
		return Set{}, fault.Campaignf("%s cannot be analyzed: it has %d arms with %d metrics and probes; "+
			"tare takes up to %d series of values", r.Path(), len(arms), len(metrics), maxSeries)
	}
	planned := map[string]campaign.PlannedArm{}
	who, err := ArmsOf(r, c)
	if err != nil {
		return Set{}, err
	}
	for _, a := range who {
		planned[a.Name] = a
	}
	in.addArms(c, arms, planned)
	if err := in.readParity(r, arms); err != nil {
		return Set{}, err
	}
	if err := in.readGuests(r, planned); err != nil {
		return Set{}, err
	}
	if err := in.readTrouble(r); err != nil {
		return Set{}, err
	}
	if err := in.readValues(r, metrics); err != nil {
		return Set{}, err
	}
	if err := in.readLatencies(r, metrics); err != nil {
		return Set{}, err
	}
	if _, err := in.Prepare(); err != nil { // here it is known which file that is
		return Set{}, fmt.Errorf("%s: %w", r.Path(), err)
	}
	return in, nil
}

// addArms adds the arms, in the order of the run file.
func (in *Set) addArms(c *campaign.Campaign, arms []store.Arm, planned map[string]campaign.PlannedArm) {
	for _, a := range arms {
		arm := Arm{
			Name: a.Name, System: a.System, Flavor: a.Flavor.Name, Scenario: a.Scenario,
			Emulated: a.Emulated, CapRatio: capRatio(a.Flavor), Size: a.Flavor,
		}
		if a.Scenario != "" && a.Scenario != c.Scenarios[0].Name {
			arm.Baseline = model.ArmName{Of: c.Baseline, Scenario: a.Scenario}.String()
		}
		arm.readGuestsOf(planned[a.Name])
		for _, sc := range c.Scenarios {
			if sc.Name == a.Scenario {
				arm.SlowdownLimit, arm.MemoryLimit = sc.Slowdown, float64(sc.MemoryLeft)
			}
		}
		in.Arms = append(in.Arms, arm)
		if a.ControlOf != "" {
			in.Controls[a.Name] = a.ControlOf
		}
	}
}

// readGuestsOf notes whose guests an arm's are, and which others take part in its trials.
func (a *Arm) readGuestsOf(p campaign.PlannedArm) {
	for i, g := range p.Guests {
		if resource, ok := g.Role.Stresses(); ok {
			if len(a.Neighbours) == 0 {
				a.FirstNeighbour = i
			}
			a.Neighbours = append(a.Neighbours, resource)
		}
		a.Paired = a.Paired || g.Role == model.Serving
		if g.Role != model.Working {
			continue
		}
		a.Members = append(a.Members, Member{g.Flavor.Name, g.Flavor.Share()})
	}
	if len(p.Guests) < 2 {
		a.Members = nil
	}
	a.Of, a.Alone = p.Of, p.Alone
}

// readGuests reads what was measured of the guests besides trials.
func (in *Set) readGuests(r *store.Run, planned map[string]campaign.PlannedArm) error {
	guests, err := r.Guests()
	if err != nil {
		return err
	}
	for _, g := range guests {
		arm, ok := planned[g.Arm]
		if !ok || arm.Control != "" || g.Flavor.System != "" {
			continue // also the host's end of a pair
		}
		guest := Guest{
			Arm: arm.Of, System: arm.System, Flavor: g.Flavor.Flavor, Start: float64(g.StartNS) / 1e9,
			Values: map[string]float64{},
		}
		for name, v := range g.Values {
			guest.Values[name] = v.Value
		}
		in.Guests = append(in.Guests, guest)
	}
	return nil
}

// readTrouble reads the failures and what happened to host and guests.
func (in *Set) readTrouble(r *store.Run) error {
	events, err := r.Events()
	if err != nil {
		return err
	}
	causes := map[int64]string{} // by attempt
	for _, e := range events {
		if e.Kind == store.EventWrongAnswer || e.Kind == store.EventContradiction || e.Kind == store.EventMemoryLimit {
			causes[e.Attempt] = e.Kind
			continue
		}
		if e.Kind == store.EventAttack {
			continue // see Attacks
		}
		in.Events = append(in.Events, Event{Kind: e.Kind, Text: e.Text, Workload: e.Workload, Arm: e.Arm})
	}
	if in.Attacks, err = r.Attacks(); err != nil {
		return err
	}
	failures, err := r.Failures()
	if err != nil {
		return err
	}
	for _, f := range failures { // the store calls only the guest's faults failures
		failure := Failure{Workload: f.Workload, Arm: f.Arm, Block: f.Block, Member: f.Member, Fault: fault.Guest,
			Text: f.Error, Cause: causes[f.Attempt]}
		if _, stresses := f.Role.Stresses(); stresses { // it is no side of a comparison
			in.NeighbourFailures = append(in.NeighbourFailures, failure)
		} else if f.Role == model.Working {
			in.Failures = append(in.Failures, failure)
		}
	}
	return nil
}

// capRatio is the CPU cap as a share of the vCPUs; 0: no cap.
func capRatio(f model.Flavor) float64 {
	if f.CPUCap <= 0 || f.VCPUs <= 0 {
		return 0
	}
	return f.CPUCap / float64(f.VCPUs)
}

// isPoint reports whether a metric is a point of a curve.
func isPoint(m store.Metric) bool {
	_, ok := model.ParsePoint(m.Name)
	return ok && !m.Probe && !m.Primary
}

// readValues reads metrics, points, probes and all their values. The store numbers
// them in one row, a Set each in a row of their own.
func (in *Set) readValues(r *store.Run, all []store.Metric) error {
	index, points := make([]int32, len(all)), make([]bool, len(all)) // by id in the store
	for id, m := range all {
		points[id] = isPoint(m)
		metric := Metric{Workload: m.Workload, Name: m.Name, Unit: m.Unit, Better: m.Better, Primary: m.Primary}
		switch {
		case m.Probe:
			index[id] = int32(len(in.Probes))
			in.Probes = append(in.Probes, Probe{Workload: m.Workload, Name: m.Name, Unit: m.Unit})
		case points[id]:
			index[id] = int32(len(in.Points))
			in.Points = append(in.Points, metric)
		default:
			index[id] = int32(len(in.Metrics))
			in.Metrics = append(in.Metrics, metric)
		}
	}
	curves := newSeriesList(len(in.Points), len(in.Arms))
	metrics, probes := newSeriesList(len(in.Metrics), len(in.Arms)), newSeriesList(len(in.Probes), len(in.Arms))
	repeats, duets := newSeriesList(len(in.Metrics), len(in.Arms)), newSeriesList(len(in.Probes), len(in.Arms))
	for o, err := range r.Observations() {
		if err != nil {
			return err
		}
		if err := in.possible(o, len(all)); err != nil {
			return fault.Campaignf("%s is damaged: %w", r.Path(), err)
		}
		// The guest itself, not its place in the plan: after a crash, and in a
		// resumed run, there is another one in the same place. Where the host is
		// booted anew for each generation of guests, values share the boot.
		guest := o.Guest
		if guest == 0 { // the trial created its guests itself
			guest = o.Block + 1
		}
		if in.Boots {
			guest = o.Generation
		}
		into := metrics
		switch {
		case o.Status == store.Duet:
			if all[o.Metric].Name == model.ProbeGuestGroupCPU {
				duets.add(int(index[o.Metric]), int(o.Arm), point{o.Block, guest, o.Member, o.Position, o.Value})
			}
			continue
		case (all[o.Metric].Probe || points[o.Metric]) && o.Status == store.Repeat:
			continue
		case all[o.Metric].Probe:
			into = probes
		case points[o.Metric]:
			into = curves
		case o.Status == store.Repeat:
			into = repeats
		}
		into.add(int(index[o.Metric]), int(o.Arm), point{o.Block, guest, o.Member, o.Position, o.Value})
	}
	in.ProbeObservations, in.Duets, in.PointObservations = probes.all(false), duets.all(false), curves.all(false)
	in.Observations = func(yield func(Observation, error) bool) {
		for _, some := range []iter.Seq2[Observation, error]{metrics.all(false), repeats.all(true)} {
			for o, err := range some {
				if !yield(o, err) {
					return
				}
			}
		}
	}
	return nil
}

// possible returns an error if a value cannot be one of this run, which has so many metrics and probes.
func (in *Set) possible(o store.Observation, metrics int) error {
	if o.Metric < 0 || int(o.Metric) >= metrics || o.Arm < 0 || int(o.Arm) >= len(in.Arms) {
		return fmt.Errorf("a value of metric %d and arm %d, which are not there", o.Metric, o.Arm)
	}
	if o.Block < 0 || o.Block >= maxBlocks || o.Member < 0 || math.IsNaN(o.Value) || math.IsInf(o.Value, 0) {
		return fmt.Errorf("a value %v of guest %d in block %d", o.Value, o.Member, o.Block)
	}
	return nil
}

// readLatencies reads the single latencies of all trials.
func (in *Set) readLatencies(r *store.Run, all []store.Metric) error {
	index := map[int32]int32{} // of metrics, by id in the store
	for id, m := range all {
		if !m.Probe && !isPoint(m) {
			index[int32(id)] = int32(len(index))
		}
	}
	for l, err := range r.Latencies() {
		if err != nil {
			return err
		}
		metric, known := index[l.Metric]
		if !known || l.Arm < 0 || int(l.Arm) >= len(in.Arms) || l.Block < 0 || l.Block >= maxBlocks || l.Member < 0 {
			return fault.Campaignf("%s is damaged: latencies of metric %d, arm %d, block %d and guest %d", r.Path(),
				l.Metric, l.Arm, l.Block, l.Member)
		}
		h, err := histogram.Decode(l.Encoded)
		if err != nil {
			return fault.Campaignf("%s is damaged: the latencies of arm %s in block %d: %w", r.Path(),
				in.Arms[l.Arm].Name, l.Block, err)
		}
		guest := l.Guest // as in readValues
		if in.Boots {
			guest = l.Generation
		}
		in.Latencies = append(in.Latencies, Latencies{metric, l.Arm, l.Block, guest, l.Member, h})
	}
	return nil
}

// readParity records for each arm what the run's systems and guests report.
func (in *Set) readParity(r *store.Run, arms []store.Arm) error {
	guests, err := r.Guests()
	if err != nil {
		return err
	}
	in.addConfinement(guests)
	in.addMachines(guests)
	systems, err := readSystems(r)
	if err != nil {
		return err
	}
	remote := map[string]model.Flavor{} // by arm
	for i := range in.Arms {
		for _, s := range systems {
			if s.Name != in.Arms[i].System || s.Capabilities == nil {
				continue
			}
			c := s.Capabilities
			p := &in.Arms[i].Parity
			p.OwnUserland, p.Unfrozen = c.OwnUserland, c.Freeze != nil && *c.Freeze == ""
			if c.Remote {
				remote[in.Arms[i].Name] = arms[i].Flavor
			}
		}
	}
	in.addSizes(guests, remote)
	return nil
}

// addConfinement records what confines the first guest of each arm of which that is known.
func (in *Set) addConfinement(guests []store.Guest) {
	for _, g := range guests {
		for i := range in.Arms {
			p := &in.Arms[i].Parity
			if in.Arms[i].Name == g.Arm && !g.Neighbour && g.Flavor.System == "" && p.Confinement == nil {
				p.Confinement = g.Flavor.Confinement
			}
		}
	}
}

// addMachines records what the guests of each arm say of their machine.
func (in *Set) addMachines(guests []store.Guest) {
	for _, g := range guests {
		for i := range in.Arms {
			m, h := &in.Arms[i].Machine, g.Hello
			if in.Arms[i].Name != g.Arm || g.Neighbour || g.Flavor.System != "" {
				continue
			}
			if m.Clocksource == "" {
				m.Clocksource = h.Clocksource
			}
			if m.CPUFlags == nil {
				m.CPUFlags = h.CPUFlags
			}
			if m.Mitigations == nil {
				m.Mitigations = h.Mitigations
			}
			if h.ClockReadNS > 0 && (m.ClockReadNS == 0 || h.ClockReadNS < m.ClockReadNS) {
				m.ClockReadNS = h.ClockReadNS
			}
		}
	}
}

// capabilities is what a run file says of a system.
type capabilities struct {
	Name         string
	Capabilities *struct {
		Remote      bool    `json:"remote"`
		OwnUserland bool    `json:"own_userland"`
		Freeze      *string `json:"freeze"` // always there, "" when it cannot
	}
}

// readSystems returns none for a run without this document, or with one of another form.
func readSystems(r *store.Run) (systems []capabilities, err error) {
	var form *json.UnmarshalTypeError
	if err := r.DecodeIfAny(store.DocSystems, &systems); errors.As(err, &form) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	return systems, nil
}

// addSizes records the size of guests on other people's machines, if it is not their flavor's.
func (in *Set) addSizes(guests []store.Guest, remote map[string]model.Flavor) {
	for _, g := range guests {
		f, ok := remote[g.Arm]
		cpus, memory := g.Hello.CPUs, float64(g.Hello.MemoryBytes)
		want := float64(f.MemoryBytes)
		if !ok || cpus == f.VCPUs && memory > 0.75*want && memory < 1.1*want {
			continue
		}
		for i := range in.Arms {
			if in.Arms[i].Name == g.Arm {
				in.Arms[i].Parity.Size = fmt.Sprintf("%d CPUs and %.4g MiB of memory, but the flavor says %d and %.4g MiB",
					cpus, memory/(1<<20), f.VCPUs, want/(1<<20))
			}
		}
	}
}
