package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"path/filepath"

	"github.com/tare-bench/tare/internal/analyze"
	"github.com/tare-bench/tare/internal/campaign"
	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/image"
	"github.com/tare-bench/tare/internal/store"
	"github.com/tare-bench/tare/internal/workload"
)

// likeness is what a run takes from another one, so that the two can be
// compared: campaign, trial sizes and userland image.
type likeness struct {
	path     string
	resolved []byte // the campaign as resolved by flags and host, with another seed
	yaml     []byte // as it was written
	image    string // the image's key
	sizes    map[string]store.Size
}

// readLikeness reads it from a run file.
func readLikeness(path string) (*likeness, error) {
	l := &likeness{path: path, sizes: map[string]store.Size{}}
	err := readRun(path, func(s *store.Run) error {
		c, err := analyze.CampaignOf(s)
		if err != nil {
			return err
		}
		c.Seed = uint64(rand.Uint32())
		l.resolved = c.Resolved()
		if l.yaml, err = s.Document(store.DocCampaignYAML); err != nil {
			return err
		}
		if l.image, err = imageKey(s); err != nil {
			return err
		}
		sizes, err := s.Sizes()
		for _, size := range sizes {
			l.sizes[size.Workload] = size
		}
		return err
	})
	return l, err
}

// imageKey is the key of the image that a run was made with.
func imageKey(s *store.Run) (string, error) {
	var userland struct{ Key string }
	b, err := s.Document(store.DocUserland)
	if err != nil {
		return "", err
	}
	if err := json.Unmarshal(b, &userland); err != nil {
		return "", fault.Campaignf("%s: %s: %w", s.Path(), store.DocUserland, err)
	}
	return userland.Key, nil
}

// same refuses the campaign that name stands for unless it is that of the run.
func (l *likeness) same(name string) error {
	text, file, err := campaignText(name)
	if err != nil || bytes.Equal(text, l.yaml) {
		return err
	}
	given, err := campaign.Parse(file, text, knownAnywhere())
	if err != nil {
		return err
	}
	ours, err := campaign.Parse(l.path, l.yaml, knownAnywhere())
	if err == nil {
		given.Seed = ours.Seed
		if bytes.Equal(given.Resolved(), ours.Resolved()) {
			return nil
		}
	}
	return fault.WithRemedy(fault.Campaignf("%s is not the campaign of %s, and a run cannot be like both", name, l.path),
		"omit the campaign: tare run --like %s takes it from the run; or omit --like", l.path)
}

// check refuses sizes that mean something else in this version of tare.
func (l *likeness) check(workloads map[string]*workload.Workload) error {
	for name, s := range l.sizes {
		w := workloads[name]
		if w != nil && (w.SizeUnit != s.Unit || s.Size < w.MinSize || s.Size > w.MaxSize) {
			return fault.WithRemedy(fault.Campaignf("trials of %s in %s have a size of %d %s, but this version of tare allows %d to %d %s", name, l.path, s.Size, s.Unit, w.MinSize, w.MaxSize, w.SizeUnit),
				"run the campaign again, without --like")
		}
	}
	return nil
}

// reuse writes the sizes into a new run, which then calibrates only what is
// missing. Sizes that the campaign itself sets are left alone.
func (l *likeness) reuse(s *store.Run, c *campaign.Campaign) error {
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

// needImageOf makes the testbed use the image with this key, which the run at path
// used: that of the recipe, which can be built, or an older one that is still cached.
func (t *testbed) needImageOf(ctx context.Context, o *options, path, key string, recipe image.Recipe) error {
	if key == recipe.Key() {
		return t.needImage(ctx, o, recipe)
	}
	img, err := image.OpenKey(imageDir(o), key)
	if errors.Is(err, image.ErrNotBuilt) {
		return fault.WithRemedy(fault.Hostf("the userland image of %s (%.12s) is not on this machine, and this version of tare builds a different one (%.12s) for the same campaign", path, key, recipe.Key()),
			"copy its directory to %s from the machine that has it, or start the campaign afresh", imageDir(o))
	}
	if err != nil {
		return err
	}
	return t.use(img)
}
