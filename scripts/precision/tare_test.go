package main

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tare-bench/tare/internal/campaign"
)

func canned(t *testing.T) *export {
	t.Helper()
	text, err := os.ReadFile("testdata/export.json")
	if err != nil {
		t.Fatal(err)
	}
	e, err := parseExport(text)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestExport(t *testing.T) {
	e := canned(t)
	if got := e.argv()["openssl-enc"]; !slices.Equal(got, []string{"bash", "-c", `echo "$1"`, "openssl-enc", "45"}) {
		t.Errorf("timed command %q", got)
	}
	r := Run{Arms: e.Arms}
	if m := median(r.arm("lxc", "openssl-enc"), "time"); m != 0.104 {
		t.Errorf("median time %v", m)
	}
	if m := median(r.arm("lxc", "openssl-enc"), "guest_cgroup_cpu"); m != 0.097 {
		t.Errorf("median CPU time %v", m)
	}
	if m := median(r.arm("kvm", "openssl-enc"), "time"); m != 0 {
		t.Errorf("median of no arm %v", m)
	}
	var counted, differing, excluding []string
	for _, c := range e.Comparisons {
		if !counts(c) {
			continue
		}
		counted = append(counted, c.Metric)
		if claimed(c) {
			differing = append(differing, c.Metric)
		}
		if excludes(c) {
			excluding = append(excluding, c.Metric)
		}
	}
	if strings.Join(counted, " ") != "time cpu-time" || strings.Join(differing, " ") != "time" ||
		strings.Join(excluding, " ") != "time" {
		t.Errorf("counted %q, claimed %q, without 0 %q", counted, differing, excluding)
	}
	for _, good := range []string{`{"tare_export":3,"run":{"complete":true},"comparisons":[{"incarnations":4}]}`,
		`{"tare_export":4,"run":{"complete":true},"comparisons":[{"distinct_guests":4}]}`} {
		if e, err := parseExport([]byte(good)); err != nil || len(e.Comparisons) != 1 {
			t.Errorf("%s: %+v, %v", good, e, err)
		}
	}
	for _, bad := range []string{"", "{}", `{"tare_export":2,"run":{"complete":true}}`,
		`{"tare_export":5,"run":{"complete":true}}`,
		`{"tare_export":3,"run":{"complete":false,"incomplete":"interrupted"}}`} {
		if _, err := parseExport([]byte(bad)); err == nil {
			t.Errorf("accepted: %q", bad)
		}
	}
}

func TestHostLine(t *testing.T) {
	for shown, want := range map[string]string{
		"tare · x\nhost      A CPU, 2 CPUs\n\nopenssl-enc: time\n":                         "A CPU, 2 CPUs",
		"tare · x\nhost      A CPU,\n          2 CPUs\nleft out  kvm: none\n\nhost  later": "A CPU, 2 CPUs",
		"nothing\n": "",
	} {
		if got := hostLine(shown); got != want {
			t.Errorf("%q in %q", got, shown)
		}
	}
}

func TestShellWords(t *testing.T) {
	words := []string{"bash", "-c", "set -e\ndd | openssl 'x' >/dev/null", "", "a b", `\'"$HOME`, "x=1"}
	out, err := exec.Command("sh", "-c", `for w in `+shellWords(words)+`; do printf '%s\0' "$w"; done`).Output()
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00"); !slices.Equal(got, words) {
		t.Errorf("a shell reads %q", got)
	}
}

// TestCampaigns: tare accepts the generated campaigns.
func TestCampaigns(t *testing.T) {
	for name, text := range map[string]string{
		"aa":    aaCampaign("lxc", 1, 3, []workload{{"openssl-enc", 45}, {"sysbench-cpu", 0}}, 15*time.Second),
		"power": powerCampaign(cell{5, 30 * time.Second}, 1),
		"duets": (&session{part: duets}).share(powerCampaign(cell{0.25, 30 * time.Second}, 1)),
	} {
		c, err := campaign.Parse(name, []byte(text), campaign.Known{})
		if err != nil {
			t.Errorf("%s: %v\n%s", name, err, text)
			continue
		}
		switch name {
		case "aa":
			if len(c.Arms) != 4 || c.Baseline != "first" || c.Workloads[0].Size != 45 || c.Budget != 15*time.Second {
				t.Errorf("%+v", c)
			}
		case "duets":
			if c.Duets != 80 || !strings.Contains(text, "47303965") {
				t.Errorf("duets have %v:\n%s", c.Duets, text)
			}
		case "power":
			less, _ := c.Flavor("less")
			more, _ := c.Flavor("more")
			const boundary = 400000000 // in the script
			if !c.AllowUnequal || less.DiskBytes >= boundary || more.DiskBytes <= boundary {
				t.Errorf("the script cannot tell %v from %v", less.DiskBytes, more.DiskBytes)
			}
			more.DiskBytes, more.Name = less.DiskBytes, less.Name
			if !strings.Contains(text, "47186000") || !strings.Contains(text, "49545300") ||
				more.MemoryBytes != less.MemoryBytes || more.VCPUs != less.VCPUs {
				t.Errorf("work and sizes:\n%s", text)
			}
		}
	}
}

func TestCells(t *testing.T) {
	cells, err := parseCells(goals + "," + curve)
	if err != nil {
		t.Fatal(err)
	}
	if cells[0] != (cell{5, 30 * time.Second}) || cells[1] != (cell{2, 2 * time.Minute}) ||
		cells[2] != (cell{1, 5 * time.Minute}) {
		t.Errorf("the goals are not first: %v", cells)
	}
	seen := map[cell]bool{}
	for _, c := range cells {
		if seen[c] {
			t.Errorf("%s is there twice", c)
		}
		seen[c] = true
		if again, err := parseCell(c.String()); err != nil || again != c {
			t.Errorf("%s is read as %v, %v", c, again, err)
		}
	}
}

func TestPlantedBytes(t *testing.T) {
	for percent, want := range map[float64]int64{1: 47657860, 2: 48129720, 50: 70779000, 100: 94372000} {
		if got := plantedBytes(percent); got != want {
			t.Errorf("%g %%: %d bytes, not %d", percent, got, want)
		}
	}
	if got := bytesDone("1+0 records out\n94372000 bytes (94 MB) copied, 0.2 s"); got != 94372000 {
		t.Errorf("%d bytes done", got)
	}
	if got := bytesDone("dd: no space"); got != 0 {
		t.Errorf("%d bytes done by nobody", got)
	}
}
