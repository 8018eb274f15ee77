package systemtest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tare-bench/tare/internal/agent"
	"github.com/tare-bench/tare/internal/cgroup"
	"github.com/tare-bench/tare/internal/fault"
	machine "github.com/tare-bench/tare/internal/host"
	"github.com/tare-bench/tare/internal/system"
)

// Run is the conformance suite. It skips what the driver's capabilities exclude.
func Run(t *testing.T, d system.Driver) { RunOn(t, d, Host(t)) }

// RunBriefly is Run with a tenth of the output. It is for a system whose guests and agent stream
// work like those of another system that runs the whole suite. With TARE_SOAK set it is Run.
func RunBriefly(t *testing.T, d system.Driver) {
	size := int64(wholeOutput / 10)
	if os.Getenv("TARE_SOAK") != "" {
		size = wholeOutput
	}
	runOn(t, d, Host(t), size)
}

// wholeOutput is the amount of output in bytes that a guest must be able to print.
const wholeOutput = 100 << 20

// emulatedOutput replaces wholeOutput on a host with an emulated CPU, where a guest's console may
// be as slow as 60 kB a second.
const emulatedOutput = 1 << 20

// RunOn is Run on the caller's host.
func RunOn(t *testing.T, d system.Driver, h *system.Host) { runOn(t, d, h, wholeOutput) }

func runOn(t *testing.T, d system.Driver, h *system.Host, output int64) {
	emulated := machine.Read(machine.Options{}).Virt.Emulated
	if emulated {
		output = min(output, emulatedOutput)
		t.Logf("this host is emulated: guests print %d MiB, not %d, and send each other less", output>>20, wholeOutput>>20)
	}
	before := snapshot(t, h)
	t.Run("guest", func(t *testing.T) {
		s := suite{d: d, m: launch(t, d, h, "conform", networked(d)), size: output, emulated: emulated}
		t.Run("start", s.start)
		t.Run("run", s.run)
		t.Run("answer", s.answer)
		t.Run("exit", s.exit)
		t.Run("signal", s.signal)
		t.Run("output", s.output)
		t.Run("instant", s.instant)
		t.Run("freeze", s.freeze)
		t.Run("idle", s.idle)
		t.Run("memory", func(t *testing.T) { s.memory(t, h) })
		t.Run("cpus", s.cpus)
		t.Run("second", func(t *testing.T) { s.second(t, h) })
		t.Run("cap", s.cap) // last: the guest stays capped
	})
	t.Run("killed", func(t *testing.T) { testKilled(t, d, h) })
	if capped(d, h, emulated) {
		t.Run("caps", func(t *testing.T) { testCaps(t, d, h) })
	}
	if caps := d.Capabilities(); !caps.InMemory {
		if !caps.Remote {
			t.Run("impossible", func(t *testing.T) { testImpossible(t, d, h) })
			if !emulated {
				t.Run("starved", func(t *testing.T) { testStarved(t, d, h) })
			}
		}
		t.Run("log", func(t *testing.T) { testLog(t, d, h) })
	}
	if t.Failed() {
		return
	}
	nothingLeft(t, h, before)
}

type suite struct {
	d    system.Driver
	m    *system.Machine
	size int64 // of the output, in bytes

	emulated bool // the host is
}

// sh runs a shell command in the guest.
func (s suite) sh(t *testing.T, script string, change ...func(*agent.Command)) *agent.Result {
	t.Helper()
	c := agent.Command{Argv: []string{"sh", "-c", script}, Env: system.AgentEnv, Dir: s.m.DataDir(),
		Timeout: 2 * time.Minute}
	for _, f := range change {
		f(&c)
	}
	r, err := s.m.Agent.Run(timeout(t), c)
	if err != nil {
		t.Fatalf("%s: %v\n%s", script, err, s.m.Guest.Log())
	}
	return r
}

func (s suite) start(t *testing.T) {
	hello, f, caps := s.m.Hello, s.m.Site.Flavor, s.d.Capabilities()
	if caps.InMemory {
		t.Skip("a guest in memory is as large as this process")
	}
	if len(s.m.Guest.CommandLine()) == 0 {
		t.Error("no command line for the record")
	}
	if caps.Remote {
		t.Skip("a machine that somebody else runs is as it is")
	}
	if !s.knowsDataFS(hello.DataFS, f.DiskFS) {
		t.Errorf("/data is %q, want %q", hello.DataFS, f.DiskFS)
	}
	if hello.CPUs != f.VCPUs {
		t.Errorf("the guest may use %d CPUs, want %d", hello.CPUs, f.VCPUs)
	}
	if !caps.MemoryInGroup && (hello.MemoryBytes > uint64(f.MemoryBytes) ||
		hello.MemoryBytes < uint64(f.MemoryBytes)*3/4) {
		t.Errorf("the guest has %d MiB of memory, want about %d", hello.MemoryBytes>>20, f.MemoryBytes>>20)
	}
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		t.Fatal(err)
	}
	if same := strings.Contains(hello.Kernel, unix.ByteSliceToString(u.Release[:])); same != caps.SameKernel {
		t.Errorf("the guest's kernel is %q, but same_kernel is %v", hello.Kernel, caps.SameKernel)
	}
	if hello.ClockReadNS <= 0 || caps.SameKernel && len(hello.CPUFlags) == 0 {
		t.Errorf("a reading of its clock takes %v ns, and its CPU has the flags %v", hello.ClockReadNS, hello.CPUFlags)
	}
	r := s.sh(t, "touch /usr/x 2>/dev/null && echo root is writable; touch /data/x && rm /data/x && touch /tmp/x "+
		"/dev/shm/x && echo x >/dev/null && ls -A /data | grep -v lost+found; true")
	if out := string(r.Stdout); out != "" {
		t.Errorf("the userland is not as it should be: %s%s", out, r.Stderr)
	}
}

// knowsDataFS reports whether the guest names the data volume's file system correctly. A guest with
// its own kernel on a directory that the host mounts cannot know it.
func (s suite) knowsDataFS(name, want string) bool {
	caps := s.d.Capabilities()
	return name == want || caps.HostMount && !caps.SameKernel && name != ""
}

func (s suite) run(t *testing.T) {
	r := s.sh(t, `pwd; echo "$WORD"; cat; echo to stderr >&2; ulimit -n`, func(c *agent.Command) {
		c.Env = append([]string{"WORD=two words"}, c.Env...)
		c.Stdin = []byte("input\n")
		c.Rlimits = []agent.Rlimit{{Resource: unix.RLIMIT_NOFILE, Soft: 77, Hard: 77}}
	})
	if got, want := string(r.Stdout), s.m.DataDir()+"\ntwo words\ninput\n77\n"; got != want {
		t.Errorf("stdout %q, want %q", got, want)
	}
	if got := string(r.Stderr); got != "to stderr\n" {
		t.Errorf("stderr %q", got)
	}
	const least = 200 * time.Millisecond
	for range 10 { // a busy host may notice the start late, and the end at once
		r = s.sh(t, "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; sleep 0.2")
		if r.HostWall() >= least {
			break
		}
	}
	if r.HostWall() < least || r.GuestWall() < least || r.Usage.User+r.Usage.System == 0 {
		t.Errorf("host wall %v, guest wall %v, rusage %+v", r.HostWall(), r.GuestWall(), r.Usage)
	}
}

// answer computes something with a known result: under some hypervisors a program succeeds with a
// wrong result.
func (s suite) answer(t *testing.T) {
	const size = 4 << 20
	r := s.sh(t, fmt.Sprintf("for i in 1 2 3; do yes 0123456789abcde | head -c %d | sha256sum; done", size))
	want := fmt.Sprintf("%x  -\n", sha256.Sum256(bytes.Repeat([]byte("0123456789abcde\n"), size/16)))
	if got := string(r.Stdout); got != strings.Repeat(want, 3) {
		t.Errorf("three times the same sum gave\n%swant\n%s", got, want)
	}
}

func (s suite) exit(t *testing.T) {
	for _, code := range []int{0, 1, 42, 255} {
		if r := s.sh(t, fmt.Sprint("exit ", code)); r.ExitCode != code || r.Signal != 0 {
			t.Errorf("exit %d came as %d, signal %d", code, r.ExitCode, r.Signal)
		}
	}
	_, err := s.m.Agent.Run(timeout(t), agent.Command{Argv: []string{"/no/such/program"}})
	if err == nil || fault.KindOf(err) != fault.Guest || !strings.Contains(err.Error(), "/no/such/program") {
		t.Errorf("a program that is not there: %v", err)
	}
}

func (s suite) signal(t *testing.T) {
	if r := s.sh(t, "kill -TERM $$"); r.Signal != unix.SIGTERM {
		t.Errorf("killed by itself: %+v", r)
	}
	r := s.sh(t, "", func(c *agent.Command) {
		c.Argv = []string{"sleep", "100"} // a shell drops the signal if it comes before the sleep
		c.OnStart = func(id uint64) { go s.kill(t.Context(), id, unix.SIGINT) }
	})
	if r.Signal != unix.SIGINT {
		t.Errorf("killed by us: %+v", r)
	}
	// A child that ignores the end of its parent must not survive the time limit.
	r = s.sh(t, "sleep 100.25 & sleep 100.25", func(c *agent.Command) { c.Timeout = 300 * time.Millisecond })
	if !r.TimedOut || r.Signal != unix.SIGKILL {
		t.Errorf("past its time limit: %+v", r)
	}
	if r := s.sh(t, "ps -e -o args | grep -c '[s]leep 100[.]25'"); strings.TrimSpace(string(r.Stdout)) != "0" {
		t.Errorf("%s processes survived the time limit", bytes.TrimSpace(r.Stdout))
	}
}

func (s suite) output(t *testing.T) {
	size := s.size
	const script = "yes 0123456789abcde | head -c %d"
	r := s.sh(t, fmt.Sprintf(script, size), func(c *agent.Command) { c.OutputLimit = size })
	if int64(len(r.Stdout)) != size || r.Truncated {
		t.Errorf("%d bytes of %d came, truncated %v", len(r.Stdout), size, r.Truncated)
	}
	if want := bytes.Repeat([]byte("0123456789abcde\n"), int(size/16)); !bytes.Equal(r.Stdout, want) {
		t.Error("the output is not what was written")
	}
	size /= 10 // the rest is only counted
	r = s.sh(t, fmt.Sprintf(script, size), func(c *agent.Command) { c.OutputLimit = 1000 })
	if len(r.Stdout) != 1000 || !r.Truncated || int64(r.StdoutBytes) != size {
		t.Errorf("cut at 1000: %d bytes came, truncated %v, %d counted", len(r.Stdout), r.Truncated, r.StdoutBytes)
	}
}

func (s suite) instant(t *testing.T) {
	clock, err := s.m.Agent.Clock(timeout(t), 10)
	if err != nil {
		t.Fatal(err)
	}
	at := agent.Monotonic() + int64(300*time.Millisecond)
	r := s.sh(t, "true", func(c *agent.Command) { c.StartAt = clock.GuestTime(at) })
	// On a busy host it may start late.
	if late := time.Duration(r.HostStart - at); late < -clock.Delay || late > 30*time.Second {
		t.Errorf("started %v after the instant (clock delay %v)", late, clock.Delay)
	}
	if late := time.Duration(r.GuestStart - clock.GuestTime(at)); late < 0 {
		t.Errorf("started %v before the instant on the guest's clock", -late)
	}
}

func (s suite) freeze(t *testing.T) {
	if s.d.Capabilities().Freeze == "" {
		t.Skip("cannot freeze")
	}
	ctx := timeout(t)
	before, err := s.m.Agent.Clock(ctx, 10)
	if err != nil {
		t.Fatal(err)
	}
	stop := s.busy(t)
	if err := s.m.Freeze(ctx); err != nil {
		t.Fatal(err)
	}
	frozen := time.Now()
	const rest = 500 * time.Millisecond
	if _, err := s.m.Usage(); errors.Is(err, cgroup.ErrUnknown) {
		time.Sleep(rest) // its clock and the end of the command must do
	} else if used := s.atRest(t, rest); used > rest/20 {
		t.Errorf("the frozen guest used %v of CPU in %v", used, rest)
	}
	stands := time.Since(frozen)
	if err := s.m.Thaw(ctx); err != nil {
		t.Fatal(err)
	}
	stop()
	after, err := s.m.Agent.Clock(ctx, 10)
	if err != nil {
		t.Fatal(err)
	}
	stood := before.Offset - after.Offset
	if stops := s.d.Capabilities().StopsClock; stops && stood < stands*9/10 || !stops &&
		stood.Abs() > rest/10+before.Delay+after.Delay {
		t.Errorf("stops_clock is %v, but over %v of freezing the guest's clock stood still for %v", stops, stands, stood)
	}
	s.sh(t, "true")
}

// atRest returns the CPU time that the guest uses during rest. It looks several times, since a
// kernel in user space may have work to finish first, and on a busy host that takes a while.
func (s suite) atRest(t *testing.T, rest time.Duration) (used time.Duration) {
	t.Helper()
	for range 4 {
		before := s.usage(t)
		time.Sleep(rest)
		if used = s.usage(t).CPU - before.CPU; used <= rest/20 {
			break
		}
	}
	return used
}

// kill signals a command whose start was announced, as soon as it has started.
func (s suite) kill(ctx context.Context, id uint64, sig unix.Signal) {
	for s.m.Agent.Signal(ctx, id, sig) != nil && ctx.Err() == nil {
		time.Sleep(10 * time.Millisecond)
	}
}

// busy keeps the guest busy until the returned function is called.
func (s suite) busy(t *testing.T) (stop func()) {
	t.Helper()
	ctx := timeout(t)
	started, ended := make(chan uint64, 1), make(chan error, 1)
	go func() {
		r, err := s.m.Agent.Run(ctx, agent.Command{
			Argv: []string{"sh", "-c", "while :; do :; done"}, Env: system.AgentEnv, OnStart: func(id uint64) { started <- id },
		})
		if err == nil && r.Signal != unix.SIGKILL {
			err = fmt.Errorf("a busy loop ended by itself: %+v", r)
		}
		ended <- err
	}()
	var id uint64
	select {
	case id = <-started:
	case err := <-ended:
		t.Fatal(err)
	}
	time.Sleep(50 * time.Millisecond) // the agent announces the start before the fork
	return func() {
		t.Helper()
		s.kill(ctx, id, unix.SIGKILL)
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}

func (s suite) usage(t *testing.T) cgroup.Usage {
	t.Helper()
	u, err := s.m.Usage()
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// memory asks for more memory than the guest has. Then the command must die, or the guest if its
// capabilities say so.
func (s suite) memory(t *testing.T, h *system.Host) {
	if caps := s.d.Capabilities(); !caps.MemoryInGroup || caps.InMemory {
		t.Skip("a machine of its own has the memory that it has; start has looked")
	}
	if s.emulated { // touching the memory of a guest of the usual size takes minutes
		ask := Request()
		ask.MemoryBytes = 128 << 20
		s.m = launch(t, s.d, h, "small", ask)
	}
	half := s.m.Site.Flavor.MemoryBytes / 2
	hold := "head -c %d /dev/zero | tail | wc -c" // tail buffers input without a line end
	if r := s.sh(t, fmt.Sprintf(hold, half)); strings.TrimSpace(string(r.Stdout)) != fmt.Sprint(half) {
		t.Errorf("half of the memory could not be used: %s%s", r.Stdout, r.Stderr)
	}
	more := 3 * half
	if s.d.Capabilities().OOMEndsGuest {
		m := launch(t, s.d, h, "memory", Request())
		_, err := m.Agent.Run(timeout(t), agent.Command{Argv: []string{"sh", "-c", fmt.Sprintf(hold, more)},
			Env: system.AgentEnv})
		if err == nil || fault.KindOf(err) != fault.Guest {
			t.Errorf("a guest out of memory gave: %v", err)
		}
		return
	}
	if r := s.sh(t, fmt.Sprintf(hold, more)); strings.TrimSpace(string(r.Stdout)) == fmt.Sprint(more) {
		t.Errorf("a guest with %d MiB could use %d", 2*half>>20, more>>20)
	}
	s.sh(t, "true")
}

func (s suite) cap(t *testing.T) {
	if s.d.Capabilities().CPUCap == "" || s.m.Site.Group == nil {
		t.Skip("cannot cap")
	}
	spin := func() (share float64, throttled uint64) {
		before, start := s.usage(t), time.Now()
		s.sh(t, "while :; do :; done", func(c *agent.Command) { c.Timeout = 2 * time.Second })
		after := s.usage(t)
		return float64(after.CPU-before.CPU) / float64(time.Since(start)), after.ThrottledPeriods - before.ThrottledPeriods
	}
	const quarter = 0.25
	most := 0.30
	if s.emulated {
		// The scheduler of an emulated host looks at caps late if the machine below it is busy.
		free, _ := spin()
		most = 0.75 * free
	}
	if err := s.m.Cap(timeout(t), quarter); err != nil {
		t.Fatal(err)
	}
	share, throttled := spin()
	if share > most || share == 0 {
		t.Errorf("a guest capped at a quarter of a CPU used %.2f, expected %.2f at most", share, most)
	}
	if _, own := s.m.Guest.(system.Capper); own {
		return
	}
	// A cap is an upper limit. If other work leaves the guest less than a quarter of a CPU, no period is throttled
	// until the cap is below what it gets.
	for cap := quarter / 2; throttled == 0 && cap > 0.02; cap /= 2 {
		t.Logf("of a quarter of a CPU the guest got %.3f, now its cap is %.3f", share, cap)
		if err := s.m.Cap(timeout(t), cap); err != nil {
			t.Fatal(err)
		}
		share, throttled = spin()
	}
	if throttled == 0 {
		t.Errorf("no throttled period was counted; the guest used %.3f of a CPU", share)
	}
}

// testKilled kills all processes of the guest while a command runs.
func testKilled(t *testing.T, d system.Driver, h *system.Host) {
	m := launch(t, d, h, "killed", Request())
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	_, err := m.Agent.Run(ctx, agent.Command{Argv: []string{"sleep", "1000"}, Env: system.AgentEnv, OnStart: func(uint64) {
		go func() {
			time.Sleep(50 * time.Millisecond)
			if m.Site.Group == nil {
				m.Guest.(interface{ Kill() error }).Kill()
				return
			}
			pids, err := m.Site.Group.Processes()
			if err != nil || len(pids) == 0 {
				t.Errorf("processes of the guest: %v, %v", pids, err)
			}
			// Stopped first, an agent that is killed after its command does not report the command's end.
			for _, sig := range []unix.Signal{unix.SIGSTOP, unix.SIGKILL} {
				for _, pid := range pids {
					unix.Kill(pid, sig)
				}
			}
		}()
	}})
	if err == nil || fault.KindOf(err) != fault.Guest {
		t.Errorf("a guest that was killed gave: %v", err)
	}
	select {
	case <-m.Guest.Exited():
	case <-time.After(time.Minute):
		t.Error("the guest is dead, but Exited is not closed")
	}
	for range 2 {
		if err := m.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
		if err := m.Guest.Close(); err != nil {
			t.Errorf("close of the guest: %v", err)
		}
	}
}

// testImpossible asks for an impossible data volume; the attempt must leave nothing behind.
func testImpossible(t *testing.T, d system.Driver, h *system.Host) {
	f := Request()
	f.DiskBytes = 1 << 60
	m, err := system.Launch(t.Context(), d, h, "impossible", f)
	if err == nil {
		m.Close()
		t.Fatal("a guest with an exbibyte of disk")
	}
	if fault.KindOf(err) != fault.Host {
		t.Errorf("whose fault is it: %v", err)
	}
}
