// Precision measures the precision of tare: it runs bin/tare and hyperfine on this
// machine.
//
//	precision aa         false claims about identical arms, in comparison with hyperfine
//	precision power      how often, and in how many seconds, tare finds a known cost
//	precision duets      the same as aa, for duets: false claims, and the error in comparison with hyperfine
//	precision duets-power  the same as power, for duets
//	precision agreement  whether runs of one campaign agree with each other
//	precision summary    the results as tables in Markdown
//	precision shares     which share of the trials of a run is timed
//
// Results are JSON lines in a directory that also has the run files. A part that was
// interrupted, or that reached its time limit, continues when it is started again.
// docs/precision.md describes the measurements and how to read the results.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"
)

// part is one of the program's parts. It adds its flags to set and returns the function
// to call after the flags have been parsed.
type part func(set *flag.FlagSet) func(*session) error

var parts = map[string]part{"aa": aaPart, "power": powerPart, duets: aaPart, duetsPower: powerPart,
	"agreement": agreementPart, "summary": summaryPart, "shares": sharesPart}

// The parts that measure duets. Their runs give most of the time to duets.
const (
	duets      = "duets"
	duetsPower = "duets-power"
)

func main() {
	if len(os.Args) == 2 && os.Args[1] == burnArgument {
		burn()
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "precision:", err)
		stop()
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out, log io.Writer) error {
	if len(args) == 0 || parts[args[0]] == nil {
		return errors.New("usage: precision aa|power|duets|duets-power|agreement|summary|shares [flags]; " +
			"add -h to list the flags")
	}
	set := flag.NewFlagSet("precision "+args[0], flag.ContinueOnError)
	set.SetOutput(log)
	s := &session{ctx: ctx, part: args[0], out: out, log: log, began: time.Now()}
	set.StringVar(&s.dir, "dir", "out/precision", "`directory` of results and run files")
	set.StringVar(&s.tare, "tare", "bin/tare", "the tare to measure")
	if s.part != "summary" && s.part != "shares" {
		set.StringVar(&s.state, "state", "/var/lib/tare", "tare's state `directory`, with the userland")
		set.IntVar(&s.cpu, "cpu", lastCPU(), "`CPU` of the guests, and of pinned hyperfine")
		set.DurationVar(&s.limit, "for", 0, "start no measurement that would exceed this total time; 0: no limit")
		set.BoolVar(&s.load, "load", false, "load every CPU of the machine in random bursts during the measurements")
	}
	do := parts[s.part](set)
	if err := set.Parse(args[1:]); err != nil {
		return err
	}
	if set.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q: %s accepts only flags", set.Arg(0), s.part)
	}
	if err := s.open(); err != nil {
		return err
	}
	return do(s)
}

// session is one execution of the program.
type session struct {
	ctx         context.Context
	part        string
	dir         string // directory of the results; commands run in it
	tare, state string
	cpu         int
	load        bool
	limit       time.Duration // 0: none
	began       time.Time
	out, log    io.Writer
	records     []Record // all records of every part
}

// open creates the directory if necessary, and reads its records.
func (s *session) open() error {
	var err error
	for _, p := range []*string{&s.dir, &s.tare} {
		if *p, err = filepath.Abs(*p); err != nil {
			return err
		}
	}
	for _, sub := range []string{"runs", "campaigns", "root"} {
		if err := os.MkdirAll(filepath.Join(s.dir, sub), 0o755); err != nil {
			return err
		}
	}
	s.records, err = readRecords(s.file())
	return err
}

func (s *session) file() string { return filepath.Join(s.dir, "results.jsonl") }
