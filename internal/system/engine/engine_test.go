package engine

import (
	"testing"

	"github.com/tare-bench/tare/internal/system/systemtest"
)

func TestMain(m *testing.M) { systemtest.Main(m) }

func TestConformance(t *testing.T) {
	t.Run("docker", func(t *testing.T) { systemtest.Run(t, Docker()) })
	t.Run("podman", func(t *testing.T) { systemtest.RunBriefly(t, Podman()) })
}

func TestConfined(t *testing.T) {
	for _, d := range []*Driver{Docker(), Podman()} {
		t.Run(d.Name(), func(t *testing.T) { systemtest.Confined(t, d, true) })
	}
}

func TestLoop(t *testing.T) {
	for _, d := range []*Driver{Docker(), Podman()} {
		t.Run(d.Name(), func(t *testing.T) { systemtest.Loop(t, d) })
	}
}

func BenchmarkSystem(b *testing.B) {
	for _, d := range []*Driver{Docker(), Podman()} {
		b.Run(d.Name(), func(b *testing.B) { systemtest.Bench(b, d) })
	}
}

func TestHostile(t *testing.T) {
	for _, d := range []*Driver{Docker(), Podman()} {
		t.Run(d.Name(), func(t *testing.T) { systemtest.Hostile(t, d) })
	}
}
