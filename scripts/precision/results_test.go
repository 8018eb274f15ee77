package main

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestLinesSurviveAKill(t *testing.T) {
	name := filepath.Join(t.TempDir(), "results.jsonl")
	s := &session{part: "aa", dir: filepath.Dir(name)}
	for round := 1; round <= 2; round++ {
		if err := s.keep(Record{Part: "aa", What: "duel", Round: round}); err != nil {
			t.Fatal(err)
		}
	}
	whole, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, append(slices.Clone(whole), `{"part":"a`...), 0o644); err != nil {
		t.Fatal(err)
	}
	records, err := readRecords(name)
	if err != nil || len(records) != 2 || records[1].Round != 2 {
		t.Errorf("%+v, %v", records, err)
	}
	if after, err := os.ReadFile(name); err != nil || string(after) != string(whole) {
		t.Errorf("the incomplete line is still there: %q, %v", after, err)
	}
	if err := os.WriteFile(name, []byte("{}\nno JSON\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := readRecords(name); err == nil || !strings.Contains(err.Error(), "line 2") {
		t.Errorf("a line that is not JSON: %v", err)
	}
}

func TestWorkGoesOn(t *testing.T) {
	s := &session{ctx: context.Background(), part: "aa", dir: t.TempDir(), log: io.Discard}
	var did []string
	jobs := func(fails string) []job {
		var list []job
		for _, what := range []string{"a", "b", "c"} {
			list = append(list, job{what, 1, 0, func() (Record, error) {
				if what == fails {
					return Record{}, errors.New("the host is down")
				}
				did = append(did, what)
				return Record{}, nil
			}})
		}
		return list
	}
	if err := s.work(jobs("b")); err == nil || !strings.Contains(err.Error(), "b: the host is down") {
		t.Errorf("a measurement that failed: %v", err)
	}
	var err error
	if s.records, err = readRecords(s.file()); err != nil {
		t.Fatal(err)
	}
	if err := s.work(jobs("")); err != nil || strings.Join(did, "") != "abc" {
		t.Errorf("did %q, %v", did, err)
	}
	loaded := *s
	loaded.load = true
	if s.count(jobs("")) != 3 || loaded.count(jobs("")) != 0 {
		t.Error("a measurement on a quiet machine counts for a loaded one")
	}
}
