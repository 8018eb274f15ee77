// Package workload knows the real programs that tare runs: their command
// lines, the tools they need, how their output is read, and how to tell that
// they did the work they were asked to do. It knows nothing of systems.
package workload

import (
	"slices"
	"strings"
	"time"

	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/nearest"
)

// Better says which direction of a metric is good.
type Better string

const (
	Lower  Better = "lower"
	Higher Better = "higher"
)

// Clock says which clock a metric was measured with.
type Clock string

const (
	HostClock  Clock = "host"  // the host's monotonic clock around the command
	GuestClock Clock = "guest" // the guest's own, as the tool read it: it may lie
)

// Suffixes of metrics that belong to the metric of the same name without them.
const (
	// FlushedSuffix: the same with the flush included. A guest that looks
	// faster than the host has usually not written its data yet.
	FlushedSuffix = "-flushed"
	// GuestSuffix: the same time by the tool's own clock in the guest. It is
	// there to be compared with the host's, not to be believed. The host's is
	// longer by the start and the end of the tool: a few milliseconds, but some
	// 0.3 s with fio.
	GuestSuffix = "-guest"
)

// Metric is one quantity that a workload reports.
type Metric struct {
	Name   string `json:"name"`
	Unit   string `json:"unit"`
	Better Better `json:"better"`
	Clock  Clock  `json:"clock"`
	About  string `json:"about,omitempty"` // one line: what the figure means
}

// Step is one command of a trial, run in the guest in /data. The steps of a
// trial run one after the other; the first that fails ends the trial. There is
// no pause between timed steps, since a guest goes on flushing in it.
type Step struct {
	Name  string   // unique in the workload: "prepare", "cold", "overwrite"
	Argv  []string // the command; argv[0] is looked up in the guest's PATH
	Timed bool     // part of the measurement; untimed steps prepare and clean up
	// DropCaches says that the host's page cache must be dropped right before
	// this step: it reads what an earlier step of the same trial wrote.
	DropCaches bool
	Timeout    time.Duration // 0: the campaign's
	// Background says that the command is a server, in the foreground of its
	// process group: the next step begins when Ready succeeds, and the server
	// gets SIGTERM when the trial's last step has ended.
	Background bool
	// ServersEnded says that the trial's servers are ended before this step.
	ServersEnded bool
	// Ready is a command that succeeds when the server can be used; it is run
	// until it does. nil: the server is ready at once.
	Ready []string
}

// ServerAddress, anywhere in a step's command, stands for the IP address where
// the serving side of the workload listens and can be reached.
const ServerAddress = "{server}"

// At returns steps with the address of the serving side put in.
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

// StepResult is what one step gave back. Nothing in it is trusted.
type StepResult struct {
	Name      string
	Wall      time.Duration // host CLOCK_MONOTONIC around the command
	ExitCode  int
	Signal    string // "" when the command exited by itself
	TimedOut  bool
	Truncated bool // output was longer than the limit and was cut
	Stopped   bool // a background step that ran until it was told to end
	Stdout    []byte
	Stderr    []byte
}

// Setup is a script that is run once, when the userland image is built, as root
// in its tree when the packages are installed: for the first data of a database
// and other things that packages alone do not bring. bash runs it with -eu and
// pipefail and without a network; it leaves its results in /opt/tare/NAME and
// nothing running. Workloads may share one.
type Setup struct{ Name, Script string }

// Workload is one real program with its parameters, its parser and its metrics.
type Workload struct {
	Name       string   // as in a campaign file: "openssl-enc"
	Title      string   // one line for people
	ArticleIDs []string // ids of the published workloads that it repeats: "A1-cpu"
	Source     string   // the program and the Debian package that it comes from
	StandIn    string   // not "": which unavailable tool this one stands in for, and how it differs
	OwnBuild   bool     // the program is in no package: only a user who gives a build of it can run it, see Built
	Tools      []string // programs that the userland image must have
	Packages   []string // Debian packages that have the Tools
	NonFree    bool     // some of the Packages are in Debian's contrib or non-free: only a user who asks gets them
	Setups     []Setup  // what the image must have besides the packages
	Metrics    []Metric // the first is the primary one

	// Params are what a campaign may set; nil: nothing. Settings are what they
	// are set to in this workload; With makes it with others.
	Params   []Param
	Settings Settings
	build    func(Settings) *Workload // nil: it has no parameters

	// SizeUnit names what a size counts: "MiB written", "events".
	SizeUnit string
	// MinSize, MaxSize and DefaultSize bound the work of one trial, in SizeUnit.
	// Calibration starts at MinSize and never passes MaxSize.
	MinSize, MaxSize, DefaultSize int64
	// Uneven says why time is not in proportion to the size; "": it is.
	Uneven string
	// DiskBytes returns the space that a trial of this size needs on the data volume; nil: none.
	DiskBytes func(size int64) int64
	// WrittenBytes returns what the timed steps of a trial of this size write
	// to the data volume; nil: nothing, or nobody knows.
	WrittenBytes func(size int64) int64
	// ReadsBack says that the host's page cache must be dropped during a trial,
	// before each step with DropCaches.
	ReadsBack bool

	// Sparse says that a trial may lack values of metrics other than the first:
	// what the tool did not measure is absent.
	Sparse bool

	// Serve returns the steps of the serving side, if the workload has one:
	// they come before those of Steps, in the same guest or in its partner.
	Serve func(size int64) []Step
	// Steps returns the commands of one trial.
	Steps func(size int64) []Step
	// Parse reads raw output of one run of the tool, stdout and stderr together
	// in any order, as a trial or a user's saved file holds it, into metric
	// values. The run may have had other parameters than those of Steps. Values
	// that only the host's clock can give are absent unless the text holds the
	// output of time(1) or of the shell's time. All values are finite and
	// positive. Output of a run that failed is an error.
	Parse func(output []byte) (map[string]float64, error)
	// Evaluate turns the results of a trial's steps into metric values, one for
	// each of Metrics, or says why the trial does not count: exit status, output
	// or work done are wrong. It does not judge the guest's clock.
	Evaluate func(size int64, results []StepResult) (map[string]float64, error)
}

// Trial returns the commands of one trial in a guest that is its own partner,
// whose servers listen at address.
func (w *Workload) Trial(size int64, address string) []Step {
	before, measured, after := w.Sides(size, address)
	return slices.Concat(before, measured, after)
}

// Sides returns the commands of one trial: the serving side's, which listens at
// address; those of the side that is measured; and what the serving side does
// when its servers have ended.
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

// All returns every workload that tare brings along, in the order to show them.
func All() []*Workload {
	return append([]*Workload{
		opensslEnc(),
		ddWrite(),
		ddRead(),
		untarKernel(kernelSource),
		cpioRead(kernelSource),
		tarCreate(kernelSource),
		kernelBuild(),
		stressExec(),
		fioRandom("read"),
		fioRandom("write"),
		tiobench("read"),
		tiobench("randread"),
		tiobench("write"),
		tiobench("randwrite"),
		fileCopy(),
		fioFiles(),
		bonnie(),
		ioping(),
		sysbenchCPU(),
		sysbenchMemory("read"),
		sysbenchMemory("write"),
		mbw(),
		pipeCopy(),
		sysbenchThreads(),
		sysbenchMutex(),
		sysbenchFileio(),
		hackbench("pipe"),
		hackbench("socket"),
		cyclictest(),
		perfBench(),
		kernelBench(),
		bogomips(),
		iozone(),
		lmbench(),
		lmbenchMemory(),
		lmbenchPipe(),
		unixbenchCopy(),
		tiotest(),
		nbench(),
		ttcp(),
	}, services()...)
}

// Runs says in a few words what w runs: the tool that the articles had, a
// stand-in for it, or a build of it that the user must give.
func (w *Workload) Runs() string {
	switch {
	case w.OwnBuild:
		return "needs your build"
	case w.StandIn != "":
		return "stand-in"
	}
	return "tool"
}

// Get returns the workload of that name; the error for an unknown one suggests
// the nearest name.
func Get(name string) (*Workload, error) {
	var names []string
	for _, w := range All() {
		if w.Name == name {
			return w, nil
		}
		names = append(names, w.Name)
	}
	err := fault.Campaignf("there is no workload %q", name)
	if n := nearest.Nearest(name, names); n != "" {
		return nil, fault.WithRemedy(err, "did you mean %q?", n)
	}
	return nil, fault.WithRemedy(err, "choose one of %s", strings.Join(names, ", "))
}
