package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"
)

// Record is one recorded measurement: a run of tare or of hyperfine.
type Record struct {
	Part  string    `json:"part"`
	What  string    `json:"what"`  // the name of the measurement
	Round int       `json:"round"` // number of the repetition, from 1
	Load  bool      `json:"load"`  // with artificial load on the machine
	Began time.Time `json:"began"`
	// Seconds from the start of the program to its end, by this program's clock.
	Seconds float64 `json:"seconds"`
	Command string  `json:"command"` // run in the directory of the results
	Version string  `json:"version"` // of tare or hyperfine

	Campaign string `json:"campaign,omitempty"` // the text of the campaign file
	Run      *Run   `json:"run,omitempty"`      // of tare
	Pair     *Pair  `json:"pair,omitempty"`     // of hyperfine
}

// readRecords reads the lines of a file. If there is no such file, there are none. It
// removes an incomplete last line, which an abrupt end left, from the file.
func readRecords(name string) ([]Record, error) {
	text, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	if whole := bytes.LastIndexByte(text, '\n') + 1; whole < len(text) {
		if err := os.Truncate(name, int64(whole)); err != nil {
			return nil, err
		}
		text = text[:whole]
	}
	var records []Record
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, len(text)+1)
	for lines.Scan() {
		var r Record
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			return nil, fmt.Errorf("%s, line %d: %w", name, len(records)+1, err)
		}
		records = append(records, r)
	}
	return records, lines.Err()
}

// keep adds a record to those of s and to the file.
func (s *session) keep(r Record) error {
	line, err := json.Marshal(r)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(s.file(), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	if _, err := f.Write(append(line, '\n')); err != nil {
		f.Close()
		return err
	}
	s.records = append(s.records, r)
	return f.Close()
}

// job is one planned measurement of a part.
type job struct {
	what  string
	round int
	takes time.Duration // approximately
	// do returns the record without the fields that work fills in.
	do func() (Record, error)
}

// work does the remaining jobs in order until the session's time limit. It saves each
// record before the next job begins.
func (s *session) work(jobs []job) (err error) {
	if s.load {
		stop, failed := startLoad()
		if failed != nil {
			return failed
		}
		defer func() { err = errors.Join(err, stop()) }()
	}
	for i, j := range jobs {
		if s.has(j) {
			continue
		}
		if err := s.ctx.Err(); err != nil {
			return errors.New("interrupted; start it again to continue")
		}
		if s.limit > 0 && time.Since(s.began)+j.takes > s.limit {
			fmt.Fprintf(s.log, "%s: stopped at the time limit after %d of %d measurements; start it again to continue\n", s.part,
				s.count(jobs), len(jobs))
			return nil
		}
		fmt.Fprintf(s.log, "%s: %d of %d, %s\n", s.part, i+1, len(jobs), j.what)
		began := time.Now()
		r, err := j.do()
		if err != nil {
			return fmt.Errorf("%s: %w", j.what, err)
		}
		r.Part, r.What, r.Round, r.Load, r.Began = s.part, j.what, j.round, s.load, began.UTC().Truncate(time.Second)
		if err := s.keep(r); err != nil {
			return err
		}
	}
	fmt.Fprintf(s.log, "%s: all %d measurements are done\n", s.part, len(jobs))
	return nil
}

func (s *session) has(j job) bool {
	return slices.ContainsFunc(s.records, func(r Record) bool {
		return r.Part == s.part && r.What == j.what && r.Round == j.round && r.Load == s.load
	})
}

func (s *session) count(jobs []job) int {
	n := 0
	for _, j := range jobs {
		if s.has(j) {
			n++
		}
	}
	return n
}
