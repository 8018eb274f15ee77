package campaign

import (
	"maps"
	"testing"
)

const unequal = `
name: ends
flavors:
  whole: {network: bridged, memory: 256MiB}
  quarter: {cpu_cap: 25%, network: bridged, memory: 64MiB}
  big: {memory: 32MiB, network: bridged}
arms: [native, lxc]
workloads: [{name: mine, command: [x], server: [y]}]
scenarios:
  - {name: pair, pairs: 1}
  - {name: out, pairs: 1, server: host}
  - {name: in, pairs: 2, client: host}
  - {name: small, pairs: 3, server: {flavor: quarter}}
  - {name: held, pairs: 1, server: {on: host, flavor: big}}
  - {name: both, mix: [{flavor: whole, pairs: 1}, {flavor: quarter, pairs: 8}], neighbours: [cpu]}
`

// TestEnds: pairs may have different ends, and the canonical form has them.
func TestEnds(t *testing.T) {
	c, err := Parse("ends.yaml", []byte(unequal), lab())
	if err != nil {
		t.Fatal(err)
	}
	checkResolved(t, c)
	texts := map[string]string{
		"pair":  "1 pair",
		"out":   "1 pair; the host serves",
		"in":    "2 pairs at once; the host runs the workload against the guest",
		"small": "3 pairs at once; a guest of quarter serves",
		"held":  "1 pair; the host serves, limited as big",
		"both":  "1 pair of whole and 8 pairs of quarter at once; neighbours: cpu",
	}
	for _, s := range c.Scenarios {
		if s.Text() != texts[s.Name] || !s.Paired() || s.Alone() || s.OnePair() != (s.Pairs == 1) {
			t.Errorf("%q: %q", s.Name, s.Text())
		}
	}
	if !c.Scenarios[0].SameEnds(c.Scenarios[5]) || c.Scenarios[0].SameEnds(c.Scenarios[1]) ||
		c.Scenarios[1].SameEnds(c.Scenarios[2]) {
		t.Error("which pairs are alike")
	}
	// Three clients of small, or the pair of both, and a neighbour; eight pairs
	// of both, and the servers of small.
	guests, onHost := c.guests(c.Arms[1])
	if want := map[string]int{"whole": 3 + 1, "quarter": 16 + 3}; !maps.Equal(guests, want) {
		t.Errorf("%v, want %v", guests, want)
	}
	if want := map[string]int{"whole": 2, "big": 1}; !maps.Equal(onHost, want) {
		t.Errorf("on the host %v, want %v", onHost, want)
	}
	for text, s := range map[string]Scenario{
		"1 guest; neighbours: disk": {Neighbours: []string{"disk"}}, "4 guests at once": {Guests: 4},
		"2 guests of a and 1 guest of b at once": {Mix: []Part{{Flavor: "a", Guests: 2}, {Flavor: "b", Guests: 1}}},
	} {
		if s.Text() != text {
			t.Errorf("%q, want %q", s.Text(), text)
		}
	}
}
