package main

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tare-bench/tare/internal/campaign"
	"github.com/tare-bench/tare/internal/experiment"
	"github.com/tare-bench/tare/internal/model"
	"github.com/tare-bench/tare/internal/paper"
	"github.com/tare-bench/tare/internal/system"
	"github.com/tare-bench/tare/internal/system/all"
	"github.com/tare-bench/tare/internal/workload"
	"github.com/tare-bench/tare/internal/workload/builtin"
)

// TestPaperCampaigns: this version of tare can run the campaigns of every article, and
// they have the metrics that repeat its figures.
func TestPaperCampaigns(t *testing.T) {
	for _, boot := range []string{"linux", "xen"} {
		t.Run(boot, func(t *testing.T) { paperCampaigns(t, boot == "xen") })
	}
}

// paperCampaigns checks them on a host that has all systems except Xen's, or those
// that exist with Xen.
func paperCampaigns(t *testing.T, xen bool) {
	bed := &experiment.Testbed{Drivers: all.ByName()}
	status := map[string]system.Status{}
	for name, d := range bed.Drivers {
		usable := d.Capabilities().HostBoot == "xen-dom0" == xen || name == "lxc" || name == "uml"
		usable = usable && d.Capabilities().Target == "" // which --target would give
		status[name] = system.Status{Usable: usable, Reason: "another boot"}
	}
	known := bed.Known(status, campaign.Host{CPUs: []int{0, 1}, Memory: 4 << 30})
	m := paper.Machine{CPUs: 2, Memory: 4 << 30, Supports: supports, Usable: func(name string) string {
		if st, ok := status[name]; !ok || !st.Usable {
			return "another boot"
		}
		return ""
	}}
	for _, a := range paper.All() {
		for _, o := range []paper.RepeatOptions{{}, {Scale: 1}, {Scale: 1e-6}, {Systems: []string{"lxc", "uml"}}} {
			rep, err := paper.Repeat(a, m, o)
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range rep.Stages {
				text := rep.Campaign(s, time.Minute)
				c, err := campaign.Parse(rep.CampaignName(s), text, known)
				if err != nil {
					// At the articles' own size, not everything fits on a small machine's volume.
					if o.Scale != 1 || !strings.Contains(err.Error(), "disk") {
						t.Errorf("%+v: %v\n%s", o, err, text)
					}
					continue
				}
				if len(c.Active()) < 2 || c.Baseline != rep.Base {
					t.Errorf("%s: %d arms, baseline %s:\n%s", rep.CampaignName(s), len(c.Active()), c.Baseline, text)
				}
			}
			for _, c := range rep.Cells(func(paper.Key) paper.Stats { return paper.Stats{N: 1, Min: 1, Mean: 1, Max: 1} }) {
				checkCell(t, a.Document.Name, c)
			}
		}
	}
}

// checkCell checks that a figure's measurement has the metric that it names.
func checkCell(t *testing.T, article string, c paper.Cell) {
	t.Helper()
	if c.Series == "" {
		if c.Why == "" || strings.Contains(c.Why, "no workload") {
			t.Errorf("%s: %+v", article, c)
		}
		return
	}
	w, err := builtin.Get(model.ParseSeries(c.Series).Workload)
	if err != nil || !slices.ContainsFunc(w.Metrics, func(m workload.Metric) bool {
		return m.Name == c.Metric && (c.Here == nil || c.Better == string(m.Better) || c.Better != "higher" &&
			c.Better != "lower")
	}) {
		t.Errorf("%s, %s: %s has no metric %s of which %s is better", article, c.Table, c.Series, c.Metric, c.Better)
	}
}

// TestPaperRun repeats one table of an article with two container systems, and reads
// its run again.
func TestPaperRun(t *testing.T) {
	live(t)
	dir := t.TempDir()
	const name = "abclinuxu-xen-vs-kvm"
	r := tare(t, dir, "paper", "run", "--yes",
		"abclinuxu", "--table", "cpu.1", "--system", "lxc,runc", "--budget", "20s", "--out",
		"cpu.tare", "--json")
	if r.status != 0 {
		t.Fatalf("status %d\n%s%s", r.status, r.stdout, r.stderr)
	}
	var run paper.ResultsJSON
	if err := json.Unmarshal([]byte(r.stdout), &run); err != nil {
		t.Fatalf("%v:\n%s", err, r.stdout)
	}
	measured := 0
	for _, c := range run.Figures {
		switch {
		case c.Here != nil && *c.Here > 0:
			measured++
			if c.As == "lxc" && c.Now == nil {
				t.Errorf("no cost of %+v", c)
			}
		case c.Why == "":
			t.Errorf("neither a figure nor a reason: %+v", c)
		}
	}
	// Minimum and maximum of three; a mean is withheld if a busy host spread the values.
	// The others are those of KVM and Xen, for which no similar system was requested.
	if measured < 3*2 || len(run.Figures) != 3*5 {
		t.Errorf("%d of %d figures:\n%s", measured, len(run.Figures), r.stdout)
	}
	again := tare(t, dir, "paper", "show", name, "--run", filepath.Join(dir, "cpu.tare"), "--json")
	var shown paper.ResultsJSON
	if err := json.Unmarshal([]byte(again.stdout), &shown); err != nil {
		t.Fatalf("%v:\n%s%s", err, again.stdout, again.stderr)
	}
	shown.Figures = slices.DeleteFunc(shown.Figures, func(c paper.Cell) bool { return c.Table != "cpu.1" })
	for i := range min(len(shown.Figures), len(run.Figures)) {
		if run.Figures[i].Here != nil && !reflect.DeepEqual(run.Figures[i], shown.Figures[i]) {
			t.Errorf("shown again: %+v, was %+v", shown.Figures[i], run.Figures[i])
		}
	}
	text := tare(t, dir, "paper", "show", "abc", "--run", "cpu.tare")
	for _, want := range []string{"cpu.1", "47,639 s", "cost here", "tare paper show " + name + " --run cpu.tare",
		"no run of campaign " + name + "-crowd"} {
		if !strings.Contains(text.stdout, want) {
			t.Errorf("no %q in\n%s%s", want, text.stdout, text.stderr)
		}
	}
	if other := tare(t, dir, "paper", "show", "platov-vmware-vs-colinux", "--run",
		"cpu.tare"); other.status != exitCampaign || !strings.Contains(other.stderr, "not a campaign of platov") {
		t.Errorf("another article's run: status %d: %s", other.status, other.stderr)
	}
	nothingLeft(t)
}

// TestPaperNew makes a file from a table, and audits, shows and reports it.
func TestPaperNew(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "cpu.csv", "workload;host;kvm\nopenssl (s);47,639;51,975 (+9,1 %)\n"+
		"untar (s);310,147;170,257 (-54,1 %)\n")
	r := tare(t, dir, "paper", "new", "Mine 1.yaml", "--table", "cpu.csv", "--decimal-comma")
	if r.status != 0 || !strings.Contains(r.stdout, "with 4 figures") {
		t.Fatalf("status %d: %s%s", r.status, r.stdout, r.stderr)
	}
	if r := tare(t, dir, "paper", "new", "Mine 1.yaml"); r.status != exitCampaign ||
		!strings.Contains(r.stderr, "already exists") {
		t.Errorf("overwritten: status %d: %s", r.status, r.stderr)
	}
	r = tare(t, dir, "paper", "audit", "Mine 1.yaml")
	if r.status != 0 || !strings.Contains(r.stdout, "mine-1: 1 agree; 0 rounding, 1 arithmetic") ||
		!strings.Contains(r.stdout, "two digits are swapped: -45.1") {
		t.Errorf("status %d: %s%s", r.status, r.stdout, r.stderr)
	}
	r = tare(t, dir, "paper", "report", "Mine 1.yaml", "--out", "page.md")
	page, err := os.ReadFile(filepath.Join(dir, "page.md"))
	if r.status != 0 || err != nil || !strings.Contains(string(page), "| kvm | 170,257 (-54,1 %) &#33; | -45.1 % |") {
		t.Errorf("status %d: %s\n%s", r.status, r.stderr, page)
	}
	r = tare(t, dir, "paper", "run", "Mine 1.yaml", "--dry-run")
	if r.status != exitCampaign || !strings.Contains(r.stderr, "add the key repetition") {
		t.Errorf("status %d: %s", r.status, r.stderr)
	}
}

// TestPaperRunOwn plans the repetition of an article in a file.
func TestPaperRunOwn(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "own.yaml", `document: {short_name: own, title: Own}
systems: {host: {kind: native}, guest: {kind: guest}}
results:
- {table: t, workload: unpack, scenario: solo, system: host, statistic: mean, value: 1.0, unit: s, better: lower, printed: 1.0 s}
- {table: t, workload: unpack, scenario: solo, system: guest, statistic: mean, value: 1.2, unit: s, better: lower, printed: 1.2 s}
repetition:
  baseline: host
  systems:
  - {system: host, as: [native]}
  - {system: guest, as: [lxc, runc, qemu-tcg]}
  campaigns:
  - {name: solo, scenarios: [solo], workloads: [untar-kernel]}
  figures:
  - {table: t, campaign: solo, by: untar-kernel, metric: time}
`)
	live(t)
	r := tare(t, dir, "paper", "run", "own.yaml", "--dry-run", "--budget", "10s")
	if r.status != 0 || !strings.Contains(r.stdout, "untar-kernel") || !strings.Contains(r.stdout, "Campaign 1 of 1") {
		t.Errorf("status %d: %s%s", r.status, r.stdout, r.stderr)
	}
}

// TestAskDerived: one key confirms or corrects how a derived column is read; other keys are asked again.
func TestAskDerived(t *testing.T) {
	d := paper.Derived{Where: "t.md:1:9", Heading: "Difference", Of: "kvm", To: "host", Formula: "kvm / host", Agree: 3,
		Figures: 4}
	for keys, want := range map[string]paper.Answer{
		"\n": paper.Accepted, "y\n": paper.Accepted, "w\n": paper.Swapped, "S\n": paper.IsSystem, "?\nw\n": paper.Swapped,
		"": paper.Accepted, "?": paper.Accepted,
	} {
		var out strings.Builder
		got := askDerived(bufio.NewReader(strings.NewReader(keys)), &out, d)
		if got != want || !strings.Contains(out.String(), `t.md:1:9: the column "Difference" looks derived: kvm / host gives 3 of`) {
			t.Errorf("%q: %v, not %v\n%s", keys, got, want, out.String())
		}
	}
}
