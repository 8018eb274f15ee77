package campaign

import (
	"strings"
	"testing"
)

const named = `
name: named
boots:
  linux: {entry: Linux}
  xen: {entry: Xen}
  pinned: {of: xen, entry: "Xen, pinned"}
  old: {of: linux}
arms:
  - native
  - {name: dom0, system: xen-dom0}
  - {name: dom0-pinned, system: xen-dom0, boot: pinned}
  - {name: before, system: native, boot: old}
workloads: [openssl-enc]
blocks: 8
recreate_every: 2
`

// TestNamedBoots: boots may have names of their own; an arm without one is in the first of the kind that its system
// needs.
func TestNamedBoots(t *testing.T) {
	known := lab()
	known.Systems["xen-dom0"] = Limits{Usable: true, Boot: "xen"}
	c, err := Parse("named.yaml", []byte(named), known)
	if err != nil {
		t.Fatal(err)
	}
	checkResolved(t, c)
	for i, want := range []string{"linux", "xen", "pinned", "old"} {
		if got := c.Arms[i].Boot; got != want {
			t.Errorf("%s is in %s, not %s", c.Arms[i].Name, got, want)
		}
	}
	if b, _ := c.Boot("pinned"); b.Kind() != "xen" || b.Entry != "Xen, pinned" {
		t.Errorf("%+v", b)
	}
	for from, to := range map[string]string{
		"pinned: {of: xen, ":      "pinned: {",
		"linux: {entry":           "linux: {of: xen, entry",
		"boot: pinned}":           "boot: old}",
		"boot: old}":              "boot: older}",
		"  old: {of: linux}\n":    "  old: {of: linux}\n  more: {of: linux}\n",
		"xen: {entry: Xen}\n":     "xen: {of: xen, entry: Xen}\n  other: {of: windows}\n",
		"xen-dom0, boot: pinned}": "xen-dom0}",
	} {
		if _, err := Parse("named.yaml", []byte(strings.Replace(named, from, to, 1)), known); err == nil {
			t.Errorf("%s is accepted", to)
		}
	}
}
