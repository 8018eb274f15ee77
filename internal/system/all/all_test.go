package all

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/tare-bench/tare/internal/system"
)

// TestVerifiedOn: every driver says what it was verified on, and README's table
// of systems says the same.
func TestVerifiedOn(t *testing.T) {
	b, err := os.ReadFile("../../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(b), "## Systems")
	table, _, _ = strings.Cut(table, "\n## ")
	rows := strings.Split(table, "\n")
	for _, d := range Drivers() {
		on := d.Capabilities().VerifiedOn
		if !slices.Contains([]string{system.Live, system.Lab, system.Simulator, system.NeedsProduct}, on) {
			t.Errorf("%s was verified on %q", d.Name(), on)
		}
		if !slices.ContainsFunc(rows, func(row string) bool {
			columns := strings.Split(row, "|")
			return len(columns) > 5 && strings.Contains(columns[1], "`"+d.Name()+"`") &&
				strings.HasPrefix(strings.TrimSpace(columns[5]), on)
		}) {
			t.Errorf("README's table of systems has no row of %s, verified on: %s", d.Name(), on)
		}
	}
}

// TestSaveRefusal: exactly the drivers that can restore guests say how, and the others say why not.
func TestSaveRefusal(t *testing.T) {
	for _, d := range Drivers() {
		caps := d.Capabilities()
		_, restores := d.(system.Restorer)
		if restores != (caps.Save != "") || restores && caps.NoSave != "" {
			t.Errorf("%s: it is a Restorer: %v, but its capabilities say %q and %q", d.Name(), restores, caps.Save, caps.NoSave)
		}
		err := system.SaveRefusal(d)
		if restores != (err == nil) {
			t.Errorf("%s: %v", d.Name(), err)
		}
		want := map[string]string{"crun": "CRIU", "docker": "CRIU", "podman": "CRIU", "uml": "not implemented for uml",
			"libvirt-lxc": "LXC driver", "xen-pvh": "not implemented for xen-pvh"}[d.Name()]
		if want != "" && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", d.Name(), err)
		}
	}
}
