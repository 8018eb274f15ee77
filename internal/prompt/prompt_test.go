package prompt

import (
	"os/exec"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// self returns the policy and the CPUs of a thread of this process.
func self(t *testing.T, tid int) (policy uint32, cpus unix.CPUSet) {
	t.Helper()
	attr, err := unix.SchedGetAttr(tid, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.SchedGetaffinity(tid, &cpus); err != nil {
		t.Fatal(err)
	}
	return attr.Policy, cpus
}

func TestBegin(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	me := unix.Gettid()
	_, all := self(t, me)
	var mine []int
	for cpu := range runtime.NumCPU() {
		if all.IsSet(cpu) {
			mine = append(mine, cpu)
		}
	}
	if len(mine) == 0 {
		t.Skip("only CPUs of high numbers are this process's own")
	}

	ids, tell, done := make(chan int), make(chan bool), make(chan bool)
	go func() {
		defer close(done)
		runtime.LockOSThread() // the thread ends with it
		defer Apart()()
		ids <- unix.Gettid()
		<-tell
	}()
	other := <-ids

	last := mine[len(mine)-1]
	usual := debug.SetGCPercent(123)
	end := Begin([]int{last})
	inner := Begin(nil)
	policy, cpus := self(t, me)
	allowed := policy == unix.SCHED_FIFO
	if !allowed {
		t.Log("real time is not allowed here")
	}
	if cpus.IsSet(last) != (len(mine) == 1) || cpus.Count() == 0 {
		t.Errorf("kept off CPU %d of %v: has %d CPUs, that one: %v", last, mine, cpus.Count(), cpus.IsSet(last))
	}
	if p, cpus := self(t, other); p != unix.SCHED_NORMAL || cpus != all {
		t.Errorf("the thread that stays apart has policy %d and %d CPUs", p, cpus.Count())
	}
	stat, err := exec.Command("cat", "/proc/self/stat").Output()
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Fields(string(stat))[40]; got != "0" { // the process name contains no space
		t.Errorf("what was started meanwhile has policy %s", got)
	}
	end()
	if p, _ := self(t, me); p != policy {
		t.Errorf("after the first of two ends: policy %d, was %d", p, policy)
	}
	inner()
	inner() // does nothing
	if got := debug.SetGCPercent(usual); got != 123 {
		t.Errorf("garbage is collected at %d %%, was at 123", got)
	}
	eachThread(func(tid int) {
		if p, cpus := self(t, tid); p != unix.SCHED_NORMAL || cpus != all {
			t.Errorf("thread %d is left with policy %d and %d CPUs", tid, p, cpus.Count())
		}
	})
	close(tell)
	<-done

	end = Begin(mine) // there are no others
	if _, cpus := self(t, me); cpus != all {
		t.Errorf("kept off all CPUs: has %d of %d", cpus.Count(), all.Count())
	}
	end()

	if len(state.apart) != 0 {
		t.Errorf("left out for ever: %v", state.apart)
	}
}
