// Package workload says what a workload is: a real program with its command lines, the programs that
// the image needs for it, its metrics and parameters, and the checks that a trial did the requested
// work. Package builtin below it has tare's own workloads; Custom makes one that a campaign defines.
// Package tool reads the output of the programs. None of them depends on systems.
package workload

import (
	"slices"
	"strings"
	"time"

	"github.com/tare-bench/tare/internal/histogram"
	"github.com/tare-bench/tare/internal/model"
	"github.com/tare-bench/tare/internal/workload/tool"
)

// Better says which direction of a metric is good.
type Better = tool.Better

// The directions of metrics.
const (
	Lower  = tool.Lower
	Higher = tool.Higher
)

// Clock says which clock a metric was measured with.
type Clock string

const (
	HostClock  Clock = "host"  // the host's monotonic clock around the command
	GuestClock Clock = "guest" // the guest's own clock, as the tool read it: it may be wrong
)

// Suffixes of metrics that belong to the metric of the same name without them.
const (
	// FlushedSuffix: the same metric with the flush included. A guest that looks
	// faster than the host has usually not written its data yet.
	FlushedSuffix = "-flushed"
	// GuestSuffix: the same time by the tool's own clock in the guest, for
	// comparison with the host's time; do not rely on it alone. The host's time
	// also includes the start and the end of the tool: a few milliseconds, but
	// about 0.3 s for fio.
	GuestSuffix = "-guest"
)

// Metrics of a workload that Creates, besides its time.
const (
	StopTime    = "stop-time"
	RemoveTime  = "remove-time"
	StartMemory = "peak-memory"
)

// Metrics of a workload that Restores, besides its time and the ends of its guest, which package run measures.
const (
	SaveTime  = "save-time"
	SavedSize = "saved-size"
	FreshTime = "fresh-time" // that of a workload that only Creates, of the same guest
)

// Steps of a workload that Restores, besides the timed one.
const (
	FreshStep = "fresh"
	KeepStep  = "keep"
)

// Metric is one quantity that a workload reports.
type Metric struct {
	Name   string `json:"name"`
	Unit   string `json:"unit"`
	Better Better `json:"better"`
	Clock  Clock  `json:"clock"`
	About  string `json:"about,omitempty"` // the meaning of the figure, in one line
	// Figure is the name of the figure of the tool that the metric is, in whatever unit the tool prints
	// it; "": a time by the host's clock, or calculated.
	Figure string `json:"-"`
}

// Step is one command of a trial, run in the guest in /data. The steps of a
// trial run one after the other; the first failure ends the trial. There is
// no pause between timed steps, because a guest would go on flushing during it.
type Step struct {
	Name  string   // unique in the workload: "prepare", "cold", "overwrite"
	Argv  []string // the command; argv[0] is looked up in the guest's PATH
	Timed bool     // part of the measurement; untimed steps prepare and clean up
	// DropCaches: what the page cache holds of the data volume and of the step's program must
	// be dropped immediately before this step, because the step reads data that an earlier step
	// of the trial wrote. DropNames: and what the kernel remembers of names and inodes, because
	// the step walks through many files. Where host and guest share a kernel, that drops the
	// caches of the whole host.
	DropCaches, DropNames bool
	Timeout               time.Duration // 0: the campaign's
	// Background: the command is a server that stays in the foreground of its
	// process group. The next step begins when Ready succeeds, and the server
	// gets SIGTERM after the trial's last step.
	Background bool
	// ServersEnded: the trial's servers are stopped before this step.
	ServersEnded bool
	// Ready is a command that succeeds when the server can be used; it is
	// repeated until it succeeds. nil: the server is ready at once.
	Ready []string
	// As is how the program of a container image runs; nil: as root with tare's environment, in the
	// data directory.
	As *Process
}

// Process is the environment of a container image's program.
type Process struct {
	Env      []string
	Dir      string // working directory
	UID, GID uint32
	Groups   []uint32 // supplementary ones
	// Dirs are directories on the data volume, relative to it, to make and to give to the account, as the volume is.
	Dirs []string
}

// ServerAddress, anywhere in a step's command, stands for the IP address of the
// workload's serving side.
const ServerAddress = "{server}"

// At returns steps with ServerAddress replaced by address.
func At(steps []Step, address string) []Step { return replaced(steps, ServerAddress, address) }

// replaced returns steps with one word of their commands replaced.
func replaced(steps []Step, word, by string) []Step {
	put := func(argv []string) []string {
		argv = slices.Clone(argv)
		for i := range argv {
			argv[i] = strings.ReplaceAll(argv[i], word, by)
		}
		return argv
	}
	steps = slices.Clone(steps)
	for i := range steps {
		steps[i].Argv, steps[i].Ready = put(steps[i].Argv), put(steps[i].Ready)
	}
	return steps
}

// StepResult is the result of one step. Nothing in it is trusted.
type StepResult struct {
	Name      string
	Wall      time.Duration // host CLOCK_MONOTONIC around the command
	ExitCode  int
	Signal    string // "" when the command exited by itself
	TimedOut  bool
	Truncated bool // output was longer than the limit and was cut
	Stopped   bool // a background step that ran until tare stopped it
	Stdout    []byte
	Stderr    []byte
}

// Setup is a script that runs once while the userland image is built, as root in
// the image's tree, after the packages are installed. It creates what packages do
// not contain, such as the initial data of a database. bash runs it with -eu and
// pipefail and without a network. It must put its results in /opt/tare/NAME and
// leave no process running. Workloads may share a setup.
type Setup struct{ Name, Script string }

// Workload is one real program with its parameters, its parser and its metrics.
type Workload struct {
	Name       string   // as in a campaign file: "openssl-enc"
	Title      string   // one line for people
	ArticleIDs []string // ids of the published workloads that this one repeats: "A1-cpu"
	Source     string   // the program and the Debian package that it comes from
	StandIn    string   // not "": the unavailable tool that this one replaces, and the differences
	OwnBuild   bool     // no package has the program: the user must supply a build, see Built
	Programs   []string // that the userland image must have
	Packages   []string // Debian packages that contain the Programs
	NonFree    bool     // some Packages are in Debian's contrib or non-free: used only on request
	Setups     []Setup  // what the image needs besides the packages
	Brings     []string // those of Programs that no package contains because they are tare's own, see agentbin.Named
	Metrics    []Metric // the first is the primary one
	Curves     []Curve  // quantities that each trial measures at several values of a parameter; nil: none

	// Params are the parameters that a campaign may set; nil: none. Settings are
	// their values in this workload; With returns it with other values.
	Params   []Param
	Settings Settings
	build    func(Settings) *Workload // nil: it has no parameters

	// SizeUnit is the unit of sizes: "MiB written", "events". Run files store it.
	SizeUnit string
	// MinSize, MaxSize and DefaultSize bound the work of one trial, in SizeUnit.
	// Calibration starts at MinSize and never exceeds MaxSize.
	MinSize, MaxSize, DefaultSize int64
	// Uneven is the reason why time is not proportional to the size; "": it is.
	Uneven string
	// DiskBytes returns the space that a trial of this size needs on the data
	// volume; nil: none.
	DiskBytes func(size int64) int64
	// RawDevice: the data volume has no file system, and a trial uses its device, model.RawDevice in its directory.
	// DiskBytes is how much of it.
	RawDevice bool
	// Keeps returns the files that a trial of this size leaves on the data volume for later trials of the same guest;
	// nil: none. The trial checks the files that it finds, and makes those anew that are missing or not whole.
	// DiskBytes includes them.
	Keeps func(size int64) Kept
	// WrittenBytes returns how much the timed steps of a trial of this size write
	// to the data volume; nil: nothing, or not known.
	WrittenBytes func(size int64) int64
	// Cached: what a trial stores stays in the page cache while it works, so that it hardly waits for the disk.
	Cached bool
	// ReadBytes returns how much the timed steps with DropCaches of a trial of this size read from the data volume, each
	// byte once; nil: nothing, or not known.
	ReadBytes func(size int64) int64
	// ReadsBack: a trial has steps with DropCaches.
	ReadsBack bool

	// RealTime: its program wants to use real-time priorities. Guests' groups get a budget for that during its timed
	// steps, if the host's kernel has such budgets.
	RealTime bool
	// Creates: a trial creates its guests itself and removes them. The time of its only step is from
	// the request for the guest to the first instruction of the step's program, and its other metrics
	// are StopTime, RemoveTime and StartMemory. Cold: the host's page cache is dropped before.
	Creates, Cold bool
	// Fill: a trial, which Creates, fills the host with guests. nil: it creates those of its arm.
	Fill *Fill

	// Restores: the guest that Creates made is saved and restored before its time is taken: the time is from
	// the request to restore it. The step of KeepStep keeps a line of its input, the nonce, in memory
	// over that, and when it gets SIGTERM it prints the nonce first and ends with status 0. The step FreshStep is
	// the timed step, in the new guest before it is saved. Further metrics are those from SaveTime on.
	Restores bool

	// Searches: a trial does as much work as the system can do, so that its CPU time is not that of the same work.
	Searches bool

	// Sparse: a trial may lack values of metrics other than the first, where the
	// tool did not measure them.
	Sparse bool

	// Serve returns the steps of the serving side, if the workload has one. They
	// run before those of Steps, in the same guest or in its partner.
	Serve func(size int64) []Step
	// Steps returns the commands of one trial.
	Steps func(size int64) []Step
	// Parse reads metric values from the raw output of one run of the tool: stdout
	// and stderr together in any order, from a trial or a file that a user saved.
	// The run may have had other parameters than those of Steps. Values that need
	// the host's clock are absent unless the text contains the output of time(1)
	// or of the shell's time. All values are finite and positive. The output of a
	// failed run is an error.
	Parse func(output []byte) (map[string]float64, error)
	// Tool is the reader, of package tool, of the output that Parse reads; "": the workload has a reader of its own.
	Tool string
	// Evaluate turns the results of a trial's steps into metric values, one for
	// each of Metrics. The error says why the trial does not count: wrong exit
	// status, wrong output or wrong amount of work. It does not check the guest's
	// clock.
	Evaluate func(size int64, results []StepResult) (map[string]float64, error)

	// Latencies returns the single latencies of a trial that Evaluate has accepted; nil: the tool prints none.
	// SingleOf is the metric that describes them with one number, such as their mean.
	Latencies func(results []StepResult) (*histogram.Histogram, error)
	SingleOf  string
	// AtRate returns what a trial that Evaluate has accepted says about its requests at a constant rate; nil: it
	// makes none.
	AtRate func(results []StepResult) (Rates, error)
	// Packets returns what a trial that Evaluate has accepted says about the packets that the measured side sent to the
	// serving side; nil: it counts none.
	Packets func(results []StepResult) (Packets, error)
}

// Kept are files that a trial leaves for later ones. Those of one name are the same files,
// whichever workload left them.
type Kept struct {
	Name  string
	Bytes int64 // of all of them
}

// Kind says what a trial does, and so which probes it has.
func (w *Workload) Kind() model.WorkloadKind {
	switch {
	case w.Fill != nil:
		return model.Fills
	case w.Creates:
		return model.Starts
	case w.AtRate != nil:
		return model.AtRate
	case w.Packets != nil:
		return model.CountsPackets
	}
	return model.Commands
}

// littleDisk is how much a workload may store that has no disk's time in it.
const littleDisk = 1 << 20

// Computes reports whether the cost of w is the CPU time that it takes: it only runs commands, which neither wait for a
// server nor, unless what they store is cached, use the disk.
func (w *Workload) Computes() bool {
	return w.Kind() == model.Commands && w.Serve == nil && !w.ReadsBack && !w.RealTime &&
		(w.DiskBytes == nil || w.Cached || w.DiskBytes(w.MinSize) <= littleDisk)
}

// DropsHost reports whether trials of the workload drop the caches of the whole host.
func (w *Workload) DropsHost() bool {
	return w.Cold || w.ReadsBack && slices.ContainsFunc(w.Trial(w.MinSize, ServerAddress), func(s Step) bool {
		return s.DropNames
	})
}

// Rates are those of requests that are due at a constant rate, whether or not the server keeps up.
type Rates struct {
	Stated   float64 // requests a second that were due
	Achieved float64 // answers a second
	Late     float64 // share of the requests that the load generator sent late by its own fault
}

// Packets are those of one trial.
type Packets struct {
	Asked    float64 // 1/s that the sender was told to send; 0: as many as it can
	Seconds  float64 // for which it sent, by the guest's clock
	Sent     float64 // that its kernel accepted
	Received float64
	Lost     float64 // less than what is missing, if some are still on their way at the end
	Socket   float64 // of Lost, those that arrived and found the socket's buffer full; below 0: not known
}

// Trial returns the commands of one trial in a guest that is its own partner;
// its servers listen at address.
func (w *Workload) Trial(size int64, address string) []Step {
	before, measured, after := w.Sides(size, address)
	return slices.Concat(before, measured, after)
}

// Sides returns the commands of one trial: those of the serving side, which
// listens at address; those of the measured side; and those that the serving side
// runs after its servers have stopped.
func (w *Workload) Sides(size int64, address string) (before, measured, after []Step) {
	if w.Serve != nil {
		for _, s := range w.Serve(size) {
			if s.ServersEnded {
				after = append(after, s)
			} else {
				before = append(before, s)
			}
		}
	}
	return At(before, address), At(w.Steps(size), address), At(after, address)
}

// Runs says in a few words what w runs: the tool that the articles used, a
// stand-in for it, or a build of it that the user must supply.
func (w *Workload) Runs() string {
	switch {
	case w.OwnBuild:
		return "needs your build"
	case w.StandIn != "":
		return "stand-in"
	}
	return "tool"
}

// OwnBuildPath, anywhere in a step's command, stands for the path in the guest of
// the directory or file that the user supplies.
const OwnBuildPath = "{build}"

// Built returns the workload with OwnBuildPath replaced by path.
func (w *Workload) Built(path string) *Workload {
	built := *w
	built.Steps = func(size int64) []Step { return replaced(w.Steps(size), OwnBuildPath, path) }
	if w.Serve != nil {
		built.Serve = func(size int64) []Step { return replaced(w.Serve(size), OwnBuildPath, path) }
	}
	return &built
}
