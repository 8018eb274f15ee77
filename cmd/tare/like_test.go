package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tare-bench/tare/internal/dataset"
	"github.com/tare-bench/tare/internal/experiment"
	"github.com/tare-bench/tare/internal/experiment/experimenttest"
	"github.com/tare-bench/tare/internal/store"
)

// TestRunLike: a run like another one has its campaign, sizes and image, but another
// seed; so does a third one that is like the second.
func TestRunLike(t *testing.T) {
	live(t)
	dir := t.TempDir()
	write(t, dir, "like.yaml", experimenttest.YAML)
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
		if err := readRun(t.Context(), filepath.Join(dir, name), func(s *store.Run) error {
			c, err := dataset.CampaignOf(s)
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
			userland, err := s.Document(store.DocUserland)
			if err != nil {
				return err
			}
			var of struct{ Key string }
			err = json.Unmarshal(userland, &of)
			m.key = of.Key
			return err
		}); err != nil {
			t.Fatal(err)
		}
		return m
	}
	first, second, third := read("1.tare"), read("2.tare"), read("3.tare")
	for i, m := range []made{second, third} {
		if m.sizes != first.sizes || m.key != first.key || m.yaml != experimenttest.YAML || m.arms != first.arms {
			t.Errorf("run %d: %+v\nlike %+v", i+2, m, first)
		}
	}
	if second.seed == first.seed || third.seed != 5 {
		t.Errorf("seeds %d, %d, %d", first.seed, second.seed, third.seed)
	}
	if second.calibration != `{"like":"1.tare"}` || third.calibration != `{"like":"2.tare"}` ||
		strings.Contains(first.calibration, "like") {
		t.Errorf("calibrations %s, %s, %s", first.calibration, second.calibration, third.calibration)
	}
	r := tare(t, dir, "compare", "1.tare", "2.tare", "3.tare")
	if r.status != exitOK || strings.Contains(r.stdout, "Not the same") || !strings.Contains(r.stdout, "lxc") {
		t.Errorf("status %d: %s%s", r.status, r.stdout, r.stderr)
	}
	nothingLeft(t)
}

// TestRunLikeRefuses: what cannot be alike is reported, and no run is started.
func TestRunLikeRefuses(t *testing.T) {
	live(t)
	dir := t.TempDir()
	experimenttest.Run(t, filepath.Join(dir, "elsewhere.tare"), strings.Repeat("ab", 32), experiment.KnownAnywhere())
	write(t, dir, "other.yaml", strings.Replace(experimenttest.YAML, "blocks: 2", "blocks: 3", 1))
	for _, c := range []struct {
		args   string
		status int
		says   string
	}{
		{"run --like none.tare", exitCampaign, "no such run"},
		{"run", exitCampaign, "arg"},
		{"run quick quick --like elsewhere.tare", exitCampaign, "arg"},
		{"run --like elsewhere.tare", exitCampaign, "tare run --trust --like elsewhere.tare"},
		{"run other.yaml --trust --like elsewhere.tare", exitCampaign, "other.yaml is not the campaign of elsewhere.tare"},
		{"run --trust --like elsewhere.tare --out x.tare", exitHost,
			"the userland image of elsewhere.tare (abababababab) is not on this machine"},
	} {
		r := tare(t, dir, strings.Fields(c.args)...)
		if r.status != c.status || !strings.Contains(r.stderr, c.says) {
			t.Errorf("%s: status %d, want %d: %s", c.args, r.status, c.status, r.stderr)
		}
	}
	if files, _ := filepath.Glob(filepath.Join(dir, "*.tare")); len(files) != 1 {
		t.Errorf("a run was started: %v", files)
	}
}
