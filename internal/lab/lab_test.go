package lab

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tare-bench/tare/internal/fault"
)

func TestCommandLine(t *testing.T) {
	l := &Lab{config: Config{Kind: Xen, CPUs: 3, MemoryBytes: 4 << 30}, dir: "/state,odd/lab"}
	files := machineFiles{xen: "/x", kernel: "/k,1", initramfs: "/i", root: "/r", data: "/d", userland: "/images/u/disk"}
	text := strings.Join(l.commandLine(files), " ")
	for _, want := range []string{
		"-kernel /x", "dom0_max_vcpus=3", "-initrd /k,,1 console=hvc0", "tare.port=tare.lab,/i",
		"path=/state,,odd/lab/tare.lab",
		"-cpu max,-smap,-rdtscp,-pku,-xsave,-avx", "-smp 3 -m 4096M", "-sandbox on,", "readonly=on,file=/r",
		"readonly=on,file=/images/u/disk",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in %s", want, text)
		}
	}
	l.config.Kind = KVM
	text = strings.Join(l.commandLine(files), " ")
	if !strings.Contains(text, "-cpu max,-smap ") ||
		!strings.Contains(text, "-kernel /k,1 -initrd /i -append console=ttyS0") {
		t.Error(text)
	}
}

func TestParseKind(t *testing.T) {
	for _, k := range Kinds {
		if got, err := ParseKind(string(k)); got != k || err != nil {
			t.Errorf("%s: %v, %v", k, got, err)
		}
	}
	if _, err := ParseKind("hyper-v"); fault.KindOf(err) != fault.Campaign {
		t.Errorf("got: %v", err)
	}
	if !slices.Contains(Recipe().Packages, "xen-hypervisor-4.17-amd64") || Recipe().Source != "" {
		t.Errorf("recipe %+v", Recipe())
	}
}

// sleeper stands in for QEMU: a process with the name of a lab's.
func sleeper(t *testing.T) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("sleep", "1000")
	cmd.Args[0] = "tare-lab"
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	return cmd
}

// TestState: a lab is found while its lock is held. What a dead tare has left of a lab is
// distinguished from a lab that was kept.
func TestState(t *testing.T) {
	state := t.TempDir()
	if _, err := Find(state); !errors.Is(err, ErrNone) {
		t.Fatalf("nothing there: %v", err)
	}
	qemu := sleeper(t)
	l := &Lab{config: Config{Kind: KVM, CPUs: 2, MemoryBytes: 1 << 30, StateDir: state}, dir: dirOf(state),
		pid: qemu.Process.Pid}
	if err := l.take(); err != nil {
		t.Fatal(err)
	}
	if err := l.save(false); err != nil {
		t.Fatal(err)
	}
	if what := Abandoned(state); what != "" {
		t.Errorf("abandoned while its starter, this test, lives: %s", what)
	}
	found, err := Find(state)
	if err != nil || found.Kind() != KVM || found.pid != l.pid {
		t.Errorf("%+v, %v", found, err)
	}
	second := &Lab{config: Config{StateDir: state}, dir: dirOf(state)}
	if err := second.take(); fault.KindOf(err) != fault.Host ||
		!strings.Contains(err.Error(), "kvm with 2 CPUs and 1024 MiB") {
		t.Errorf("a second lab: %v", err)
	}

	dead := sleeper(t)
	dead.Process.Kill()
	dead.Wait()
	starter := func(pid string) {
		b, err := os.ReadFile(l.path(stateFile))
		if err == nil {
			_, rest, _ := strings.Cut(string(b), `"starter":`)
			old, _, _ := strings.Cut(rest, ",")
			err = os.WriteFile(l.path(stateFile), []byte(strings.Replace(string(b), `"starter":`+old, `"starter":`+pid, 1)),
				0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	starter("999999999")
	if what := Abandoned(state); what != dirOf(state) {
		t.Errorf("its starter is dead, and it is not abandoned: %q", what)
	}
	if err := l.Keep(); err != nil {
		t.Fatal(err)
	}
	starter("999999999")
	if what := Abandoned(state); what != "" {
		t.Errorf("kept, and abandoned: %s", what)
	}
	found, err = Find(state)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- qemu.Wait() }()
	for range 2 {
		if err := found.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	}
	<-ended // killed, not left
	if _, err := os.Stat(dirOf(state)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the lab's directory: %v", err)
	}
	l.lock.Close()

	// A directory whose QEMU is gone.
	if err := os.MkdirAll(filepath.Join(dirOf(state), exchangeDir), 0o755); err != nil {
		t.Fatal(err)
	}
	if what := Abandoned(state); what == "" {
		t.Error("a directory without a lab is not abandoned")
	}
	if err := Sweep(state); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dirOf(state)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("after the sweep: %v", err)
	}
}

// TestDiesWithStarter: QEMU ends when the process that started it is killed, unless the lab outlives that.
func TestDiesWithStarter(t *testing.T) {
	if dir := os.Getenv("TARE_LAB_STARTER"); dir != "" { // the process that is killed
		for _, outlives := range []bool{false, true} {
			l := &Lab{config: Config{StateDir: filepath.Join(dir, fmt.Sprint(outlives)), Outlives: outlives}}
			l.dir = dirOf(l.config.StateDir)
			if err := errors.Join(l.take(), l.launch([]string{"sleep", "1000"})); err != nil {
				t.Fatal(err)
			}
			fmt.Println(l.pid)
		}
		select {}
	}
	starter := exec.Command(os.Args[0], "-test.run", "^TestDiesWithStarter$")
	starter.Env = append(os.Environ(), "TARE_LAB_STARTER="+t.TempDir())
	out, err := starter.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := starter.Start(); err != nil {
		t.Fatal(err)
	}
	defer starter.Wait()
	defer starter.Process.Kill()
	var dies, outlives int
	if _, err := fmt.Fscan(out, &dies, &outlives); err != nil {
		t.Fatal(err)
	}
	defer unix.Kill(outlives, unix.SIGKILL)
	fd, err := unix.PidfdOpen(dies, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	starter.Process.Kill()
	if err := waitEnd(fd, time.Minute); err != nil {
		unix.Kill(dies, unix.SIGKILL)
		t.Errorf("its starter was killed: %v", err)
	}
	if err := unix.Kill(outlives, 0); err != nil {
		t.Errorf("the lab that outlives its starter: %v", err)
	}
}

// TestWaitEndInterrupted: signals that arrive meanwhile do not end the wait for a process.
func TestWaitEndInterrupted(t *testing.T) {
	cmd := exec.Command("sleep", "1000")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	defer cmd.Process.Kill()
	fd, err := unix.PidfdOpen(cmd.Process.Pid, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	thread := unix.Gettid()
	go func() {
		for range 100 {
			unix.Tgkill(os.Getpid(), thread, unix.SIGURG) // as Go's runtime does
			time.Sleep(time.Millisecond)
		}
		cmd.Process.Kill()
	}()
	if err := waitEnd(fd, time.Minute); err != nil {
		t.Error(err)
	}
}

// TestLockOfRemovedDirectory: a lock on the directory of a lab that has just been removed is none.
func TestLockOfRemovedDirectory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "lab")
	for range 200 {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		first, held, err := lockDir(dir)
		if err != nil || held {
			t.Fatal(held, err)
		}
		removed := make(chan struct{})
		go func() { // as Close does it
			defer close(removed)
			os.RemoveAll(dir)
			first.Close()
		}()
		for {
			second, held, err := lockDir(dir)
			if errors.Is(err, os.ErrNotExist) {
				break // as it should: the caller creates the directory again
			}
			if err != nil {
				t.Fatal(err)
			}
			if held {
				continue
			}
			_, err = os.Stat(filepath.Join(dir, lockFile))
			second.Close()
			if err != nil {
				t.Fatal("the lock is on a file that is not there")
			}
			break
		}
		<-removed // or it would remove what the next round makes
	}
}

// TestClosed: others can neither connect to a lab's sockets nor see its files.
func TestClosed(t *testing.T) {
	l := &Lab{config: Config{StateDir: t.TempDir()}}
	l.dir = dirOf(l.config.StateDir)
	if err := l.take(); err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if st, err := os.Stat(l.dir); err != nil || st.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", st.Mode(), err)
	}
}
