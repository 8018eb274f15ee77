package qemu

import (
	"testing"

	"github.com/tare-bench/tare/internal/agent"
	"github.com/tare-bench/tare/internal/system"
	"github.com/tare-bench/tare/internal/system/systemtest"
)

func TestMain(m *testing.M) { systemtest.Main(m) }

func TestConformance(t *testing.T) {
	t.Run("tcg", func(t *testing.T) { systemtest.Run(t, TCG()) })
	t.Run("kvm", func(t *testing.T) { systemtest.Run(t, KVM()) })
}

// TestCache: with the default a flush in the guest brings the data to the
// device; with "unsafe" the guest is told so and it is not there.
func TestCache(t *testing.T) {
	const bytes = 32 << 20
	for _, c := range []struct {
		cache   string
		arrives bool
	}{{"", true}, {"unsafe", false}} {
		t.Run("cache="+c.cache, func(t *testing.T) {
			f := systemtest.Flavor()
			if c.cache != "" {
				f.Options = map[string]string{"cache": c.cache}
			}
			m := systemtest.Launch(t, TCG(), "cache", f)
			before, err := m.Written()
			if err != nil {
				t.Fatal(err)
			}
			res, err := m.Agent.Run(t.Context(), agent.Command{
				Argv: []string{"dd", "if=/dev/zero", "of=data", "bs=1M", "count=32", "conv=fsync"}, Env: system.AgentEnv, Dir: m.DataDir(),
			})
			if err != nil || res.ExitCode != 0 {
				t.Fatalf("%+v, %v", res, err)
			}
			after, err := m.Written()
			if err != nil {
				t.Fatal(err)
			}
			if got := after - before; got >= bytes != c.arrives {
				t.Errorf("of %d bytes written and flushed, %d reached the device", bytes, got)
			}
		})
	}
}

func BenchmarkSystem(b *testing.B) {
	b.Run("tcg", func(b *testing.B) { systemtest.Bench(b, TCG()) })
	b.Run("kvm", func(b *testing.B) { systemtest.Bench(b, KVM()) })
}
