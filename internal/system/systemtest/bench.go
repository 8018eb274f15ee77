package systemtest

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tare-bench/tare/internal/agent"
	"github.com/tare-bench/tare/internal/probe"
	"github.com/tare-bench/tare/internal/system"
)

// Bench measures what tare itself costs on a system: the round trip of an empty
// trial, and tare's own CPU time while a trial runs.
func Bench(b *testing.B, d system.Driver) {
	m := Launch(b, d, "bench", Flavor())
	run := func(b *testing.B, argv ...string) {
		b.Helper()
		r, err := m.Agent.Run(b.Context(), agent.Command{Argv: argv, Env: system.AgentEnv, Dir: "/data", Timeout: time.Minute})
		if err != nil || r.ExitCode != 0 {
			b.Fatal(err, r)
		}
	}
	b.Run("empty-trial", func(b *testing.B) {
		for b.Loop() {
			if err := m.Thaw(b.Context()); err != nil {
				b.Fatal(err)
			}
			run(b, "true")
			if err := m.Freeze(b.Context()); err != nil {
				b.Fatal(err)
			}
		}
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

// ownCPU is the CPU time of this process so far.
func ownCPU(b *testing.B) time.Duration {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
