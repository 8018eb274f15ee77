package campaign

import "slices"

// checkMemory adds up the guests, which all exist at the same time: they are frozen
// while others are measured. Of those that release memory, one must fit; if more of
// them share it, that is oversubscription.
func (r *checker) checkMemory(c *Campaign, known Known) {
	if known.Host.Memory == 0 || !r.Sound("scenarios") || c.FillsMemory() {
		return
	}
	c.inEachBoot(func(arms []Arm) { r.checkSum(c, arms, known) })
}

// FillsMemory reports whether a scenario tests how many guests fit into the host's
// memory.
func (c *Campaign) FillsMemory() bool {
	return slices.ContainsFunc(c.Scenarios, func(s Scenario) bool { return s.MemoryLeft > 0 })
}

// checkMemoryLeft checks a memory limit.
func (r *checker) checkMemoryLeft(c *Campaign, s Scenario, path string, known Known) {
	at := path + ".memory_left"
	switch {
	case s.MemoryLeft == 0:
		return
	case !r.checkFits(s, at):
	case known.Host.Memory > 0 && s.MemoryLeft >= known.Host.Memory:
		r.Fail(at, "scenario %q: memory_left %s leaves nothing of the host's %s for guests", s.Name, s.MemoryLeft,
			known.Host.Memory)
	}
	for _, a := range c.Active() {
		if known.Systems[a.System].OwnMemory {
			r.Fail(at, "scenario %q: the memory of arm %q's guests is not part of this host's memory, so memory_left does not "+
				"apply; use slowdown", s.Name, a.Name)
		}
	}
}

// checkSum adds up the guests of arms that exist at the same time.
func (r *checker) checkSum(c *Campaign, arms []Arm, known Known) {
	var held, largest, awake Bytes
	for _, a := range arms {
		f, _ := c.Flavor(a.Flavor)
		if Bytes(f.MemoryBytes) > known.Host.Memory {
			return // already reported for its flavor
		}
		if known.Systems[a.System].OwnMemory {
			continue
		}
		if need := c.memory(a); known.Systems[a.System].ReleasesMemory {
			largest, awake = max(largest, Bytes(f.MemoryBytes)), max(awake, need)
		} else {
			held += need
		}
	}
	switch {
	case held+largest > known.Host.Memory:
		r.Fail("arms", "the guests of all arms and of the A/A control exist at the same time and need %s of memory; the "+
			"host has %s", held+largest, known.Host.Memory)
	case held+awake > known.Host.Memory:
		r.Warn("scenarios", "if all guests that run at once used all of their memory, %s, the host's %s would not suffice",
			held+awake, known.Host.Memory)
	}
}

// memory is what the guests of an arm need. Ends of pairs on the host are not
// counted: they are few, and hold nothing while they are idle.
func (c *Campaign) memory(a Arm) (most Bytes) {
	guests, _ := c.guests(a)
	for name, n := range guests {
		f, _ := c.Flavor(name)
		most += Bytes(int64(n) * f.MemoryBytes)
	}
	return most
}

// inEachBoot calls f with the arms whose guests exist at the same time, including the
// baseline's A/A control: all arms, or in a campaign with boots those of each boot.
func (c *Campaign) inEachBoot(f func([]Arm)) {
	boots := []string{""} // the current one
	if len(c.Boots) > 0 {
		boots = nil
	}
	for _, b := range c.Boots {
		boots = append(boots, b.Name)
	}
	for _, boot := range boots {
		arms := c.InBoot(boot)
		if base, ok := c.Arm(c.Baseline); ok && base.Boot == boot {
			arms = append(arms, base)
		}
		f(arms)
	}
}
