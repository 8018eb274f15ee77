package campaign

// checkMemory adds up the guests, which are all alive at once: frozen while
// others are measured. Of those that give back memory one must fit; that more
// of them share it is what oversubscription means.
func (r *reader) checkMemory(c *Campaign, known Known) {
	if known.Host.Memory == 0 || !r.sound("scenarios") {
		return
	}
	c.inEachBoot(func(arms []Arm) { r.checkSum(c, arms, known) })
}

// checkSum adds up the guests of arms that are alive at once.
func (r *reader) checkSum(c *Campaign, arms []Arm, known Known) {
	var held, largest, awake Bytes
	for _, a := range arms {
		f, _ := c.Flavor(a.Flavor)
		if f.Memory > known.Host.Memory {
			return // already reported with its flavor
		}
		if known.Systems[a.System].OwnMemory {
			continue
		}
		if need := c.memory(a); known.Systems[a.System].ReleasesMemory {
			largest, awake = max(largest, f.Memory), max(awake, need)
		} else {
			held += need
		}
	}
	switch {
	case held+largest > known.Host.Memory:
		r.fail("arms", "the guests of all arms and of the A/A control are alive at once and need %s of memory; the host has %s", held+largest, known.Host.Memory)
	case held+awake > known.Host.Memory:
		r.warn("scenarios", "if all guests that run at once used all of their memory, %s, the host's %s would not do", held+awake, known.Host.Memory)
	}
}

// memory is what the guests of an arm need.
func (c *Campaign) memory(a Arm) (most Bytes) {
	for name, n := range c.guests(a) {
		f, _ := c.Flavor(name)
		most += Bytes(n) * f.Memory
	}
	return most
}

// guests is how many of an arm are alive at once, by flavor: those of the
// largest scenario, since scenarios share them.
func (c *Campaign) guests(a Arm) map[string]int {
	most := map[string]int{}
	neighbours := 0
	for _, s := range c.Scenarios {
		neighbours = max(neighbours, len(s.Neighbours))
		for _, p := range s.Mix {
			most[p.Flavor] = max(most[p.Flavor], p.Guests)
		}
		if len(s.Mix) == 0 {
			most[a.Flavor] = max(most[a.Flavor], s.Guests, 2*s.Pairs, 1)
		}
	}
	most[a.Flavor] += neighbours
	return most
}

// inEachBoot calls f with the arms whose guests are alive at once, the
// baseline's A/A control among them: all, or in a campaign with boots those of one.
func (c *Campaign) inEachBoot(f func([]Arm)) {
	boots := []string{""} // as it is
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
