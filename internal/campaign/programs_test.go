package campaign

import (
	"errors"
	"strings"
	"testing"

	"github.com/tare-bench/tare/internal/model"
)

// TestPrograms: a flavor chooses whose programs make its guests where the system can and the programs are there.
func TestPrograms(t *testing.T) {
	k := lab()
	for name, check := range map[string]func(string) error{
		"native": func(string) error { return nil },
		"lxc": func(from string) error {
			if from == model.ProgramsHost {
				return errors.New("this host has no lxc-start")
			}
			return nil
		},
	} {
		l := k.Systems[name]
		l.CheckPrograms = check
		k.Systems[name] = l
	}
	read := func(programs, system string) (*Campaign, error) {
		return Parse("c.yaml", []byte("name: c\nflavors:\n  f: {programs: "+programs+"}\narms: [native, "+system+
			"]\nworkloads: [openssl-enc]\n"), k)
	}
	c, err := read("tools", "lxc")
	if err != nil {
		t.Fatal(err)
	}
	if f, _ := c.Flavor("f"); f.Programs != model.ProgramsTools || !strings.Contains(strings.Join(Extras(f), "; "),
		"programs of the tools tree") {
		t.Errorf("the flavor is %+v, described as %q", f, Extras(f))
	}
	for _, c := range []struct{ programs, system, want string }{
		{"host", "lxc", `arm "lxc": this host has no lxc-start`},
		{"tools", "kvm", "whose programs make guests of kvm cannot be chosen"},
		{"mine", "lxc", "mine"},
	} {
		if _, err := read(c.programs, c.system); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("programs %s with %s: %v, want %q", c.programs, c.system, err, c.want)
		}
	}
}
