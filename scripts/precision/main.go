// Precision measures how precise tare is, by driving bin/tare and hyperfine on
// this machine:
//
//	precision aa         what is said of arms that are the same thing, beside hyperfine
//	precision power      what is found of costs that are known, in how many seconds
//	precision agreement  whether runs of one campaign agree with each other
//	precision summary    the tables of what has been measured, in Markdown
//
// Results are kept as JSON lines in a directory, with the run files. A part
// that was interrupted, or whose time was up, goes on when it is started again.
// docs/precision.md says what is measured and how to read it.
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

// part is one of the program's parts. Its flags are added to set; what it
// returns does the work when they have been read.
type part func(set *flag.FlagSet) func(*session) error

var parts = map[string]part{"aa": aaPart, "power": powerPart, "agreement": agreementPart, "summary": summaryPart}

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
		return errors.New("usage: precision aa|power|agreement|summary [flags]; -h after it lists them")
	}
	set := flag.NewFlagSet("precision "+args[0], flag.ContinueOnError)
	set.SetOutput(log)
	s := &session{ctx: ctx, part: args[0], out: out, log: log, began: time.Now()}
	set.StringVar(&s.dir, "dir", "out/precision", "`directory` of results and run files")
	set.StringVar(&s.tare, "tare", "bin/tare", "the tare to measure")
	if s.part != "summary" {
		set.StringVar(&s.state, "state", "/var/lib/tare", "tare's state `directory`, which has the userland")
		set.IntVar(&s.cpu, "cpu", lastCPU(), "`CPU` of the guests, and of hyperfine where it is pinned")
		set.DurationVar(&s.limit, "for", 0, "begin nothing that would take longer than this in all; 0: no limit")
		set.BoolVar(&s.load, "load", false, "load every CPU of the machine in random bursts meanwhile")
	}
	do := parts[s.part](set)
	if err := set.Parse(args[1:]); err != nil {
		return err
	}
	if set.NArg() > 0 {
		return fmt.Errorf("%q is too much: flags are all that %s takes", set.Arg(0), s.part)
	}
	if err := s.open(); err != nil {
		return err
	}
	return do(s)
}

// session is one start of the program.
type session struct {
	ctx         context.Context
	part        string
	dir         string // of the results; commands run in it
	tare, state string
	cpu         int
	load        bool
	limit       time.Duration // 0: none
	began       time.Time
	out, log    io.Writer
	records     []Record // all that are kept, of every part
}

// open makes the directory where there is none, and reads what it has.
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
