package findingstest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/tare-bench/tare/internal/analyze"
	"github.com/tare-bench/tare/internal/model"
	"github.com/tare-bench/tare/internal/system"
	"github.com/tare-bench/tare/internal/system/native"
	"github.com/tare-bench/tare/internal/system/qemu"
	"github.com/tare-bench/tare/internal/system/runc"
	"github.com/tare-bench/tare/internal/system/systemtest"
	"github.com/tare-bench/tare/internal/workload"
)

// TestCachedDisk: two virtual machines write and flush, and read what they have written past their own page cache; the
// flushes of one never reach the disk, and the host's page cache answers its reads.
func TestCachedDisk(t *testing.T) {
	read := timed("read", "dd if=/dev/zero of=x bs=1M count=16 conv=fsync", "dd if=x of=/dev/null bs=1M iflag=direct",
		"rm x")
	read.ReadBytes = func(int64) int64 { return 16 << 20 }
	r := measure(t, flavors+`
arms:
  - {system: native, flavor: one}
  - {name: honest, system: qemu-tcg, flavor: one}
  - {name: cached, system: qemu-tcg, flavor: one, options: {cache: unsafe}}
blocks: 3
`+sized(map[string]int{"dd-write": 64, "read": 1}), drivers{"native": native.Driver{}, "qemu-tcg": qemu.TCG()},
		real(t, "dd-write"), read)
	expect(t, r, want{"cached-writes", "dd-write", "cached"}, want{"cached-reads", "read", "cached"})
	for _, f := range r.Findings {
		if f.ID == "cached-writes" && (!strings.Contains(f.Text, "with the flush") ||
			!strings.Contains(f.Text, "fit into the guest's memory")) {
			t.Errorf("does not mention the flush or the memory: %s", f.Text)
		}
	}
}

// TestClock: guests whose clock runs 10 % fast during one of two workloads. They
// have a kernel of their own, and all arms are such guests: no command here may
// ever reach the host's clock.
func TestClock(t *testing.T) {
	const tick = `grep -q tare.agent /proc/cmdline && perl -e '
		my $t = pack("L x4 q25", 0x4000, (0) x 25); substr($t, 88, 8) = pack("q", %d);
		syscall(159, $t) >= 0 or die "adjtimex: $!\n"'`
	// On a busy host, the errors of measuring two clocks may hide 10 % of a short trial.
	for rounds := 40_000; ; rounds *= 4 {
		// A shell loop: its work does not depend on a clock.
		work := fmt.Sprintf("i=0; while [ $i -lt %d ]; do i=$((i+1)); done", rounds)
		steady := timed("steady", fmt.Sprintf(tick, 10000), work, "")
		fast := timed("fast", fmt.Sprintf(tick, 11000), work, fmt.Sprintf(tick, 10000))
		r := measure(t, flavors+`
baseline: qemu-tcg
arms: [{system: qemu-tcg, flavor: one}]
blocks: 3
`+sized(map[string]int{"steady": 1, "fast": 1}), drivers{"qemu-tcg": qemu.TCG()}, steady, fast)
		if rounds < 1_000_000 && blurred(r, "fast") {
			t.Logf("the host is too busy for trials of %d rounds", rounds)
			continue
		}
		expect(t, r, want{"guest-clock", "fast", "qemu-tcg"}, want{"guest-clock", "fast", "qemu-tcg-control"})
		return
	}
}

// blurred reports whether in trials of a workload the error of the difference between two clocks
// may have been larger than the difference.
func blurred(r *analyze.Result, workload string) bool {
	for _, a := range r.Arms {
		var diff, err float64
		for _, p := range a.Probes {
			switch p.Name {
			case model.ProbeClockDiff:
				diff = p.Min
			case model.ProbeClockError:
				err = p.Max
			}
		}
		if a.Workload == workload && err >= diff {
			return true
		}
	}
	return false
}

// TestCap: short trials under a cap that the baseline does not have.
func TestCap(t *testing.T) {
	r := measure(t, flavors+`
allow_unequal: true
arms:
  - {system: native, flavor: one}
  - {name: capped, system: runc, flavor: quarter}
blocks: 3
`+sized(map[string]int{"sysbench-cpu": 400}), drivers{"native": native.Driver{}, "runc": runc.Driver},
		real(t, "sysbench-cpu"))
	expect(t, r, want{"few-cap-periods", "sysbench-cpu", "capped"}, want{"throttled", "sysbench-cpu", "capped"},
		want{"unequal-arms", "", "capped"})
}

// TestCapLeaks: of two guests with the same cap of writes, one is not held to it.
func TestCapLeaks(t *testing.T) {
	if err := systemtest.Host(t).Cgroups.CheckIO(); err != nil {
		t.Skip(err)
	}
	write := timed("write", "", "dd if=/dev/zero of=x bs=64k count=256 oflag=direct", "rm x; sync -f .")
	r := measure(t, `
flavors:
  capped: {vcpus: 1, memory: 256MiB, disk: 64MiB, io: {write: 4MiB/s}}
arms:
  - {system: native, flavor: capped}
  - {name: leaky, system: runc, flavor: capped}
blocks: 4
`+sized(map[string]int{"write": 1}), drivers{"native": native.Driver{}, "runc": uncapped{runc.Driver}}, write)
	expectLeak(t, r, "write", "native", want{"cap-leaks", "write", "leaky"})
}

// expectLeak checks that the leak of a cap is found, that no other cap is set, and that the other arm keeps to it.
func expectLeak(t *testing.T, r *analyze.Result, name, held string, leak want) {
	t.Helper()
	expect(t, r, leak)
	for _, c := range r.RateCaps {
		if c.Cap != name || c.Arm == held && (c.Ratio > 1.1 || c.Ratio < 0.1) {
			t.Errorf("%+v", c)
		}
	}
	if len(r.RateCaps) != 2 {
		t.Errorf("%+v", r.RateCaps)
	}
}

// uncapped is a driver whose guests are under no cap of I/O, whatever their flavor says.
type uncapped struct{ system.Driver }

type uncappedGuest struct{ system.Guest }

func (uncappedGuest) CapIO(context.Context, model.IOCaps) error { return nil }

func (d uncapped) Create(ctx context.Context, s *system.Site) (system.Guest, error) {
	g, err := d.Driver.Create(ctx, s)
	if err != nil {
		return nil, err
	}
	return uncappedGuest{g}, nil
}

// TestConfinement: a container without the filter of system calls that another one has.
func TestConfinement(t *testing.T) {
	r := measure(t, `
flavors:
  product: {memory: 256MiB, disk: 64MiB}
  open: {memory: 256MiB, disk: 64MiB, hardening: none}
arms:
  - {system: native, flavor: product}
  - {system: runc, flavor: product}
  - {name: runc-open, system: runc, flavor: open}
blocks: 3
`+sized(map[string]int{"sysbench-cpu": 400}), drivers{"native": native.Driver{}, "runc": runc.Driver},
		real(t, "sysbench-cpu"))
	expect(t, r, want{"unequal-confinement", "", "runc-open"})
}

// TestOutOfMemory: a program that asks for more than its guest has.
func TestOutOfMemory(t *testing.T) {
	greedy := timed("greedy", "", "tail /dev/zero", "")
	r := measure(t, flavors+`
arms: [{system: native, flavor: small}, {system: runc, flavor: small}]
blocks: 1
`+sized(map[string]int{"greedy": 1}), drivers{"native": native.Driver{}, "runc": runc.Driver}, greedy)
	expect(t, r, want{"out-of-memory", "greedy", ""}, want{"did-not-finish", "greedy", "native"},
		want{"did-not-finish", "greedy", "runc"},
		want{"did-not-finish", "greedy", "native-control"})
}

// TestWrongAnswer: every command exits normally, but one megabyte less is written than requested.
func TestWrongAnswer(t *testing.T) {
	w := *real(t, "dd-write")
	steps := w.Steps
	w.Steps = func(size int64) []workload.Step { return steps(size - 1) }
	r := measure(t, flavors+"arms: [{system: native, flavor: one}, {system: runc, flavor: one}]\nblocks: 1\n"+
		sized(map[string]int{"dd-write": 64}), drivers{"native": native.Driver{}, "runc": runc.Driver}, &w)
	expect(t, r, want{"wrong-answer", "dd-write", ""})
	for _, f := range r.Findings {
		if f.ID == "did-not-finish" {
			t.Errorf("counted as a crash as well: %+v", f)
		}
	}
}

// TestHiddenCPU: a helper outside the guest uses CPU time for it, like those of VMMs; the guest's own
// accounting does not contain it.
func TestHiddenCPU(t *testing.T) {
	r := measure(t, flavors+"arms: [{system: native, flavor: one}, {system: runc, flavor: one}]\nblocks: 3\n"+
		sized(map[string]int{"sysbench-cpu": 800}), drivers{"native": native.Driver{}, "runc": helped{runc.Driver}},
		real(t, "sysbench-cpu"))
	expect(t, r, want{"hidden-cpu", "sysbench-cpu", "runc"})
}

// helped is a driver that adds a busy process to the control group of each guest; the process ends
// with the group.
type helped struct{ system.Driver }

func (d helped) Create(ctx context.Context, s *system.Site) (system.Guest, error) {
	helper := exec.Command("sh", "-c", "while :; do :; done")
	if err := helper.Start(); err != nil {
		return nil, err
	}
	go func() { _ = helper.Wait() }() // until the group is removed
	if err := s.Group.Add(helper.Process.Pid); err != nil {
		_ = helper.Process.Kill()
		return nil, err
	}
	return d.Driver.Create(ctx, s)
}

// TestCeiling: the disks of all arms have the same bandwidth limit, so low that what a busy host adds
// to a trial hardly counts.
func TestCeiling(t *testing.T) {
	if systemtest.Host(t).Cgroups.V1["blkio"] == "" {
		t.Skip("no block I/O controller of version 1 to hold the disks back with")
	}
	const bytes = 12 << 20
	direct := timed("direct", "", fmt.Sprintf("dd if=/dev/zero of=data bs=1M count=%d oflag=direct", bytes>>20), "rm data")
	direct.WrittenBytes = func(int64) int64 { return bytes }
	planted := want{"ceiling", "direct", "other"}
	for try := 1; ; try++ { // a host that stalls during a trial makes its bandwidth unsteady, which is no ceiling
		r := measure(t, flavors+"arms: [{system: native, flavor: one}, {name: other, system: native, flavor: one}]\n"+
			"blocks: 5\n"+
			sized(map[string]int{"direct": 1}), drivers{"native": slowDisk{native.Driver{}, t}}, direct)
		if try == 3 || slices.ContainsFunc(r.Findings, planted.is) {
			expect(t, r, planted)
			return
		}
	}
}

// slowDisk is a driver that limits the guests' disks to 3 MB/s of writes.
type slowDisk struct {
	system.Driver
	t *testing.T
}

func (d slowDisk) Create(ctx context.Context, s *system.Site) (system.Guest, error) {
	number, err := os.ReadFile(filepath.Join("/sys/block", filepath.Base(s.Volume.Device), "dev"))
	if err != nil {
		return nil, err
	}
	// A limit in the root group of the version 1 controller throttles a device for every process on
	// the host. No other guest uses this device.
	file := filepath.Join(s.Group.Layout().V1["blkio"], "blkio.throttle.write_bps_device")
	limit := func(rate int) error {
		return os.WriteFile(file, fmt.Appendf(nil, "%s %d", strings.TrimSpace(string(number)), rate), 0)
	}
	if err := limit(3e6); err != nil {
		return nil, err
	}
	d.t.Cleanup(func() {
		if err := limit(0); err != nil {
			d.t.Error(err)
		}
	})
	return d.Driver.Create(ctx, s)
}

// TestBusyHost: programs compute beside the run all the time, and now and then
// take every CPU for so long that a person would notice.
func TestBusyHost(t *testing.T) {
	defer hogs(t)()
	// A trial is longer than it takes from one time to the end of the next.
	r := measure(t, flavors+"arms: [{system: native, flavor: one}, {system: runc, flavor: one}]\nblocks: 3\n"+
		sized(map[string]int{"sysbench-cpu": 6000}), drivers{"native": native.Driver{}, "runc": runc.Driver},
		real(t, "sysbench-cpu"))
	expect(t, r, want{"other-load", "sysbench-cpu", ""}, want{"host-distress", "", ""})
	for _, f := range r.Findings {
		if f.ID == "other-load" && !strings.Contains(f.Text, "guests, sh (pid ") {
			t.Errorf("does not name the program: %s", f.Text)
		}
	}
}

// hogs has a program compute on each CPU, and all CPUs taken at once, before all
// other programs, for 0.2 s of each second; stop ends them. All are children of a
// shell that goes on until then: what a child of this process took counts as
// tare's own once it has ended. timeout stands above what it ends, or it would
// wait for that, and the shell above both, so that the CPUs are taken at once.
func hogs(t *testing.T) (stop func()) {
	shell := exec.CommandContext(t.Context(), "chrt", "-f", "3", "sh", "-c", `
		for c in /sys/devices/system/cpu/cpu[0-9]*; do
			taskset -c "${c##*cpu}" chrt -o 0 sh -c 'while :; do :; done' &
		done
		while :; do
			bursts=
			for c in /sys/devices/system/cpu/cpu[0-9]*; do
				taskset -c "${c##*cpu}" chrt -f 2 timeout --foreground 0.2 chrt -f 1 sh -c 'while :; do :; done' &
				bursts="$bursts $!"
			done
			wait $bursts
			sleep 0.8
		done`)
	shell.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	must(t, shell.Start())
	return func() {
		_ = syscall.Kill(-shell.Process.Pid, syscall.SIGKILL)
		_ = shell.Wait()
	}
}
