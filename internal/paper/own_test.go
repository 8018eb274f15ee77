package paper

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tare-bench/tare/internal/campaign"
	"github.com/tare-bench/tare/internal/claim"
	"github.com/tare-bench/tare/internal/stats"
)

// stageOf returns the campaign of a stage as it would run.
func stageOf(t *testing.T, r *Repetition, name string) *campaign.Campaign {
	t.Helper()
	i := slices.IndexFunc(r.Stages, func(s Stage) bool { return s.Name == name })
	if i < 0 {
		t.Fatalf("no campaign %s", name)
	}
	c, err := campaign.Parse(name, r.Campaign(r.Stages[i], time.Minute), campaign.Known{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// armsOf writes the arms of a campaign with what sets them apart.
func armsOf(c *campaign.Campaign) string {
	var list []string
	for _, a := range c.Arms {
		f, _ := c.Flavor(a.Flavor)
		list = append(list, strings.TrimSpace(strings.Join([]string{a.Name, a.System,
			campaign.Bytes(f.MemoryBytes).String(), f.Backing, f.Network, f.CPUs.String(), a.Target}, " ")))
	}
	return textLines(list...)
}

func textLines(all ...string) string { return strings.Join(all, "\n") + "\n" }

// TestOwnGuests: a system of an article has what its author gave it, as far as the system and the machine permit, and
// the notes say the rest.
func TestOwnGuests(t *testing.T) {
	r := repeat(t, "latgrid", here("xen-pv", "xen-pvh"), RepeatOptions{})
	want := textLines("native native 3GiB loop none", "xen-domu-256 kvm 256MiB raw none",
		"xen-domu-512 kvm 512MiB raw none",
		"xen-domu-3g kvm 3GiB raw none")
	if got := armsOf(stageOf(t, r, "services")); got != want {
		t.Errorf("services:\n%s\nwant\n%s", got, want)
	}
	if got := armsOf(stageOf(t, r, "net")); !strings.Contains(got, "xen-domu-256 kvm 256MiB raw bridged") {
		t.Errorf("net:\n%s", got)
	}
	little := here("xen-pvh", "kvm")
	little.Memory = 4 << 30
	notes := strings.Join(repeat(t, "latgrid", little, RepeatOptions{}).Notes, "\n")
	for _, want := range []string{"xen-domu-3g is xen-pv with 1024 MiB of memory instead of 3072",
		"its disk is a loop device instead of a file, since xen-pv has no raw here"} {
		if !strings.Contains(notes, want) {
			t.Errorf("no %q in\n%s", want, notes)
		}
	}
	r = repeat(t, "platov", here(), RepeatOptions{})
	want = textLines("native native 256MiB loop bridged", "vmware-bridged kvm 192MiB loop bridged",
		"vmware-nat kvm 192MiB loop nat", "colinux-bridged uml 192MiB loop bridged", "colinux-nat uml 192MiB loop nat")
	if got := armsOf(stageOf(t, r, "net")); got != want {
		t.Errorf("net:\n%s\nwant\n%s", got, want)
	}
	if c := stageOf(t, r, "disk"); c.Flavors[0].DiskFS != "ext2" ||
		!strings.Contains(armsOf(c), "colinux-file uml 192MiB raw") {
		t.Errorf("disk:\n%s", armsOf(c))
	}
	all := here()
	all.Usable = func(string) string { return "" }
	r = repeat(t, "platov", all, RepeatOptions{Targets: map[string]string{"vmware-workstation": "/vms/a.vmx"}})
	if got := armsOf(stageOf(t, r, "cpu")); !strings.Contains(got, "vmware-part vmware-workstation") ||
		!strings.Contains(got, "/vms/a.vmx") {
		t.Errorf("with VMware:\n%s", got)
	}
	r = repeat(t, "yunweiku", here("xen-pv", "xen-pvh", "kvm"), RepeatOptions{})
	if got := armsOf(stageOf(t, r, "kernel")); !strings.Contains(got, "domU-nopin-8 lxc 256MiB loop none 0-7") ||
		!strings.Contains(got, "\nlxc lxc 256MiB loop none\n") {
		t.Errorf("pinned and not:\n%s", got)
	}
}

// TestPartner: another machine takes the part that the host would have.
func TestPartner(t *testing.T) {
	far := campaign.End{On: "ssh://root@far", Address: "10.9.0.2"}
	uplink := campaign.Uplink{Interface: "eth1"}
	if err := uplink.Address.UnmarshalText([]byte("10.9.0.100/24")); err != nil {
		t.Fatal(err)
	}
	r := repeat(t, "latgrid", here(), RepeatOptions{Systems: []string{"kvm"}, Partner: far, Uplink: uplink})
	c := stageOf(t, r, "web")
	if c.Uplink != uplink || !c.Scenarios[0].Client.Elsewhere() || c.Scenarios[0].Client.On != far.On {
		t.Errorf("%+v, %+v", c.Uplink, c.Scenarios)
	}
	if c := stageOf(t, r, "dd-1gb"); c.Uplink.Interface != "" {
		t.Errorf("dd needs no other machine: %+v", c.Uplink)
	}
}

// TestCappedTrials: guests with a quarter of a CPU are measured for much longer than a period of the cap.
func TestCappedTrials(t *testing.T) {
	r := repeat(t, "abclinuxu", here(), RepeatOptions{})
	for stage, want := range map[string]time.Duration{"solo": repeatTrial, "crowd": cappedTrial, "net": cappedTrial / 4} {
		if got := stageOf(t, r, stage).TrialTime; got != want {
			t.Errorf("%s: %v, not %v", stage, got, want)
		}
	}
}

// TestJudged: a claim with a bound holds if the whole interval is beyond it, and does not if the whole interval is on
// the other side.
func TestJudged(t *testing.T) {
	for _, c := range []struct {
		says      string
		by        float64
		low, high float64
		want      Holds
	}{
		{"gains", 0, 0.7, 0.9, HoldsHere}, {"gains", 0, 1.1, 1.2, HoldsNot}, {"gains", 0, 0.9, 1.1, CannotBeTold},
		{"gains", 2, 0.3, 0.4, HoldsHere}, {"gains", 2, 0.6, 0.7, HoldsNot}, {"gains", 2, 0.4, 0.6, CannotBeTold},
		{"costs", 1.25, 1.3, 1.5, HoldsHere}, {"costs", 1.25, 1.1, 1.2, HoldsNot}, {"costs", 1.25, 1.2, 1.3, CannotBeTold},
		{"none", 1, 0.995, 1.005, HoldsHere}, {"none", 1, 1.02, 1.03, HoldsNot}, {"none", 1, 0.95, 0.97, HoldsNot},
		{"none", 1, 0.98, 1.005, CannotBeTold}, {"none", 0, 0.985, 1.015, HoldsHere},
	} {
		got := measuredClaim{says: c.says, by: c.by}.judged(claim.Between(1, c.low, c.high), "lxc")
		if got.Holds != c.want || got.Holds != CannotBeTold && got.By != "lxc" {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

// TestCompare: two systems, workloads and metrics are compared by the guests' means.
func TestCompare(t *testing.T) {
	a, err := Get("platov")
	if err != nil {
		t.Fatal(err)
	}
	p := NewResults(repeat(t, "platov", here(), RepeatOptions{}))
	claims := func() map[string]Verdict {
		told := map[string]Verdict{}
		for _, c := range PageClaims(a, p) {
			told[c.Text[:7]+" "+c.Cell.System] = c.Verdict
		}
		return told
	}
	if got := claims()["bw_pipe colinux"]; got.Holds != CannotBeTold {
		t.Errorf("without values: %v", got)
	}
	put := func(series, arm string, logs ...float64) {
		k := Key{Stage: "cpu", Series: series, Metric: "bandwidth", System: arm, Scenario: "solo"}
		p.values[k], p.guests[k] = Stats{N: 8, Mean: stats.Mean(logs), Higher: true}, logs
		k.Metric = ""
		p.done[k] = true
	}
	put("pipe-copy", "colinux-part", 2, 2.01, 2.02)
	put("pipe-copy", "vmware-part", 1, 1.01, 1.02) // e times slower
	put("sysbench-memory-read[threads=1]", "native", 3, 3.0001, 2.9999)
	put("sysbench-memory-read[threads=50]", "native", 3.1, 3.1001, 3.0999)
	put("sysbench-memory-read[threads=1]", "colinux-part", 3)
	put("sysbench-memory-read[threads=50]", "colinux-part", 3)
	for what, want := range map[string]Holds{
		"bw_pipe colinux": HoldsHere, "bw_mem: native": HoldsNot, "bw_mem: colinux": CannotBeTold,
		"bw_mem: vmware_part": CannotBeTold,
	} {
		if got := claims()[what]; got.Holds != want {
			t.Errorf("%s: %v, not %s", what, got, want)
		}
	}
	if got := claims()["bw_mem: colinux"].Why; !strings.Contains(got, "two guests") {
		t.Errorf("one guest: %s", got)
	}
}
