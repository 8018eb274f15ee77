package qemu

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"

	"github.com/tare-bench/tare/internal/agent"
	"github.com/tare-bench/tare/internal/cgroup"
	"github.com/tare-bench/tare/internal/network"
	"github.com/tare-bench/tare/internal/system"
	"github.com/tare-bench/tare/internal/system/systemtest"
	"github.com/tare-bench/tare/internal/volume"
)

func TestMain(m *testing.M) { systemtest.Main(m) }

func TestConformance(t *testing.T) {
	t.Run("tcg", func(t *testing.T) { systemtest.Run(t, TCG()) })
	t.Run("kvm", func(t *testing.T) { systemtest.Run(t, KVM()) })
}

func TestLoop(t *testing.T) {
	t.Run("tcg", func(t *testing.T) { systemtest.SoakLoop(t, TCG()) })
	t.Run("kvm", func(t *testing.T) { systemtest.SoakLoop(t, KVM()) })
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

// TestOwnFile: a machine with its disk in a file that it opens itself, on QEMU's
// own network, over which it reaches the host.
func TestOwnFile(t *testing.T) {
	f := systemtest.Flavor()
	f.Backing, f.DiskFS, f.Network = volume.QCOW2, "ext2", network.User
	f.Options = map[string]string{"cache": "writeback", "iothread": "on"}
	m := systemtest.Launch(t, TCG(), "file", f)
	if m.Hello.DataFS != "ext2" {
		t.Errorf("/data is %q", m.Hello.DataFS)
	}
	if n, err := m.Written(); !errors.Is(err, cgroup.ErrUnknown) {
		t.Errorf("%d bytes reached a device, %v", n, err)
	}
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		if c, err := l.Accept(); err == nil {
			fmt.Fprint(c, "good day")
			c.Close()
		}
	}()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	script := fmt.Sprintf("dd if=/dev/urandom of=a bs=1M count=8 conv=fsync && sysctl -q vm.drop_caches=3 && cksum <a >b && cksum <a | cmp - b && cat </dev/tcp/%s/%s", m.HostAddress(), port)
	r, err := m.Agent.Run(t.Context(), agent.Command{Argv: []string{"bash", "-c", script}, Env: system.AgentEnv, Dir: m.DataDir(), OutputLimit: 1 << 16})
	if err != nil || r.ExitCode != 0 || string(r.Stdout) != "good day" {
		t.Errorf("%v, %+v\n%s%s", err, r, r.Stdout, r.Stderr)
	}
	if m.Address().IsValid() {
		t.Errorf("nobody reaches the guest, but at %v", m.Address())
	}
}

func TestCommandLine(t *testing.T) {
	s := &system.Site{ID: "x", Userland: &system.Userland{}, Volume: &volume.Volume{Device: "/dev/a,b", Format: "raw", FS: "xfs"}}
	s.Flavor = system.Flavor{VCPUs: 1, MemoryBytes: 256 << 20, Options: map[string]string{"hugepages": "on", "cache": "directsync"}}
	line := KVM().commandLine(s)
	for _, want := range []string{
		"memory-backend-memfd,id=ram,size=256M,hugetlb=on,prealloc=on",
		"if=none,id=data,format=raw,aio=threads,cache=directsync,file=/dev/a,,b",
	} {
		if !slices.Contains(line, want) {
			t.Errorf("no %q in %q", want, line)
		}
	}
	if strings.Contains(strings.Join(line, " "), "netdev") {
		t.Errorf("a network that nobody asked for: %q", line)
	}
}

func BenchmarkSystem(b *testing.B) {
	b.Run("tcg", func(b *testing.B) { systemtest.Bench(b, TCG()) })
	b.Run("kvm", func(b *testing.B) { systemtest.Bench(b, KVM()) })
}
