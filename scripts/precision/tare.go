package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/tare-bench/tare/internal/analyze"
	"github.com/tare-bench/tare/internal/store"
)

// Run is the recorded part of a run of tare; all of it is also in the run file.
type Run struct {
	File        string               `json:"file"` // in the directory of the results
	Host        string               `json:"host"` // tare's line about the host
	Userland    string               `json:"userland"`
	Sizes       []store.Size         `json:"sizes"`
	Comparisons []analyze.Comparison `json:"comparisons"`
	Arms        []analyze.ArmResult  `json:"arms"`
	// Argv are the timed commands, by workload.
	Argv map[string][]string `json:"argv"`
}

// counts reports whether c is of a metric that gets a verdict, and not of the control.
func counts(c analyze.Comparison) bool {
	return !c.Control && (c.Primary || c.Metric == analyze.CPUTime || c.Metric == analyze.CPUTimeAtOnce)
}

// has reports whether c has an interval.
func has(c analyze.Comparison) bool { return c.Interval != nil }

// excludes reports whether the interval excludes a cost of 0.
func excludes(c analyze.Comparison) bool { return c.Above(1) || c.Below(1) }

// claimed reports whether the verdict is costs or gains.
func claimed(c analyze.Comparison) bool {
	return c.Verdict == analyze.Costs || c.Verdict == analyze.Gains
}

// export is the part of tare's JSON export that this program reads.
type export struct {
	Format int `json:"tare_export"`
	Run    struct {
		Complete   bool         `json:"complete"`
		Incomplete string       `json:"incomplete"`
		Sizes      []store.Size `json:"sizes"`
		Userland   struct {
			Key string `json:"key"`
		} `json:"userland"`
	} `json:"run"`
	Comparisons []analyze.Comparison `json:"comparisons"`
	Arms        []analyze.ArmResult  `json:"arms"`
	Trials      []struct {
		Attempt  int    `json:"attempt"`
		Workload string `json:"workload"`
		Arm      string `json:"arm"`
		Status   string `json:"status"`
		Steps    []struct {
			Timed bool     `json:"timed"`
			Argv  []string `json:"argv"`
		} `json:"steps"`
	} `json:"trials"`
}

// parseExport reads the export of a complete run.
func parseExport(text []byte) (*export, error) {
	var e export
	if err := json.Unmarshal(text, &e); err != nil {
		return nil, fmt.Errorf("tare's export: %w", err)
	}
	// Version 4 renames members that this program does not use.
	if e.Format != 3 && e.Format != 4 {
		return nil, fmt.Errorf("tare's export has version %d, but this program reads versions 3 and 4", e.Format)
	}
	if !e.Run.Complete {
		return nil, fmt.Errorf("the run is not complete: %s", e.Run.Incomplete)
	}
	return &e, nil
}

// argv returns the timed command of each workload that has exactly one.
func (e *export) argv() map[string][]string {
	m := map[string][]string{}
	for _, t := range e.Trials {
		if m[t.Workload] != nil || t.Status != "done" {
			continue
		}
		var timed [][]string
		for _, s := range t.Steps {
			if s.Timed {
				timed = append(timed, s.Argv)
			}
		}
		if len(timed) == 1 {
			m[t.Workload] = timed[0]
		}
	}
	return m
}

// arm returns the arm's results on the workload; nil: none.
func (r *Run) arm(name, workload string) *analyze.ArmResult {
	return (&analyze.Result{Arms: r.Arms}).Arm(name, workload)
}

// median returns the median of one of an arm's metrics or probes; 0: none.
func median(a *analyze.ArmResult, name string) float64 {
	if s := cmp.Or(a.Metric(name), a.Probe(name)); s != nil {
		return s.Median
	}
	return 0
}

// measure runs a campaign: the name of a built-in one, or the text of a campaign file,
// which is saved under the job's name. With a budget of 0, the campaign's applies.
func (s *session) measure(what string, round int, campaign string, budget time.Duration) (Record, error) {
	name := fmt.Sprintf("%s-%s-%03d", s.part, strings.NewReplacer(" ", "-", "%", "", ":", "-").Replace(what), round)
	if s.load {
		name += "-loaded"
	}
	file, isText := campaign, strings.ContainsRune(campaign, '\n')
	if isText {
		file = filepath.Join("campaigns", name+".yaml")
		if err := os.WriteFile(filepath.Join(s.dir, file), []byte(campaign), 0o644); err != nil {
			return Record{}, err
		}
	}
	run := filepath.Join("runs", name+".tare")
	// Do not continue the run of an interrupted measurement.
	if err := os.RemoveAll(filepath.Join(s.dir, run)); err != nil {
		return Record{}, err
	}
	args := []string{"run", file, "--out", run, "--yes"}
	if budget > 0 {
		args = append(args, "--budget", budget.String())
	}
	began, err := s.alone(args)
	if err != nil {
		return Record{}, err
	}
	r := Record{Seconds: time.Since(began).Seconds(), Command: shellWords(append([]string{"tare"}, args...))}
	if isText {
		r.Campaign = campaign
	}
	return r, s.read(&r, run)
}

// otherRun is in what tare prints if another tare measures on the machine.
const otherRun = "another tare measures on this host"

// alone starts tare, as soon as no other measures on the machine, and returns when that was.
func (s *session) alone(args []string) (began time.Time, err error) {
	for waits := false; ; waits = true {
		began = time.Now()
		if _, err = s.command(s.tare, args...); err == nil || !strings.Contains(err.Error(), otherRun) {
			return began, err
		}
		if !waits {
			fmt.Fprintf(s.log, "%s: another tare measures on this machine; waiting for it\n", s.part)
		}
		select {
		case <-s.ctx.Done():
			return began, err
		case <-time.After(time.Second):
		}
	}
}

// read fills in what tare exports from a run file.
func (s *session) read(r *Record, file string) error {
	text, err := s.command(s.tare, "export", file, "--format", "json")
	if err != nil {
		return err
	}
	e, err := parseExport(text)
	if err != nil {
		return err
	}
	shown, err := s.command(s.tare, "show", file)
	if err != nil {
		return err
	}
	version, err := s.command(s.tare, "--version")
	if err != nil {
		return err
	}
	r.Version = strings.TrimSpace(string(version))
	r.Run = &Run{
		File: file, Host: hostLine(string(shown)), Userland: e.Run.Userland.Key, Sizes: e.Run.Sizes,
		Comparisons: e.Comparisons, Arms: e.Arms, Argv: e.argv(),
	}
	return nil
}

var hostPattern = regexp.MustCompile(`(?m)^host {2,}(.*(?:\n {6,}\S.*)*)`)

// hostLine returns the line about the host from the output of tare show.
func hostLine(shown string) string {
	m := hostPattern.FindStringSubmatch(shown)
	if m == nil {
		return ""
	}
	return strings.Join(strings.Fields(m[1]), " ")
}

// outputOf returns the raw output of an arm's first trial.
func (s *session) outputOf(file, arm string) (string, error) {
	text, err := s.command(s.tare, "export", file, "--format", "json")
	if err != nil {
		return "", err
	}
	e, err := parseExport(text)
	if err != nil {
		return "", err
	}
	for _, t := range e.Trials {
		if t.Arm == arm && t.Status == "done" {
			text, err := s.command(s.tare, "show", file, "--trial", strconv.Itoa(t.Attempt))
			return string(text), err
		}
	}
	return "", fmt.Errorf("%s has no trial of %s", file, arm)
}

// command runs a program in the directory of the results and returns its standard
// output. If the session is interrupted, the program gets SIGTERM.
func (s *session) command(name string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(s.ctx, name, args...)
	return s.finish(cmd)
}

func (s *session) finish(cmd *exec.Cmd) ([]byte, error) {
	cmd.Dir = s.dir
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) } // nohup leaves SIGINT ignored
	cmd.WaitDelay = time.Minute
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if s.ctx.Err() != nil {
		return nil, errors.New("interrupted")
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w\n%s", shellWords(append([]string{filepath.Base(cmd.Path)}, cmd.Args[1:]...)), err,
			tail(errs.String()+out.String(), 20))
	}
	return out.Bytes(), nil
}

// tail returns the last n lines of text.
func tail(text string, n int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

var plainWord = regexp.MustCompile(`^[A-Za-z0-9_./=:,@%+-]+$`)

// shellWords quotes words for a POSIX shell.
func shellWords(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = w
		if !plainWord.MatchString(w) {
			quoted[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
	}
	return strings.Join(quoted, " ")
}
