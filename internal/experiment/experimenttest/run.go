// Package experimenttest writes run files that tests begin with.
package experimenttest

import (
	"encoding/json"
	"testing"

	"github.com/tare-bench/tare/internal/campaign"
	"github.com/tare-bench/tare/internal/store"
	"github.com/tare-bench/tare/internal/workload/builtin"
)

// YAML is a campaign whose sizes are calibrated, but for one.
const YAML = `# sizes are calibrated, but for one
name: like
flavors:
  one: {vcpus: 1, memory: 256MiB, disk: 128MiB}
arms: [native, lxc, {system: kvm, if_usable: true}]
workloads: [sysbench-cpu, {name: openssl-enc, size: 40}]
trial_time: 100ms
blocks: 2
`

// Run writes a run of YAML in which kvm was left out, as a run file is before its
// first trial. image is the key of its userland, and
// known what the campaign is read with.
func Run(t *testing.T, path, image string, known campaign.Known) {
	t.Helper()
	kvm := known.Systems["kvm"]
	kvm.Usable, kvm.Why = false, "this CPU cannot"
	known.Systems["kvm"] = kvm
	c, err := campaign.Parse("like.yaml", []byte(YAML), known)
	if err != nil {
		t.Fatal(err)
	}
	c.Precision, c.Blocks = 2, campaign.Blocks{Min: 10, Max: 50} // as --precision did it
	userland, err := json.Marshal(map[string]string{"key": image})
	if err != nil {
		t.Fatal(err)
	}
	s, err := store.Create(path, map[string][]byte{store.DocCampaign: c.Resolved(), store.DocCampaignYAML: []byte(YAML),
		store.DocEnvironment: []byte(`{"version": 1}`), store.DocUserland: userland},
		[]store.Arm{{Name: "native", System: "native", Scenario: "solo"}},
		[]store.Metric{{Workload: "sysbench-cpu", Name: "time", Unit: "s", Better: "lower", Primary: true}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, size := range []store.Size{{Workload: "sysbench-cpu", Size: 400, Unit: unit(t, "sysbench-cpu")},
		{Workload: "openssl-enc", Size: 40, Unit: unit(t, "openssl-enc")}} {
		if err := s.AddSize(size.Workload, size.Size, size.Unit, nil); err != nil {
			t.Fatal(err)
		}
	}
}

func unit(t *testing.T, workloadName string) string {
	t.Helper()
	w, err := builtin.Get(workloadName)
	if err != nil {
		t.Fatal(err)
	}
	return w.SizeUnit
}
