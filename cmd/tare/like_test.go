package main

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tare-bench/tare/internal/analyze"
	"github.com/tare-bench/tare/internal/campaign"
	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/store"
	"github.com/tare-bench/tare/internal/workload"
)

const likeYAML = `# sizes are calibrated, but for one
name: like
flavors:
  one: {vcpus: 1, memory: 256MiB, disk: 128MiB}
arms: [native, lxc, {system: kvm, if_usable: true}]
workloads: [sysbench-cpu, {name: openssl-enc, size: 40}]
trial_time: 100ms
blocks: 2
`

// likeRun writes a run of likeYAML, where kvm was left out, as a run file has
// it before its first trial.
func likeRun(t *testing.T, path, image string) {
	t.Helper()
	known := knownAnywhere()
	kvm := known.Systems["kvm"]
	kvm.Usable, kvm.Why = false, "this CPU cannot"
	known.Systems["kvm"] = kvm
	c, err := campaign.Parse("like.yaml", []byte(likeYAML), known)
	if err != nil {
		t.Fatal(err)
	}
	c.Precision, c.Blocks = 2, campaign.Blocks{Min: 10, Max: 50} // as --precision did it
	userland, err := json.Marshal(map[string]string{"key": image})
	if err != nil {
		t.Fatal(err)
	}
	s, err := store.Create(path, map[string][]byte{store.DocCampaign: c.Resolved(), store.DocCampaignYAML: []byte(likeYAML), store.DocEnvironment: []byte(`{"version": 1}`), store.DocUserland: userland},
		[]store.Arm{{Name: "native", System: "native", Scenario: "solo"}}, []store.Metric{{Workload: "sysbench-cpu", Name: "time", Unit: "s", Better: "lower", Primary: true}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, size := range []store.Size{{Workload: "sysbench-cpu", Size: 400, Unit: mustGet(t, "sysbench-cpu").SizeUnit}, {Workload: "openssl-enc", Size: 40, Unit: mustGet(t, "openssl-enc").SizeUnit}} {
		if err := s.AddSize(size.Workload, size.Size, size.Unit, nil); err != nil {
			t.Fatal(err)
		}
	}
}

func mustGet(t *testing.T, name string) *workload.Workload {
	t.Helper()
	w, err := workload.Get(name)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// TestLikeness: what a run takes from another one.
func TestLikeness(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "monday.tare")
	likeRun(t, path, "0123")
	l, err := readLikeness(path)
	if err != nil {
		t.Fatal(err)
	}
	// Here every system is usable, and yet kvm stays out.
	c, err := campaign.Parse("campaign of monday.tare", l.resolved, knownAnywhere())
	if err != nil {
		t.Fatal(err)
	}
	if out := c.Skipped(); len(out) != 1 || out[0].Name != "kvm" || out[0].Skip != "this CPU cannot" {
		t.Errorf("left out: %+v", out)
	}
	if c.Precision != 2 || c.Blocks.Max != 50 {
		t.Errorf("what flags set is lost: %v, %+v", c.Precision, c.Blocks)
	}
	again, err := readLikeness(path)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Equal(l.resolved, again.resolved) {
		t.Error("the seed is the same")
	}
	if l.image != "0123" || string(l.yaml) != likeYAML {
		t.Errorf("image %q, campaign\n%s", l.image, l.yaml)
	}

	// Sizes go into the new run, but those that the campaign itself gives.
	s, err := store.Create(filepath.Join(dir, "tuesday.tare"), map[string][]byte{store.DocCampaign: l.resolved}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := l.reuse(s, c); err != nil {
		t.Fatal(err)
	}
	sizes, err := s.Sizes()
	if err != nil || len(sizes) != 1 || sizes[0].Workload != "sysbench-cpu" || sizes[0].Size != 400 || string(sizes[0].Calibration) != `{"like":"monday.tare"}` {
		t.Errorf("%v, %+v", err, sizes)
	}
}

// TestLikeOther: a run is like one campaign.
func TestLikeOther(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "monday.tare")
	likeRun(t, path, "0123")
	l, err := readLikeness(path)
	if err != nil {
		t.Fatal(err)
	}
	for text, ok := range map[string]bool{
		likeYAML: true,
		"seed: 7\n" + strings.TrimPrefix(likeYAML, "# sizes are calibrated, but for one\n"): true,
		strings.Replace(likeYAML, "blocks: 2", "blocks: 3", 1):                              false,
	} {
		err := l.same(write(t, dir, "given.yaml", text))
		if (err == nil) != ok || !ok && (fault.KindOf(err) != fault.Campaign || !strings.Contains(err.Error(), "is not the campaign of")) {
			t.Errorf("%v of\n%s", err, text)
		}
	}
	if err := l.same("quick"); err == nil {
		t.Error("quick is the same")
	}
	if err := l.same(filepath.Join(dir, "none.yaml")); fault.KindOf(err) != fault.Campaign {
		t.Errorf("no such file: %v", err)
	}
}

// TestLikeSizes: a size that means something else is refused.
func TestLikeSizes(t *testing.T) {
	w := mustGet(t, "sysbench-cpu")
	by := map[string]*workload.Workload{w.Name: w}
	for _, c := range []struct {
		size store.Size
		ok   bool
	}{
		{store.Size{Workload: w.Name, Size: 400, Unit: w.SizeUnit}, true},
		{store.Size{Workload: w.Name, Size: 400, Unit: "thousand events"}, false},
		{store.Size{Workload: w.Name, Size: w.MaxSize + 1, Unit: w.SizeUnit}, false},
		{store.Size{Workload: w.Name, Size: -1, Unit: w.SizeUnit}, false},
		{store.Size{Workload: "of a workload that is not run", Size: -1}, true},
	} {
		l := &likeness{path: "a.tare", sizes: map[string]store.Size{c.size.Workload: c.size}}
		if err := l.check(by); (err == nil) != c.ok {
			t.Errorf("%+v: %v", c.size, err)
		}
	}
}

// TestRunLike: a run like another one has its campaign, sizes and image, and
// another seed; and so has a third that is like the second.
func TestRunLike(t *testing.T) {
	live(t)
	dir := t.TempDir()
	write(t, dir, "like.yaml", likeYAML)
	for _, args := range []string{
		"run like.yaml --out 1.tare", "run --like 1.tare --out 2.tare", "run like.yaml --like 2.tare --seed 5 --out 3.tare",
	} {
		if r := tare(t, dir, strings.Fields(args)...); r.status != exitOK {
			t.Fatalf("%s: status %d\n%s%s", args, r.status, r.stdout, r.stderr)
		}
	}
	type made struct {
		sizes, calibration, key, yaml, arms string
		seed                                uint64
	}
	read := func(name string) (m made) {
		if err := readRun(filepath.Join(dir, name), func(s *store.Run) error {
			c, err := analyze.CampaignOf(s)
			if err != nil {
				return err
			}
			m.seed = c.Seed
			for _, a := range c.Arms {
				m.arms += a.Name + ":" + a.Skip + " "
			}
			sizes, err := s.Sizes()
			if err != nil {
				return err
			}
			by := map[string]int64{}
			for _, size := range sizes {
				by[size.Workload] = size.Size
				if size.Workload == "sysbench-cpu" {
					m.calibration = string(size.Calibration)
				}
			}
			text, err := json.Marshal(by)
			if err != nil {
				return err
			}
			m.sizes = string(text)
			yaml, err := s.Document(store.DocCampaignYAML)
			if err != nil {
				return err
			}
			m.yaml = string(yaml)
			m.key, err = imageKey(s)
			return err
		}); err != nil {
			t.Fatal(err)
		}
		return m
	}
	first, second, third := read("1.tare"), read("2.tare"), read("3.tare")
	for i, m := range []made{second, third} {
		if m.sizes != first.sizes || m.key != first.key || m.yaml != likeYAML || m.arms != first.arms {
			t.Errorf("run %d: %+v\nlike %+v", i+2, m, first)
		}
	}
	if second.seed == first.seed || third.seed != 5 {
		t.Errorf("seeds %d, %d, %d", first.seed, second.seed, third.seed)
	}
	if second.calibration != `{"like":"1.tare"}` || third.calibration != `{"like":"2.tare"}` || strings.Contains(first.calibration, "like") {
		t.Errorf("calibrations %s, %s, %s", first.calibration, second.calibration, third.calibration)
	}
	r := tare(t, dir, "compare", "1.tare", "2.tare", "3.tare")
	if r.status != exitOK || strings.Contains(r.stdout, "Not the same") || !strings.Contains(r.stdout, "lxc") {
		t.Errorf("status %d: %s%s", r.status, r.stdout, r.stderr)
	}
	nothingLeft(t)
}

// TestRunLikeRefuses: what cannot be alike is said, and no run is begun.
func TestRunLikeRefuses(t *testing.T) {
	live(t)
	dir := t.TempDir()
	likeRun(t, filepath.Join(dir, "elsewhere.tare"), strings.Repeat("ab", 32))
	write(t, dir, "other.yaml", strings.Replace(likeYAML, "blocks: 2", "blocks: 3", 1))
	for _, c := range []struct {
		args   string
		status int
		says   string
	}{
		{"run --like none.tare", exitCampaign, "no such run"},
		{"run", exitCampaign, "arg"},
		{"run quick quick --like elsewhere.tare", exitCampaign, "arg"},
		{"run other.yaml --like elsewhere.tare", exitCampaign, "other.yaml is not the campaign of elsewhere.tare"},
		{"run --like elsewhere.tare --out x.tare", exitHost, "the userland image of elsewhere.tare (abababababab) is not on this machine"},
	} {
		r := tare(t, dir, strings.Fields(c.args)...)
		if r.status != c.status || !strings.Contains(r.stderr, c.says) {
			t.Errorf("%s: status %d, want %d: %s", c.args, r.status, c.status, r.stderr)
		}
	}
	if files, _ := filepath.Glob(filepath.Join(dir, "*.tare")); len(files) != 1 {
		t.Errorf("a run was begun: %v", files)
	}
}
