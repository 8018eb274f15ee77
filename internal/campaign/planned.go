package campaign

import (
	"cmp"
	"encoding/json"
	"fmt"

	"github.com/tare-bench/tare/internal/model"
)

// PlannedArm is an arm of the campaign, or the A/A control, in one scenario, with
// the guests that take part in its trials. A run stores its planned arms, so that
// later versions of tare read them as they were.
type PlannedArm struct {
	Name string `json:"name"` // "lxc", or "lxc@four" in a scenario other than solo
	// Of is the arm without its scenario. Arms with the same Of share guests.
	Of       string `json:"of"`
	Scenario string `json:"scenario"`
	// Baseline: the other arms of the scenario are compared with this one.
	Baseline bool `json:"baseline,omitempty"`
	// Control is the arm that this one is the A/A control of: it has separate guests that
	// are identical to the baseline's, so that any difference is noise. "": this arm is
	// no control.
	Control string `json:"control,omitempty"`
	// Alone is the arm with the same guests in a scenario without others at the
	// same time, for comparison; "": the campaign has none, or this arm itself
	// is alone.
	Alone string `json:"alone,omitempty"`
	// Guests take part in a trial: first those that run the workload, then as
	// many that serve them, if they are pairs, then the neighbours, and last the
	// host's ends that answer neighbours on the network.
	Guests []PlannedGuest `json:"guests"`

	// The rest is what the campaign says of the arm and the scenario.

	System string       `json:"-"`
	Flavor model.Flavor `json:"-"`
	// Target and Options are settings of the campaign for the system.
	Target  string          `json:"-"`
	Options []model.Setting `json:"-"`
	Boot    string          `json:"-"` // of the host; "" in a campaign without boots
	Away    End             `json:"-"` // the end of its pairs that is another machine
	// MemoryLeft is how much memory the host must have available with these
	// guests running and no others, in bytes; 0: no limit.
	MemoryLeft Bytes `json:"-"`
}

// PlannedGuest is a guest in the trials of an arm.
type PlannedGuest struct {
	model.GuestID
	Flavor model.Flavor `json:"-"`
	Role   model.Role   `json:"role,omitempty"`
}

// Planned expands the campaign: for each scenario, its arms that are not left out
// and then the A/A control, which is named after the baseline.
func (c *Campaign) Planned() []PlannedArm {
	var arms []PlannedArm
	for _, s := range c.Scenarios {
		var control PlannedArm
		for _, a := range c.Active() {
			if a.Target != "" && !s.Alone() {
				continue // there is only one such machine
			}
			arm := PlannedArm{
				Name: model.ArmName{Of: a.Name, Scenario: s.Name}.String(), Of: a.Name, Scenario: s.Name,
				Baseline: a.Name == c.Baseline,
				Alone:    c.alone(a.Name, s), Guests: c.guestsIn(a.Name, a.Flavor, s),
			}
			c.describe(&arm, a, s)
			arms = append(arms, arm)
			if arm.Baseline {
				control = arm
				control.Of = c.controlName()
				control.Name, control.Baseline, control.Control = model.ArmName{Of: control.Of, Scenario: s.Name}.String(), false,
					arm.Name
				control.Alone, control.Guests = c.alone(control.Of, s), c.guestsIn(control.Of, a.Flavor, s)
			}
		}
		if control.Name != "" { // empty only if the campaign is not from Parse
			arms = append(arms, control)
		}
	}
	return arms
}

// ReadPlanned reads planned arms as json.Marshal wrote them. It returns an error if
// they are not of this campaign.
func (c *Campaign) ReadPlanned(text []byte) ([]PlannedArm, error) {
	var arms []PlannedArm
	if err := json.Unmarshal(text, &arms); err != nil {
		return nil, err
	}
	scenarios := map[string]Scenario{}
	for _, s := range c.Scenarios {
		scenarios[s.Name] = s
	}
	for i := range arms {
		arm := &arms[i]
		s, ok := scenarios[arm.Scenario]
		if !ok {
			return nil, fmt.Errorf("arm %q: the campaign has no scenario %q", arm.Name, arm.Scenario)
		}
		of := arm.Of
		if arm.Control != "" {
			of = c.Baseline
		}
		a, ok := c.Arm(of)
		if !ok {
			return nil, fmt.Errorf("arm %q: the campaign has no arm %q", arm.Name, of)
		}
		c.describe(arm, a, s)
		if len(arm.Guests) == 0 {
			return nil, fmt.Errorf("arm %q has no guests", arm.Name)
		}
		for j := range arm.Guests {
			g := &arm.Guests[j]
			if g.Flavor, ok = c.flavorOf(g.GuestID); !ok {
				return nil, fmt.Errorf("arm %q: the campaign has no flavor %q", arm.Name, g.FlavorName)
			}
		}
	}
	return arms, nil
}

// describe fills in what the campaign says of an arm and its scenario.
func (c *Campaign) describe(arm *PlannedArm, a Arm, s Scenario) {
	arm.Flavor, _ = c.Flavor(a.Flavor)
	arm.Away = s.Away()
	arm.System, arm.Target, arm.Options, arm.Boot, arm.MemoryLeft = a.System, a.Target, a.Options, a.Boot, s.MemoryLeft
}

// alone is the name of the arm in which the guests of an arm run without others: in
// solo, or as the only pair; "" if the campaign has none.
func (c *Campaign) alone(arm string, s Scenario) string {
	for _, o := range c.Scenarios {
		if s.Paired() && !s.OnePair() && o.OnePair() && s.SameEnds(o) || !s.Paired() && !s.Alone() && o.Alone() {
			return model.ArmName{Of: arm, Scenario: o.Name}.String()
		}
	}
	return ""
}

// guestsIn lists the guests of an arm's trial in a scenario.
func (c *Campaign) guestsIn(arm, flavor string, s Scenario) []PlannedGuest {
	parts := s.Mix
	if len(parts) == 0 {
		parts = []Part{{Flavor: flavor, Guests: max(s.Guests, 1), Pairs: s.Pairs}}
	}
	slots := map[model.GuestID]int{} // taken, by what guests have in common
	guest := func(like model.GuestID, role model.Role) PlannedGuest {
		like.Of = arm
		f, _ := c.flavorOf(like)
		slot := slots[like]
		slots[like]++
		like.Slot = slot
		return PlannedGuest{like, f, role}
	}
	var all, serve []PlannedGuest
	for _, part := range parts {
		client := model.GuestID{FlavorName: part.Flavor}
		server := client
		switch {
		case part.Pairs == 0:
		case s.Client.Given():
			client.Partner, client.Host = true, s.Client.On == OnHost
			client.Machine = s.Away().On
		case s.Server.Given():
			server.Partner, server.Host = true, s.Server.On == OnHost
			server.Machine = s.Away().On
			server.FlavorName = cmp.Or(s.Server.Flavor, part.Flavor)
		}
		for range max(part.Guests, part.Pairs) {
			all = append(all, guest(client, model.Working))
		}
		for range part.Pairs {
			serve = append(serve, guest(server, model.Serving))
		}
	}
	all = append(all, serve...)
	for _, resource := range s.Neighbours {
		neighbour := model.GuestID{FlavorName: flavor, Neighbour: true, Apart: s.Apart}
		all = append(all, guest(neighbour, model.Stressing(resource)))
	}
	if f, _ := c.Flavor(flavor); f.OnBridge() {
		for range s.Talking() {
			end := model.GuestID{FlavorName: flavor, Neighbour: true, Partner: true, Host: true}
			all = append(all, guest(end, model.Answering))
		}
	}
	return all
}

// flavorOf returns the flavor of a guest. Processes of the host are on the bridge, in front of any NAT.
func (c *Campaign) flavorOf(g model.GuestID) (model.Flavor, bool) {
	f, ok := c.Flavor(g.FlavorName)
	if g.Host && f.Network != model.NetworkNone {
		f.Network = model.NetworkBridged
	}
	return f, ok
}

// controlName is <baseline>-control, with a number if an arm of the campaign has
// that name. Arms that are left out count, so that the control's name does not
// depend on which systems are usable.
func (c *Campaign) controlName() string {
	name := c.Baseline + "-control"
	for i := 2; ; i++ {
		if _, taken := c.Arm(name); !taken {
			return name
		}
		name = fmt.Sprintf("%s-control-%d", c.Baseline, i)
	}
}

// guests is how many guests of an arm exist at the same time, by flavor, over all
// scenarios, and how many are on the host as ends of pairs. Other machines do not count.
func (c *Campaign) guests(a Arm) (most, onHost map[string]int) {
	most, onHost = map[string]int{}, map[string]int{}
	seen := map[model.GuestID]bool{}
	for _, s := range c.Scenarios {
		for _, g := range c.guestsIn(a.Name, a.Flavor, s) {
			switch {
			case seen[g.GuestID], g.Machine != "":
			case g.Host:
				onHost[g.FlavorName]++
			default:
				most[g.FlavorName]++
			}
			seen[g.GuestID] = true
		}
	}
	return most, onHost
}
