package gvisor

import (
	"testing"

	"github.com/tare-bench/tare/internal/system/systemtest"
)

func TestMain(m *testing.M) { systemtest.Main(m) }

func TestConformance(t *testing.T) {
	t.Run("systrap", func(t *testing.T) { systemtest.Run(t, Systrap()) })
	t.Run("ptrace", func(t *testing.T) { systemtest.RunBriefly(t, Ptrace()) })
	t.Run("kvm", func(t *testing.T) { systemtest.RunBriefly(t, KVM()) })
}

func TestRestored(t *testing.T) {
	t.Run("systrap", func(t *testing.T) { systemtest.Restored(t, Systrap()) })
	t.Run("ptrace", func(t *testing.T) { systemtest.Restored(t, Ptrace()) })
}

func TestLoop(t *testing.T) {
	t.Run("systrap", func(t *testing.T) { systemtest.Loop(t, Systrap()) })
	t.Run("ptrace", func(t *testing.T) { systemtest.Loop(t, Ptrace()) })
}

func BenchmarkSystem(b *testing.B) {
	b.Run("systrap", func(b *testing.B) { systemtest.Bench(b, Systrap()) })
	b.Run("ptrace", func(b *testing.B) { systemtest.Bench(b, Ptrace()) })
}

func TestHostile(t *testing.T) {
	t.Run("systrap", func(t *testing.T) { systemtest.Hostile(t, Systrap()) })
	t.Run("ptrace", func(t *testing.T) { systemtest.Hostile(t, Ptrace()) })
}
