package analyze

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tare-bench/tare/internal/agent"
	"github.com/tare-bench/tare/internal/campaign"
	"github.com/tare-bench/tare/internal/dataset"
	"github.com/tare-bench/tare/internal/model"
	"github.com/tare-bench/tare/internal/store"
)

// TestParity: what a run says of an arm whose guests are not like the others'
// becomes a finding.
func TestParity(t *testing.T) {
	const remote = `[{"name": "native", "capabilities": {"freeze": "cgroup freezer"}},
		{"name": "ssh", "capabilities": {"freeze": "", "remote": true, "own_userland": true}}]`
	for _, test := range []struct {
		systems string
		cpus    int
		memory  uint64
		want    string
	}{
		{remote, 4, 8 << 30, "ssh unequal-userland, ssh unequal-size, ssh not-frozen"},
		{remote, 1, 500 << 20, "ssh unequal-userland, ssh not-frozen"},
		{`[{"name": "ssh", "capabilities": {"freeze": "stop"}}]`, 4, 8 << 30, ""},
		{`[{"name": "ssh"}]`, 4, 8 << 30, ""},
		{`{}`, 4, 8 << 30, ""},
		{``, 4, 8 << 30, ""},
	} {
		docs := map[string][]byte{}
		if test.systems != "" {
			docs[store.DocSystems] = []byte(test.systems)
		}
		in := parityRun(t, docs, agent.Hello{CPUs: test.cpus, MemoryBytes: test.memory})
		res, err := Analyze(in)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, f := range res.Findings {
			if strings.HasPrefix(f.ID, "unequal-") || f.ID == "not-frozen" {
				got = append(got, fmt.Sprint(f.Arm, " ", f.ID))
			}
		}
		if s := strings.Join(got, ", "); s != test.want {
			t.Errorf("%s, %d CPUs: %s, not %s", test.systems, test.cpus, s, test.want)
		}
	}
}

func parityRun(t *testing.T, docs map[string][]byte, hello agent.Hello) dataset.Set {
	t.Helper()
	c, err := campaign.Parse("x.yaml", []byte("name: x\narms: [native, ssh]\nworkloads: [cpu]\n"), campaign.Known{})
	if err != nil {
		t.Fatal(err)
	}
	docs[store.DocCampaign] = c.Resolved()
	f := model.Flavor{Name: "default", VCPUs: 1, MemoryBytes: 512 << 20}
	r, err := store.Create(filepath.Join(t.TempDir(), "x.tare"), docs,
		[]store.Arm{{Name: "native", System: "native", Flavor: f}, {Name: "ssh", System: "ssh", Flavor: f}},
		[]store.Metric{{Workload: "cpu", Name: "time", Unit: "s", Better: "lower", Primary: true}})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	session, err := r.BeginSession("b", "1")
	if err == nil {
		_, err = r.AddGuest(session, 1, store.Guest{Hello: hello})
	}
	if err != nil {
		t.Fatal(err)
	}
	in, err := dataset.Read(r)
	if err != nil {
		t.Fatal(err)
	}
	return in
}

// TestConfinement: arms whose system calls pass different filters have a finding; native arms, and
// arms that differ only in their capabilities, have none.
func TestConfinement(t *testing.T) {
	filtered := &model.Confinement{SeccompFilters: 1, Capabilities: []string{"chown"}}
	labelled := &model.Confinement{SeccompFilters: 1, SecurityModule: "docker-default (enforce)"}
	open := &model.Confinement{NoNewPrivs: true}
	for _, test := range []struct {
		lxc, runc *model.Confinement
		want      string
	}{
		{filtered, open, "runc ran under no seccomp, but lxc under seccomp"},
		{open, filtered, "runc ran under seccomp, but lxc under no seccomp"},
		{filtered, labelled, "runc ran under seccomp, docker-default (enforce), but lxc under seccomp"},
		{filtered, &model.Confinement{SeccompFilters: 1, NoNewPrivs: true}, ""},
		{open, open, ""},
		{filtered, nil, ""}, // a kernel of its own, or an old run file
	} {
		res, err := Analyze(confinedRun(t, []*model.Confinement{open, test.lxc, test.runc}))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, f := range res.Findings {
			if f.ID == "unequal-confinement" {
				got = append(got, f.Arm+" "+f.Text)
			}
		}
		if s := strings.Join(got, "; "); s != test.want {
			t.Errorf("%v, %v: %q, not %q", test.lxc, test.runc, s, test.want)
		}
	}
}

// confinedRun is a run whose arms native, lxc and runc have one guest each, confined like this.
func confinedRun(t *testing.T, confined []*model.Confinement) dataset.Set {
	t.Helper()
	text := "name: x\narms: [native, lxc, runc]\nworkloads: [cpu]\n"
	c, err := campaign.Parse("x.yaml", []byte(text), campaign.Known{})
	if err != nil {
		t.Fatal(err)
	}
	f := model.Flavor{Name: "default", VCPUs: 1, MemoryBytes: 512 << 20}
	var arms []store.Arm
	for _, name := range []string{"native", "lxc", "runc"} {
		arms = append(arms, store.Arm{Name: name, System: name, Flavor: f})
	}
	docs := map[string][]byte{store.DocCampaign: c.Resolved()}
	r, err := store.Create(filepath.Join(t.TempDir(), "x.tare"), docs, arms,
		[]store.Metric{{Workload: "cpu", Name: "time", Unit: "s", Better: "lower", Primary: true}})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	session, err := r.BeginSession("b", "1")
	for i, c := range confined {
		if err == nil {
			_, err = r.AddGuest(session, i, store.Guest{Flavor: store.GuestFlavor{Flavor: f, Confinement: c}})
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	in, err := dataset.Read(r)
	if err != nil {
		t.Fatal(err)
	}
	return in
}
