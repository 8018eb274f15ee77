package main

import (
	"context"
	"slices"

	"github.com/tare-bench/tare/internal/analyze"
	"github.com/tare-bench/tare/internal/dataset"
	"github.com/tare-bench/tare/internal/host"
	"github.com/tare-bench/tare/internal/paper"
	"github.com/tare-bench/tare/internal/store"
)

// addPaperRun analyzes a run and adds it to the results of a repetition.
func addPaperRun(ctx context.Context, results *paper.Results, path string) error {
	return readRun(ctx, path, func(s *store.Run) error {
		c, err := dataset.CampaignOf(s)
		if err != nil {
			return err
		}
		in, err := dataset.Read(s)
		if err != nil {
			return err
		}
		res, err := analyze.Analyze(in)
		if err != nil {
			return err
		}
		return results.Add(path, c, in, res)
	})
}

// openPaperRuns reads existing run files.
func openPaperRuns(ctx context.Context, a *paper.Article, paths []string) (*paper.Results, error) {
	var m paper.Machine
	var systems []string
	for _, path := range paths {
		err := readRun(ctx, path, func(s *store.Run) error {
			var env host.Environment
			if err := s.Decode(store.DocEnvironment, &env); err != nil {
				return err
			}
			m = machineOf(&env)
			arms, err := s.Arms()
			for _, arm := range arms {
				if !slices.Contains(systems, arm.System) {
					systems = append(systems, arm.System)
				}
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	m.Usable = func(name string) string {
		if slices.Contains(systems, name) {
			return ""
		}
		return "not in the run"
	}
	rep, err := paper.Repeat(a, m, paper.RepeatOptions{Systems: systems})
	if err != nil {
		return nil, err
	}
	runs := paper.NewResults(rep)
	for _, path := range paths {
		if err := addPaperRun(ctx, runs, path); err != nil {
			return nil, err
		}
	}
	return runs, nil
}
