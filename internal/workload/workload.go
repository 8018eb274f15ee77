// Package workload knows the real programs that tare runs: their command
// lines, the tools they need, how their output is read, and how to tell that
// they did the work they were asked to do. It knows nothing of systems.
package workload

import "time"

// Better says which direction of a metric is good.
type Better string

const (
	Lower  Better = "lower"
	Higher Better = "higher"
)

// Metric is one quantity that a workload reports.
type Metric struct {
	Name   string `json:"name"`
	Unit   string `json:"unit"`
	Better Better `json:"better"`
	About  string `json:"about,omitempty"` // one line: what the figure means and which clock gave it
}

// Step is one command of a trial, run in the guest in /data.
type Step struct {
	Name  string   // unique in the workload: "prepare", "cold", "overwrite"
	Argv  []string // the command; argv[0] is looked up in the guest's PATH
	Timed bool     // part of the measurement; untimed steps prepare and clean up
}

// StepResult is what one step gave back. Nothing in it is trusted.
type StepResult struct {
	Name      string
	Wall      time.Duration // host CLOCK_MONOTONIC around the command
	ExitCode  int
	Signal    string // "" when the command exited by itself
	TimedOut  bool
	Truncated bool // output was longer than the limit and was cut
	Stdout    []byte
	Stderr    []byte
}

// Workload is one real program with its parameters, its parser and its metrics.
type Workload struct {
	Name       string   // as in a campaign file: "openssl-enc"
	Title      string   // one line for people
	ArticleIDs []string // ids of the published workloads that it repeats: "A1-cpu"
	Source     string   // the program and the Debian package that it comes from
	StandIn    string   // not "": which unavailable tool this one stands in for, and how it differs
	Tools      []string // programs that the userland image must have
	Metrics    []Metric // the first is the primary one

	// SizeUnit names what a size counts: "MiB written", "events".
	SizeUnit string
	// MinSize, MaxSize and DefaultSize bound the work of one trial, in SizeUnit.
	// Calibration starts at MinSize and never passes MaxSize.
	MinSize, MaxSize, DefaultSize int64
	// DiskBytes returns the space that a trial of this size needs on the data volume; nil: none.
	DiskBytes func(size int64) int64
	// ReadsBack says that the host's page cache must be dropped before a trial.
	ReadsBack bool

	// Steps returns the commands of one trial.
	Steps func(size int64) []Step
	// Parse reads raw output of the tool, stdout and stderr together in any
	// order, as a trial or a user's saved file holds it, into metric values.
	// Values that only the host's clock can give are absent unless the text
	// holds the output of time(1) or of the shell's time.
	Parse func(output []byte) (map[string]float64, error)
	// Evaluate turns the results of a trial's steps into metric values, or says
	// why the trial does not count: exit status, output or work done are wrong.
	Evaluate func(size int64, results []StepResult) (map[string]float64, error)
}
