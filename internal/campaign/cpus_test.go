package campaign

import (
	"strings"
	"testing"

	"github.com/tare-bench/tare/internal/model"
)

// TestChosenCPUs: cpus names CPUs by where they are, on a host with two sockets of two cores with two threads each. The
// resolved campaign lists them.
func TestChosenCPUs(t *testing.T) {
	smt := Host{CPUs: model.FirstCPUs(8), Cores: []model.CPUList{{0, 4}, {1, 5}, {2, 6}, {3, 7}},
		Sockets: []model.CPUList{{0, 1, 4, 5}, {2, 3, 6, 7}}}
	plain := Host{CPUs: model.FirstCPUs(2), Cores: []model.CPUList{{0}, {1}}, Sockets: []model.CPUList{{0, 1}}}
	for _, c := range []struct {
		host       Host
		flavor     string
		want, fail string
	}{
		{smt, "{vcpus: 2, cpus: siblings}", "3,7", ""},
		{smt, "{vcpus: 3, cpus: siblings}", "2-3,6-7", ""},
		{smt, "{vcpus: 2, cpus: cores}", "2-3", ""},
		{smt, "{vcpus: 1, cpus: socket 1}", "2-3,6-7", ""},
		{plain, "{vcpus: 2, cpus: cores}", "0-1", ""},
		{Host{}, "{vcpus: 2, cpus: siblings}", "", ""},
		{plain, "{cpus: siblings}", "", "each core of the host has one thread"},
		{smt, "{cpus: socket 2}", "", "the host has 2 sockets"},
		{smt, "{vcpus: 5, cpus: cores}", "", "4 such CPUs for 5 vcpus"},
		{smt, "{cpus: cores, cpuset: 1}", "", "remove one of them"},
		{smt, "{cpus: socket -1}", "", "siblings, cores"},
	} {
		text := "name: a\nflavors: {f: " + c.flavor + "}\narms: [native]\nworkloads: [x]\n"
		got, err := Parse("a.yaml", []byte(text), Known{Host: c.host})
		switch {
		case c.fail != "":
			if err == nil || !strings.Contains(err.Error(), c.fail) {
				t.Errorf("%s: %v", c.flavor, err)
			}
		case err != nil || got.Flavors[0].CPUs.String() != c.want:
			t.Errorf("%s: %+v, %v", c.flavor, got, err)
		case c.want != "" && !strings.Contains(string(got.Resolved()), `"cpuset":"`+c.want+`"`):
			t.Errorf("%s: %s", c.flavor, got.Resolved())
		}
	}
}
