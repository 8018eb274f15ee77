package experiment

import (
	"bytes"
	"context"
	"math/rand/v2"
	"path/filepath"

	"github.com/tare-bench/tare/internal/campaign"
	"github.com/tare-bench/tare/internal/dataset"
	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/store"
	"github.com/tare-bench/tare/internal/workload"
)

// Likeness is what a run takes from another one, so that the two can be
// compared: campaign, trial sizes and userland image.
type Likeness struct {
	path     string
	resolved []byte // the campaign as resolved by flags and host, with another seed
	yaml     []byte // as it was written
	image    string // the image's key
	sizes    map[string]store.Size
}

// ReadLikeness reads it from a run file, which must have been made with this state
// directory unless the user trusts it.
func ReadLikeness(ctx context.Context, path, stateDir string, trust bool) (*Likeness, error) {
	l := &Likeness{path: path, sizes: map[string]store.Size{}}
	s, err := store.Open(ctx, path)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	if !trust {
		if err := checkSeal(stateDir, s, "tare run --trust --like "+path); err != nil {
			return nil, err
		}
	}
	c, err := dataset.CampaignOf(s)
	if err != nil {
		return nil, err
	}
	c.Seed = uint64(rand.Uint32())
	l.resolved = c.Resolved()
	if l.yaml, err = s.Document(store.DocCampaignYAML); err != nil {
		return nil, err
	}
	if l.image, err = imageKey(s); err != nil {
		return nil, err
	}
	sizes, err := s.Sizes()
	for _, size := range sizes {
		l.sizes[size.Workload] = size
	}
	return l, err
}

// Same refuses the campaign that name stands for unless it is that of the run.
func (l *Likeness) Same(name string) error {
	text, file, err := Text(name)
	if err != nil || bytes.Equal(text, l.yaml) {
		return err
	}
	given, err := campaign.Parse(file, text, KnownAnywhere())
	if err != nil {
		return err
	}
	ours, err := campaign.Parse(l.path, l.yaml, KnownAnywhere())
	if err == nil {
		given.Seed = ours.Seed
		if bytes.Equal(given.Resolved(), ours.Resolved()) {
			return nil
		}
	}
	return fault.WithRemedy(fault.Campaignf("%s is not the campaign of %s, and a run cannot be like both", name, l.path),
		"omit the campaign: tare run --like %s takes it from the run; or omit --like", l.path)
}

// formerUnits are units of sizes that older run files name otherwise.
var formerUnits = map[string]string{
	"256ths of a kernel source tree": "pieces of a kernel source tree (256 are all of it)",
}

// check refuses sizes that mean something else in this version of tare.
func (l *Likeness) check(workloads map[string]*workload.Workload) error {
	for name, s := range l.sizes {
		w := workloads[name]
		if now := formerUnits[s.Unit]; now != "" {
			s.Unit = now
			l.sizes[name] = s
		}
		if w != nil && (w.SizeUnit != s.Unit || s.Size < w.MinSize || s.Size > w.MaxSize) {
			return fault.WithRemedy(fault.Campaignf("trials of %s in %s have a size of %d %s, but this version of tare allows "+
				"%d to %d %s", name, l.path, s.Size, s.Unit, w.MinSize, w.MaxSize, w.SizeUnit),
				"run the campaign again, without --like")
		}
	}
	return nil
}

// reuse writes the sizes into a new run, which then calibrates only what is
// missing. Sizes that the campaign itself sets are left alone.
func (l *Likeness) reuse(s *store.Run, c *campaign.Campaign) error {
	for _, cw := range c.Workloads {
		size, ok := l.sizes[cw.Series()]
		if !ok || cw.Size != 0 {
			continue
		}
		from := map[string]string{"like": filepath.Base(l.path)}
		if err := s.AddSize(size.Workload, size.Size, size.Unit, from); err != nil {
			return err
		}
	}
	return nil
}
