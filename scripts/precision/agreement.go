package main

import (
	"flag"
	"os"
	"strings"
	"time"
)

func agreementPart(set *flag.FlagSet) func(*session) error {
	rounds := set.Int("rounds", 10, "runs of the campaign")
	campaign := set.String("campaign", "quick", "a built-in campaign or a `file`")
	budget := set.Duration("budget", 0, "budget of a run; 0: the campaign's own")
	return func(s *session) error {
		text := *campaign
		what := strings.TrimSuffix(text[strings.LastIndexByte(text, '/')+1:], ".yaml")
		if strings.HasSuffix(text, ".yaml") {
			file, err := os.ReadFile(text)
			if err != nil {
				return err
			}
			text = string(file)
		}
		takes := *budget
		if takes == 0 {
			takes = 5 * time.Minute
		}
		var jobs []job
		for round := 1; round <= *rounds; round++ {
			jobs = append(jobs, job{what, round, takes + startUp,
				func() (Record, error) { return s.measure(what, round, text, *budget) }})
		}
		return s.work(jobs)
	}
}
