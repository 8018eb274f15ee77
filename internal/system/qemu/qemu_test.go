package qemu

import (
	"testing"

	"github.com/tare-bench/tare/internal/system/systemtest"
)

func TestMain(m *testing.M) { systemtest.Main(m) }

func TestConformance(t *testing.T) {
	t.Run("tcg", func(t *testing.T) { systemtest.Run(t, TCG()) })
	t.Run("kvm", func(t *testing.T) { systemtest.Run(t, KVM()) })
}

func BenchmarkSystem(b *testing.B) {
	b.Run("tcg", func(b *testing.B) { systemtest.Bench(b, TCG()) })
	b.Run("kvm", func(b *testing.B) { systemtest.Bench(b, KVM()) })
}
