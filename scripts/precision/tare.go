package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Run is the recorded part of a run of tare; all of it is also in the run file.
type Run struct {
	File        string       `json:"file"` // in the directory of the results
	Host        string       `json:"host"` // tare's line about the host
	Userland    string       `json:"userland"`
	Sizes       []Size       `json:"sizes"`
	Comparisons []Comparison `json:"comparisons"`
	Arms        []Arm        `json:"arms"`
	// Argv are the timed commands, by workload.
	Argv map[string][]string `json:"argv"`
}

// Size is the work of a trial.
type Size struct {
	Workload string `json:"workload"`
	Size     int64  `json:"size"`
	Unit     string `json:"unit"`
}

// Comparison is the part of an exported comparison that this program uses.
// docs/export.md describes the fields.
type Comparison struct {
	Workload string  `json:"workload"`
	Metric   string  `json:"metric"`
	Primary  bool    `json:"primary"`
	Arm      string  `json:"arm"`
	Control  bool    `json:"control"`
	Family   string  `json:"family,omitempty"`
	N        int     `json:"n"`
	Units    int     `json:"units,omitempty"`
	Scope    string  `json:"scope,omitempty"`
	Phi      float64 `json:"phi,omitempty"`
	Ratio    float64 `json:"ratio"`
	Low      float64 `json:"ci_low"`
	High     float64 `json:"ci_high"`
	Verdict  string  `json:"verdict"`
}

// Arm has the results of one arm on a workload.
type Arm struct {
	Arm      string   `json:"arm"`
	Workload string   `json:"workload"`
	System   string   `json:"system"`
	Scenario string   `json:"scenario"`
	Emulated bool     `json:"emulated,omitempty"`
	Failures int      `json:"failures"`
	Metrics  []Series `json:"metrics"`
	Probes   []Series `json:"probes"`
}

// Series describes the values of one metric or probe.
type Series struct {
	Name   string  `json:"name"`
	N      int     `json:"n"`
	Median float64 `json:"median"`
	SD     float64 `json:"sd"`
}

// cpuTime is the metric that gets a verdict in addition to the primary one.
const cpuTime = "cpu-time"

// counts reports whether c is of a metric that gets a verdict, and not of the control.
func (c Comparison) counts() bool { return !c.Control && (c.Primary || c.Metric == cpuTime) }

// has reports whether c has an interval.
func (c Comparison) has() bool { return c.Low > 0 && c.High > 0 }

// excludes reports whether the interval excludes a cost of 0.
func (c Comparison) excludes() bool { return c.has() && (c.Low > 1 || c.High < 1) }

// claimed reports whether the verdict is costs or gains.
func (c Comparison) claimed() bool { return c.Verdict == "costs" || c.Verdict == "gains" }

// export is the part of tare's JSON export that this program reads.
type export struct {
	Format int `json:"tare_export"`
	Run    struct {
		Complete   bool   `json:"complete"`
		Incomplete string `json:"incomplete"`
		Sizes      []Size `json:"sizes"`
		Userland   struct {
			Key string `json:"key"`
		} `json:"userland"`
	} `json:"run"`
	Comparisons []Comparison `json:"comparisons"`
	Arms        []Arm        `json:"arms"`
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
	if e.Format != 3 {
		return nil, fmt.Errorf("tare's export has version %d, but this program reads version 3", e.Format)
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
func (r *Run) arm(name, workload string) *Arm {
	i := slices.IndexFunc(r.Arms, func(a Arm) bool { return a.Arm == name && a.Workload == workload })
	if i < 0 {
		return nil
	}
	return &r.Arms[i]
}

// median returns the median of one of the arm's metrics or probes; 0: none.
func (a *Arm) median(name string) float64 {
	if a == nil {
		return 0
	}
	for _, s := range slices.Concat(a.Metrics, a.Probes) {
		if s.Name == name {
			return s.Median
		}
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
	began := time.Now()
	if _, err := s.command(s.tare, args...); err != nil {
		return Record{}, err
	}
	r := Record{Seconds: time.Since(began).Seconds(), Command: shellWords(append([]string{"tare"}, args...))}
	if isText {
		r.Campaign = campaign
	}
	return r, s.read(&r, run)
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
// output. If the session is interrupted, the program gets SIGINT.
func (s *session) command(name string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(s.ctx, name, args...)
	return s.finish(cmd)
}

func (s *session) finish(cmd *exec.Cmd) ([]byte, error) {
	cmd.Dir = s.dir
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
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
