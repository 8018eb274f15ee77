package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// tally counts what happened in a round of the soak.
type tally struct {
	Kind   string  `json:"kind"`
	Kills  int     `json:"kills,omitempty"`
	Guests int     `json:"guests,omitempty"` // created and removed by hand; runs create others
	Faults int     `json:"faults,omitempty"` // runs in which a system call failed, or the disk filled
	Ended  int     `json:"ended,omitempty"`  // those of Faults that ended with an error
	Passes int     `json:"gc,omitempty"`     // of tare gc beside the rest
	Took   float64 `json:"seconds"`
}

// rounds are the kinds of bad days.
var rounds = []struct {
	kind string
	live func(t *testing.T, n *tally)
}{
	{"kill", func(t *testing.T, n *tally) { n.Kills = killAndResume(t, 12) }},
	{"guests", soakGuests},
	{"fault", soakFault}, {"fault", soakFault}, {"fault", soakFault}, {"fault", soakFault},
	{"fault", soakFault}, {"fault", soakFault}, {"fault", soakFault}, {"fault", soakFault},
	{"full", soakFull},
}

// TestSoak runs a round of each kind, or with TARE_SOAK_FOR set, rounds for that time.
// Meanwhile, tare gc runs against them all the time. After each round, nothing may be
// left on the host: no process, control group, mount, loop device, file or lock. What
// happened is appended to the file TARE_SOAK_LOG, so that a soak can go on another day.
func TestSoak(t *testing.T) {
	live(t)
	if _, err := exec.LookPath("strace"); err != nil {
		t.Skip(err)
	}
	var length time.Duration
	if text := os.Getenv("TARE_SOAK_FOR"); text != "" {
		var err error
		if length, err = time.ParseDuration(text); err != nil {
			t.Fatal(err)
		}
	}
	begin := time.Now()
	for i := 0; i < len(rounds) || time.Since(begin) < length; i++ {
		r := rounds[i%len(rounds)]
		if length == 0 && i > 0 && rounds[i-1].kind == r.kind {
			continue
		}
		t.Run(r.kind, func(t *testing.T) {
			n := tally{Kind: r.kind}
			from := time.Now()
			stop := make(chan struct{})
			stopped := make(chan struct{})
			go func() {
				defer close(stopped)
				for {
					select {
					case <-stop:
						return
					default:
						if out, err := exec.Command(binary, "gc").CombinedOutput(); err != nil {
							t.Errorf("gc: %v: %s", err, out)
							return
						}
						n.Passes++
						time.Sleep(100 * time.Millisecond)
					}
				}
			}()
			func() {
				defer func() {
					close(stop)
					<-stopped
				}()
				r.live(t, &n)
			}()
			// What the kernel removes disappears with a delay.
			for range 100 {
				if g := tare(t, t.TempDir(), "gc"); g.status == 0 && g.stdout == "" {
					break
				}
				time.Sleep(50 * time.Millisecond)
			}
			nothingLeft(t)
			n.Took = time.Since(from).Seconds()
			logRound(t, n)
		})
		if t.Failed() {
			return
		}
	}
}

func logRound(t *testing.T, n tally) {
	t.Helper()
	line, err := json.Marshal(n)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s", line)
	path := os.Getenv("TARE_SOAK_LOG")
	if path == "" {
		return
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.Write(append(line, '\n')); err != nil {
		t.Fatal(err)
	}
}

// soakGuests has two tares at once create and remove guests of several systems.
func soakGuests(t *testing.T, n *tally) {
	done := make(chan int)
	for _, systems := range [][]string{{"lxc", "runc"}, {"crun", "nspawn"}} {
		go func() {
			made := 0
			defer func() { done <- made }()
			for range 3 {
				for _, system := range systems {
					name := "soak-" + system
					for _, args := range [][]string{
						{"guest", "start", "--yes", system, "--name", name}, {"guest", "exec", name, "--", "true"}, {"guest", "rm", name},
					} {
						if out, err := exec.Command(binary, args...).CombinedOutput(); err != nil {
							t.Errorf("tare %s: %v: %s", strings.Join(args, " "), err, out)
							return
						}
					}
					made++
				}
			}
		}()
	}
	n.Guests = <-done + <-done
}

// faults are system calls and how they fail on a host that runs out of something, or whose disk
// breaks.
var faults = []struct{ calls, errors string }{
	{"openat", "EMFILE ENFILE ENOMEM ENOSPC EINTR EIO"},
	{"mkdirat,symlinkat,linkat", "ENOSPC ENOMEM EIO"},
	{"write,pwrite64", "ENOSPC EIO EINTR"},
	{"fsync,fdatasync,ftruncate,fallocate", "EIO ENOSPC"},
	{"mount,umount2", "ENOMEM EBUSY"},
	{"clone,clone3,vfork,execve", "ENOMEM EAGAIN"},
	{"pipe2,socketpair,socket,epoll_create1", "EMFILE ENFILE ENOMEM"},
	{"ioctl", "ENOMEM EINTR"},
	{"read,pread64,getdents64", "EIO EINTR"},
	{"sendto,recvfrom,sendmsg,recvmsg", "ENOMEM EINTR"},
}

const faultCampaign = `
name: fault
seed: 3
flavors:
  one: {vcpus: 1, memory: 256MiB, disk: 64MiB}
arms: [native, lxc, runc, crun, nspawn]
workloads:
  - {name: sysbench-cpu, size: 10}
blocks: 1
allow_unequal: true
`

// soakFault lets a system call fail once in each thread of tare, the runtimes and the guests, the
// n-th. The run may end with an error, but not with a crash, and it can be resumed.
func soakFault(t *testing.T, n *tally) {
	f := faults[rand.IntN(len(faults))]
	errno := strings.Fields(f.errors)
	inject := fmt.Sprintf("inject=%s:error=%s:when=%d", f.calls, errno[rand.IntN(len(errno))], 1+rand.IntN(300))
	dir := t.TempDir()
	campaign, run := write(t, dir, "fault.yaml", faultCampaign), filepath.Join(dir, "fault.tare")
	cmd := exec.Command("strace", "-f", "-qq", "-o", "/dev/null", "-e", inject, binary, "run", "--yes",
		campaign, "--out", run)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	if strings.Contains(out.String(), othersMeasure) {
		return // nothing has happened
	}
	n.Faults = 1
	if err != nil {
		n.Ended = 1
	}
	// Go's runtime gives up if it cannot create a thread or a poller.
	runtimes := strings.Contains(f.calls, "clone") || strings.Contains(f.calls, "epoll_create1")
	if text := out.String(); strings.Contains(text, "goroutine 1 [") && !runtimes {
		t.Errorf("%s: it crashed:\n%s", inject, text)
	}
	if err == nil {
		return
	}
	if r := alone(t, dir, "resume", "--yes", run); r.status != 0 && r.status != exitCampaign {
		t.Errorf("%s; resumed: status %d\n%s", inject, r.status, r.stderr)
	}
}

// soakFull lets the disk with the run file fill, and resumes the run when there is room.
func soakFull(t *testing.T, n *tally) {
	dir := t.TempDir()
	size := func(k int) string { return fmt.Sprintf("size=%dk", k) }
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, size(100+rand.IntN(300))); err != nil {
		t.Fatal(err)
	}
	defer syscall.Unmount(dir, syscall.MNT_DETACH)
	run := filepath.Join(dir, "full.tare")
	r := alone(t, dir, "run", "--yes", write(t, t.TempDir(), "kill.yaml", killCampaign), "--out", run)
	n.Faults = 1
	if r.status == 0 {
		return
	}
	n.Ended = 1
	if r.status != exitHost {
		t.Errorf("on a full disk: status %d\n%s", r.status, r.stderr)
	}
	if err := syscall.Mount("tmpfs", dir, "tmpfs", syscall.MS_REMOUNT, size(64<<10)); err != nil {
		t.Fatal(err)
	}
	if r := alone(t, dir, "resume", "--yes", run); r.status != 0 && r.status != exitCampaign {
		t.Errorf("resumed when there was room: status %d\n%s", r.status, r.stderr)
	}
}
