package campaign

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

const planned = `
name: planned
flavors: {whole: {network: bridged}, quarter: {cpu_cap: 25%, network: bridged}}
arms: [native, {system: lxc, options: {template: debian}}]
workloads: [{name: x, command: [x], server: [y]}]
scenarios: [solo, {name: noisy, neighbours: [cpu, network]}, {name: out, pairs: 2, server: host},
  {name: both, mix: [{flavor: whole, pairs: 1}, {flavor: quarter, pairs: 2}]}]
`

// What a run stores of its planned arms is read as it was.
func TestReadPlanned(t *testing.T) {
	c, err := Parse("planned.yaml", []byte(strings.ReplaceAll(planned, ", options: {template: debian}", "")), Known{})
	if err != nil {
		t.Fatal(err)
	}
	want := c.Planned()
	text, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	got, err := c.ReadPlanned(text)
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v, read\n%+v, want\n%+v", err, got, want)
	}
	// It is what the run says, whatever this version of tare would plan.
	changed := strings.Replace(string(text), `"role":"cpu"`, `"role":"disk"`, 1)
	got, err = c.ReadPlanned([]byte(changed))
	if resource, ok := got[3].Guests[1].Role.Stresses(); err != nil || !ok || resource != "disk" {
		t.Errorf("%v: %+v", err, got[3])
	}
	for damage, says := range map[[2]string]string{
		{`[{"name"`, `{"name"`}:                                "invalid character",
		{`"scenario":"both"`, `"scenario":"other"`}:            `no scenario "other"`,
		{`"name":"lxc","of":"lxc"`, `"name":"lxc","of":"uml"`}: `no arm "uml"`,
		{`"flavor":"quarter"`, `"flavor":"half"`}:              `no flavor "half"`,
	} {
		broken := strings.Replace(string(text), damage[0], damage[1], 1)
		if _, err := c.ReadPlanned([]byte(broken)); broken == string(text) || err == nil ||
			!strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", damage[1], err)
		}
	}
}
