package campaign

// checkMemory adds up the guests, which are all alive at once: frozen while
// others are measured. Of those that give back memory one must fit; that more
// of them share it is what oversubscription means.
func (r *reader) checkMemory(c *Campaign, known Known) {
	if known.Host.Memory == 0 || !r.sound("scenarios") {
		return
	}
	var boots []string
	for _, b := range c.Boots {
		boots = append(boots, b.Name)
	}
	if boots == nil {
		boots = []string{""} // as it is
	}
	for _, boot := range boots {
		arms := c.InBoot(boot)
		if base, ok := c.Arm(c.Baseline); ok && base.Boot == boot {
			arms = append(arms, base) // its A/A control
		}
		r.checkSum(c, arms, known)
	}
}

// checkSum adds up the guests of arms that are alive at once.
func (r *reader) checkSum(c *Campaign, arms []Arm, known Known) {
	var held, largest, awake Bytes
	for _, a := range arms {
		f, _ := c.Flavor(a.Flavor)
		if f.Memory > known.Host.Memory {
			return // already reported with its flavor
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

// memory is what the guests of an arm need: those of the largest scenario,
// since scenarios share them.
func (c *Campaign) memory(a Arm) (most Bytes) {
	own, _ := c.Flavor(a.Flavor)
	guests := map[string]int{} // the most, by flavor
	neighbours := 0
	for _, s := range c.Scenarios {
		neighbours = max(neighbours, len(s.Neighbours))
		for _, p := range s.Mix {
			guests[p.Flavor] = max(guests[p.Flavor], p.Guests)
		}
		if len(s.Mix) == 0 {
			guests[a.Flavor] = max(guests[a.Flavor], s.Guests, 1)
		}
	}
	for name, n := range guests {
		f, _ := c.Flavor(name)
		most += Bytes(n) * f.Memory
	}
	return most + Bytes(neighbours)*own.Memory
}
