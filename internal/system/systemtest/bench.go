package systemtest

import (
	"runtime"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tare-bench/tare/internal/agent"
	"github.com/tare-bench/tare/internal/probe"
	"github.com/tare-bench/tare/internal/prompt"
	"github.com/tare-bench/tare/internal/system"
)

// Bench measures tare's own cost on a system: the median of each phase of a trial whose command
// does nothing, and tare's CPU time while a trial runs.
func Bench(b *testing.B, d system.Driver) {
	m := Launch(b, d, "bench", Request())
	run := func(b *testing.B, argv ...string) *agent.Result {
		b.Helper()
		r, err := m.Agent.Run(b.Context(), agent.Command{Argv: argv, Env: system.AgentEnv, Dir: m.DataDir(),
			Timeout: time.Minute})
		if err != nil || r.ExitCode != 0 {
			b.Fatal(err, r)
		}
		return r
	}
	b.Run("empty-trial", func(b *testing.B) {
		watch := probe.Start()
		defer watch.Close()
		var phases phases
		for b.Loop() {
			emptyTrial(b, m, watch, &phases, run)
		}
		phases.report(b)
	})
	b.Run("own-cpu", func(b *testing.B) {
		if err := m.Thaw(b.Context()); err != nil {
			b.Fatal(err)
		}
		watch := probe.Start()
		defer watch.Close()
		begin, before := time.Now(), ownCPU(b)
		for b.Loop() {
			w, err := watch.Begin(m)
			if err != nil {
				b.Fatal(err)
			}
			run(b, "sleep", "10")
			if _, err := w.End(); err != nil {
				b.Fatal(err)
			}
		}
		share := float64(ownCPU(b)-before) / float64(time.Since(begin))
		b.ReportMetric(100*share, "%-of-a-CPU")
	})
}

// ownCPU returns the CPU time of this process so far.
func ownCPU(b *testing.B) time.Duration {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// emptyTrial goes through a trial as a run does, except for the journal, which package store
// measures.
func emptyTrial(b *testing.B, m *system.Machine, watch *probe.Watch, p *phases,
	run func(*testing.B, ...string) *agent.Result) {
	must := func(err error) {
		if err != nil {
			b.Fatal(err)
		}
	}
	exchanges := 8
	if m.Driver.Capabilities().SameKernel {
		exchanges = 2
	}
	p.begin()
	relax := prompt.Begin([]int{runtime.NumCPU() - 1}) // the CPU of Flavor
	p.end("prompt")
	must(m.Thaw(b.Context()))
	p.end("thaw")
	_, err := m.Agent.Clock(b.Context(), exchanges)
	must(err)
	p.end("clock")
	run(b, "true")
	p.end("step") // such as a step of the setup or cleanup
	w, err := watch.Begin(m)
	must(err)
	p.end("probes-before")
	r := run(b, "true")
	p.add("start", time.Duration(r.HostStart-p.last))
	p.add("timed", r.HostWall())
	p.last = r.HostEnd
	p.end("rest") // of the output and of the agent's report
	_, err = w.End()
	must(err)
	p.end("probes-after")
	must(m.Freeze(b.Context()))
	p.end("freeze")
	relax()
	p.end("relax")
}

// phases are the phases of trials and their durations.
type phases struct {
	last  int64 // end of the last phase on the host's clock, ns
	names []string
	took  map[string][]float64 // ns
}

func (p *phases) begin() { p.last = agent.Monotonic() }

// end ends the phase that began when the previous one ended.
func (p *phases) end(name string) {
	now := agent.Monotonic()
	p.add(name, time.Duration(now-p.last))
	p.last = now
}

func (p *phases) add(name string, d time.Duration) {
	if p.took == nil {
		p.took = map[string][]float64{}
	}
	if p.took[name] == nil {
		p.names = append(p.names, name)
	}
	p.took[name] = append(p.took[name], float64(d))
}

// report reports the median of each phase.
func (p *phases) report(b *testing.B) {
	for _, name := range p.names {
		v := p.took[name]
		slices.Sort(v)
		b.ReportMetric(v[len(v)/2], name+"-ns")
	}
}
