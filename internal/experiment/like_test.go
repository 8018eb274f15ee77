package experiment

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tare-bench/tare/internal/campaign"
	"github.com/tare-bench/tare/internal/experiment/experimenttest"
	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/store"
	"github.com/tare-bench/tare/internal/workload"
	"github.com/tare-bench/tare/internal/workload/builtin"
)

// monday returns a run, and what another one takes from it.
func monday(t *testing.T) (path string, l *Likeness) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "monday.tare")
	experimenttest.Run(t, path, "0123", KnownAnywhere())
	l, err := ReadLikeness(t.Context(), path, t.TempDir(), true)
	if err != nil {
		t.Fatal(err)
	}
	return path, l
}

// TestLikeness: what a run takes from another one.
func TestLikeness(t *testing.T) {
	path, l := monday(t)
	dir := filepath.Dir(path)
	// Here every system is usable, and yet kvm stays out.
	c, err := campaign.Parse("campaign of monday.tare", l.resolved, KnownAnywhere())
	if err != nil {
		t.Fatal(err)
	}
	if out := c.Skipped(); len(out) != 1 || out[0].Name != "kvm" || out[0].Skip != "this CPU cannot" {
		t.Errorf("left out: %+v", out)
	}
	if c.Precision != 2 || c.Blocks.Max != 50 {
		t.Errorf("what flags set is lost: %v, %+v", c.Precision, c.Blocks)
	}
	again, err := ReadLikeness(t.Context(), path, t.TempDir(), true)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Equal(l.resolved, again.resolved) {
		t.Error("the seed is the same")
	}
	if l.image != "0123" || string(l.yaml) != experimenttest.YAML {
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
	if err != nil || len(sizes) != 1 || sizes[0].Workload != "sysbench-cpu" || sizes[0].Size != 400 ||
		string(sizes[0].Calibration) != `{"like":"monday.tare"}` {
		t.Errorf("%v, %+v", err, sizes)
	}
}

// TestLikeOther: a run is like one campaign.
func TestLikeOther(t *testing.T) {
	path, l := monday(t)
	dir := filepath.Dir(path)
	for text, ok := range map[string]bool{
		experimenttest.YAML: true,
		"seed: 7\n" + strings.TrimPrefix(experimenttest.YAML, "# sizes are calibrated, but for one\n"): true,
		strings.Replace(experimenttest.YAML, "blocks: 2", "blocks: 3", 1):                              false,
	} {
		given := filepath.Join(dir, "given.yaml")
		if err := os.WriteFile(given, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		err := l.Same(given)
		if (err == nil) != ok || !ok && (fault.KindOf(err) != fault.Campaign || !strings.Contains(err.Error(), "is not the "+
			"campaign of")) {
			t.Errorf("%v of\n%s", err, text)
		}
	}
	if err := l.Same("quick"); err == nil {
		t.Error("quick is the same")
	}
	if err := l.Same(filepath.Join(dir, "none.yaml")); fault.KindOf(err) != fault.Campaign {
		t.Errorf("no such file: %v", err)
	}
}

// TestLikeSizes: a size that means something else is refused.
func TestLikeSizes(t *testing.T) {
	w, err := builtin.Get("sysbench-cpu")
	if err != nil {
		t.Fatal(err)
	}
	tree, err := builtin.Get("untar-kernel")
	if err != nil {
		t.Fatal(err)
	}
	by := map[string]*workload.Workload{w.Name: w, tree.Name: tree}
	for _, c := range []struct {
		size store.Size
		ok   bool
	}{
		{store.Size{Workload: w.Name, Size: 400, Unit: w.SizeUnit}, true},
		{store.Size{Workload: w.Name, Size: 400, Unit: "thousand events"}, false},
		{store.Size{Workload: w.Name, Size: w.MaxSize + 1, Unit: w.SizeUnit}, false},
		{store.Size{Workload: w.Name, Size: -1, Unit: w.SizeUnit}, false},
		{store.Size{Workload: tree.Name, Size: 256, Unit: "256ths of a kernel source tree"}, true}, // as it was called
		{store.Size{Workload: "of a workload that is not run", Size: -1}, true},
	} {
		l := &Likeness{path: "a.tare", sizes: map[string]store.Size{c.size.Workload: c.size}}
		if err := l.check(by); (err == nil) != c.ok {
			t.Errorf("%+v: %v", c.size, err)
		}
		if unit := l.sizes[c.size.Workload].Unit; c.ok && by[c.size.Workload] != nil && unit != by[c.size.Workload].SizeUnit {
			t.Errorf("%+v: a new run would have the unit %q", c.size, unit)
		}
	}
}
