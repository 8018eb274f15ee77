package qemu

import (
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tare-bench/tare/internal/agent"
	"github.com/tare-bench/tare/internal/cgroup"
	"github.com/tare-bench/tare/internal/model"
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

func TestRestored(t *testing.T) {
	t.Run("tcg", func(t *testing.T) { systemtest.Restored(t, TCG()) })
	t.Run("kvm", func(t *testing.T) { systemtest.Restored(t, KVM()) })
}

func TestQueues(t *testing.T) {
	t.Run("tcg", func(t *testing.T) { systemtest.Queues(t, TCG()) })
	t.Run("kvm", func(t *testing.T) { systemtest.Queues(t, KVM()) })
}

func TestLoop(t *testing.T) {
	t.Run("tcg", func(t *testing.T) { systemtest.SoakLoop(t, TCG()) })
	t.Run("kvm", func(t *testing.T) { systemtest.SoakLoop(t, KVM()) })
}

// TestCache: with the default cache mode, data that the guest flushed is on the device; with
// "unsafe" the flush succeeds, but the data is not there. Both hold for disks on other controllers, too.
func TestCache(t *testing.T) {
	const bytes = 32 << 20
	for _, c := range []struct {
		cache, disk string
		arrives     bool
	}{{"none", "nvme", true}, {"unsafe", "ide", false}} {
		t.Run("cache="+c.cache, func(t *testing.T) {
			f := systemtest.Request()
			f.Options = map[string]string{"cache": c.cache, "disk": c.disk}
			m := systemtest.Launch(t, TCG(), "cache", f)
			before, err := m.Written()
			if err != nil {
				t.Fatal(err)
			}
			res, err := m.Agent.Run(t.Context(), agent.Command{
				Argv: []string{"dd", "if=/dev/zero", "of=data", "bs=1M", "count=32", "conv=fsync"}, Env: system.AgentEnv,
				Dir: m.DataDir(),
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

// TestFlushes: the requests that are held against a cap are those that QEMU throttles, and flushes are not among them.
func TestFlushes(t *testing.T) {
	m := systemtest.Launch(t, TCG(), "flushes", systemtest.Request())
	sh := func(script string) {
		t.Helper()
		r, err := m.Agent.Run(t.Context(), agent.Command{Argv: []string{"sh", "-c", script}, Env: system.AgentEnv,
			Dir: m.DataDir()})
		if err != nil || r.ExitCode != 0 {
			t.Fatalf("%v, %+v\n%s", err, r, r.Stderr)
		}
	}
	count := func() (ours, qemus int64, all model.Traffic) {
		t.Helper()
		if err := m.Freeze(t.Context()); err != nil {
			t.Fatal(err)
		}
		var disks []struct {
			Device string
			Stats  struct {
				Writes int64 `json:"wr_operations"`
				Merged int64 `json:"wr_merged"`
			}
		}
		err := m.Guest.(*guest).qmp.execute(t.Context(), "query-blockstats", nil, &disks)
		known, err2 := m.Traffic()
		all, err3 := m.Site.Volume.Traffic()
		if err := errors.Join(err, err2, err3, m.Thaw(t.Context())); err != nil {
			t.Fatal(err)
		}
		for _, d := range disks {
			if d.Device == "data" {
				return known.Writes, d.Stats.Writes - d.Stats.Merged, all
			}
		}
		t.Fatalf("QEMU has no disk named data: %+v", disks)
		return
	}
	sh("sync")
	ours, qemus, all := count()
	sh("dd if=/dev/zero of=flushed bs=4k count=50 oflag=dsync 2>&1; sync")
	ours2, qemus2, all2 := count()
	ours, qemus, all = ours2-ours, qemus2-qemus, all2.Since(all)
	t.Logf("%d writes by QEMU's count and %d by tare's; the device counted %+v", qemus, ours, all)
	if ours != qemus || qemus < 50 {
		t.Errorf("%d writes by QEMU's count, and %d by tare's", qemus, ours)
	}
	if all.Flushes < 50 || all.Writes < ours+all.Flushes {
		t.Errorf("the device counted %+v", all)
	}
}

// TestOwnFile: QEMU opens the data disk's file itself, and the guest reaches the host through
// QEMU's user network.
func TestOwnFile(t *testing.T) {
	f := systemtest.Request()
	f.Backing, f.DiskFS, f.Network = model.BackingQCOW2, "ext3", model.NetworkUser
	f.Options = map[string]string{"cache": "writeback", "iothread": "on", "disk": "virtio-scsi", "nic": "vmxnet3"}
	m := systemtest.Launch(t, TCG(), "file", f)
	if m.Hello.DataFS != "ext3" {
		t.Errorf("/data is %q", m.Hello.DataFS)
	}
	if n, err := m.Written(); !errors.Is(err, cgroup.ErrUnknown) {
		t.Errorf("%d bytes reached a device, %v", n, err)
	}
	var l net.Listener
	err := systemtest.Host(t).Network.OnHost(model.NetworkUser, func() (err error) {
		l, err = net.Listen("tcp4", "127.0.0.1:0")
		return err
	})
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
	script := fmt.Sprintf("dd if=/dev/urandom of=a bs=1M count=8 conv=fsync && sysctl -q vm.drop_caches=3 && cksum <a "+
		">b && cksum <a | cmp - b && cat </dev/tcp/%s/%s", m.HostAddress(), port)
	r, err := m.Agent.Run(t.Context(), agent.Command{Argv: []string{"bash", "-c", script}, Env: system.AgentEnv,
		Dir: m.DataDir(), OutputLimit: 1 << 16})
	if err != nil || r.ExitCode != 0 || string(r.Stdout) != "good day" {
		t.Errorf("%v, %+v\n%s%s", err, r, r.Stdout, r.Stderr)
	}
	if m.Address().IsValid() {
		t.Errorf("nobody reaches the guest, but at %v", m.Address())
	}
}

// memoryWithin waits until asItIsToBe accepts how much of the host's memory a guest holds, or
// until patience is over, and returns the amount.
func memoryWithin(t *testing.T, m *system.Machine, patience time.Duration, asItIsToBe func(pss int64) bool) int64 {
	t.Helper()
	for begin := time.Now(); ; time.Sleep(200 * time.Millisecond) {
		held, err := m.Memory()
		if err != nil {
			t.Fatal(err)
		}
		if asItIsToBe(held.PSS) || time.Since(begin) > patience {
			return held.PSS
		}
	}
}

// TestBalloon: free memory returns to the host, or the guest never gets it.
func TestBalloon(t *testing.T) {
	const allocated = 64 << 20
	for balloon, returns := range map[string]bool{"off": false, "reporting": true} {
		t.Run(balloon, func(t *testing.T) {
			f := systemtest.Request()
			f.Options = map[string]string{"balloon": balloon}
			m := systemtest.Launch(t, TCG(), "balloon-"+balloon, f)
			if delay := m.Guest.(system.Returner).ReturnDelay(); delay > 0 != returns {
				t.Errorf("a delay of %v", delay)
			}
			script := fmt.Sprintf("dd if=/dev/zero bs=%d count=1 | { sleep 3; cat >/dev/null; }", allocated)
			ended := make(chan error, 1)
			go func() {
				r, err := m.Agent.Run(t.Context(), agent.Command{Argv: []string{"sh", "-c", script}, Env: system.AgentEnv,
					Dir: m.DataDir()})
				if err == nil && r.ExitCode != 0 {
					err = fmt.Errorf("%+v", r)
				}
				ended <- err
			}()
			var most int64 // while dd holds all of it
			memoryWithin(t, m, 10*time.Minute, func(pss int64) bool {
				most = max(most, pss)
				return len(ended) > 0
			})
			if err := <-ended; err != nil {
				t.Fatal(err)
			}
			patience := 5 * time.Second
			if returns {
				patience = 2 * time.Minute
			}
			after := memoryWithin(t, m, patience, func(pss int64) bool { return pss < most-allocated/2 })
			if after < most-allocated/2 != returns {
				t.Errorf("it held %d MiB and then %d", most>>20, after>>20)
			}
		})
	}
	t.Run("half", func(t *testing.T) {
		f := systemtest.Request()
		f.Options = map[string]string{"balloon": "half"}
		m := systemtest.Launch(t, TCG(), "balloon-half", f)
		const script = `for i in $(seq 600); do
	kb=$(sed -n 's/^MemTotal: *\([0-9]*\) kB/\1/p' /proc/meminfo)
	if [ "$kb" -lt "$1" ]; then exit 0; fi
	sleep 0.1
done
echo "it still has $kb kB"`
		r, err := m.Agent.Run(t.Context(), agent.Command{
			Argv: []string{"sh", "-c", script, "sh", fmt.Sprint(f.MemoryBytes >> 11)}, Env: system.AgentEnv, Dir: m.DataDir(),
		})
		if err != nil || r.ExitCode != 0 || len(r.Stdout) > 0 {
			t.Errorf("%v, %+v\n%s", err, r, r.Stdout)
		}
	})
}

// TestMerging: where the host merges equal pages, guests hold less memory, except those that opt
// out.
func TestMerging(t *testing.T) {
	const ksm = "/sys/kernel/mm/ksm/"
	for name, value := range map[string]string{"run": "1", "pages_to_scan": "4000"} { // per pass, usually 100
		was, err := os.ReadFile(ksm + name)
		if err == nil {
			err = os.WriteFile(ksm+name, []byte(value), 0o644)
		}
		if err != nil {
			t.Skipf("this host has no KSM to switch on: %v", err)
		}
		t.Cleanup(func() {
			if err := os.WriteFile(ksm+name, was, 0o644); err != nil {
				t.Error(err)
			}
		})
	}
	launch := func(name, merge string) *system.Machine {
		f := systemtest.Request()
		f.Options = map[string]string{"merge": merge}
		return systemtest.Launch(t, TCG(), name, f)
	}
	launch("merged-1", "on")
	merged, alone := launch("merged-2", "on"), launch("alone", "off")
	held, err := alone.Memory()
	if err != nil {
		t.Fatal(err)
	}
	less := held.PSS * 3 / 4
	if got := memoryWithin(t, merged, 4*time.Minute, func(pss int64) bool { return pss < less }); got >= less {
		t.Errorf("a merged guest holds %d MiB, one alone %d", got>>20, held.PSS>>20)
	}
	if after, err := alone.Memory(); err != nil || after.PSS < less {
		t.Errorf("a guest that may not be merged held %d MiB and holds %d, %v", held.PSS>>20, after.PSS>>20, err)
	}
}

func TestCommandLine(t *testing.T) {
	s := &system.Site{ID: "x", Userland: &system.Userland{}, Volume: &volume.Volume{Device: "/dev/a,b", Format: "raw",
		FS: "xfs"}}
	s.Flavor = model.Flavor{VCPUs: 1, MemoryBytes: 256 << 20}
	s.Options = map[string]string{"hugepages": "on", "cache": "directsync"}
	line := KVM().commandLine(s, "/i")
	for _, want := range []string{
		"memory-backend-memfd,id=ram,size=256M,hugetlb=on,prealloc=on",
		"if=none,id=data,format=raw,aio=threads,cache=directsync,file=/dev/a,,b",
	} {
		if !slices.Contains(line, want) {
			t.Errorf("no %q in %q", want, line)
		}
	}
	if strings.Contains(strings.Join(line, " "), "swap") {
		t.Errorf("a swap that nobody asked for: %q", line)
	}
	s.Swap = &volume.Volume{Device: "/dev/loop8"}
	for disk, node := range map[string]string{"virtio-blk": "vdc", "nvme": "vdb"} {
		s.Options["disk"] = disk
		line := strings.Join(KVM().commandLine(s, "/i"), " ")
		if !strings.Contains(line, ",file=/dev/loop8 -device virtio-blk-pci,drive=swap ") ||
			!strings.Contains(line, " tare.swap="+node) {
			t.Errorf("with swap beside %s: %s", disk, line)
		}
	}
	if strings.Contains(strings.Join(line, " "), "netdev") {
		t.Errorf("a network that nobody asked for: %q", line)
	}
	s.Port = &network.Port{Tap: "tap1", MAC: net.HardwareAddr{2, 0, 0, 0, 0, 1}}
	for queues, want := range map[string][2]string{
		"1": {"queues=1", "virtio-net-pci,netdev=net,mac=02:00:00:00:00:01"},
		"2": {"queues=2", "virtio-net-pci,netdev=net,mac=02:00:00:00:00:01,mq=on"},
	} {
		s.Options = map[string]string{"vhost": "off", "queues": queues}
		line := KVM().commandLine(s, "/i")
		if !slices.Contains(line, "tap,id=net,script=no,downscript=no,ifname=tap1,vhost=off,"+want[0]) ||
			!slices.Contains(line, want[1]) {
			t.Errorf("with %s queues: %q", queues, line)
		}
	}
}

// TestDevices: every controller and card has its arguments, and what cannot go together is refused.
func TestDevices(t *testing.T) {
	for name, device := range diskDevices {
		if system.DiskModels[name].Node == "" || len(device) == 0 {
			t.Errorf("disk %s: %q, %+v", name, device, system.DiskModels[name])
		}
	}
	more := &system.Userland{Kernel: "/k", Initramfs: "/i", InitramfsWith: func(modules ...string) (string, error) {
		return "/" + strings.Join(modules, "+"), nil
	}}
	for disk, want := range map[string]string{"virtio-blk": "/i", "nvme": "/nvme"} {
		s := &system.Site{Userland: more, Volume: &volume.Volume{}}
		s.Options = map[string]string{"disk": disk}
		if files, err := TCG().BootFiles(s); err != nil || !slices.Equal(files, []string{"/k", want}) {
			t.Errorf("a machine with %s boots %q, %v", disk, files, err)
		}
	}
	s := &system.Site{ID: "x", Userland: &system.Userland{}, Volume: &volume.Volume{Device: "/dev/a", Format: "raw",
		FS: "ext3"}, Port: &network.Port{Tap: "tap1", MAC: net.HardwareAddr{2, 0, 0, 0, 0, 1}}}
	s.Options = map[string]string{"disk": "virtio-scsi", "iothread": "on", "nic": "e1000"}
	line := strings.Join(KVM().commandLine(s, "/i"), " ")
	for _, want := range []string{
		"virtio-scsi-pci,id=controller,iothread=io -device scsi-hd,drive=data,bus=controller.0", "tare.data=sda:ext3",
		"e1000,netdev=net,mac=02:00:00:00:00:01", "vhost=off",
	} {
		if !strings.Contains(line, want) {
			t.Errorf("no %q in %q", want, line)
		}
	}
	if got := modules(s); !slices.Equal(got, []string{"virtio_scsi", "sd_mod", "e1000"}) {
		t.Errorf("modules %q", got)
	}
	for _, c := range []struct {
		options map[string]string
		why     string
	}{
		{map[string]string{"disk": "ide", "iothread": "on"}, "not ide"},
		{map[string]string{"nic": "e1000", "queues": "2"}, "several queues, not e1000"},
		{map[string]string{"nic": "vmxnet3", "vhost": "on"}, "not those of vmxnet3"},
		{map[string]string{"nic": "vmxnet3", "disk": "nvme"}, ""},
	} {
		err := KVM().CheckOptions(c.options)
		if (err == nil) != (c.why == "") || err != nil && !strings.Contains(err.Error(), c.why) {
			t.Errorf("%v: %v", c.options, err)
		}
	}
}

func BenchmarkSystem(b *testing.B) {
	b.Run("tcg", func(b *testing.B) { systemtest.Bench(b, TCG()) })
	b.Run("kvm", func(b *testing.B) { systemtest.Bench(b, KVM()) })
}

func TestHostile(t *testing.T) {
	t.Run("tcg", func(t *testing.T) { systemtest.Hostile(t, TCG()) })
	t.Run("kvm", func(t *testing.T) { systemtest.Hostile(t, KVM()) })
}
