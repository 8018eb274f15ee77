package run

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/tare-bench/tare/internal/campaign"
	"github.com/tare-bench/tare/internal/cgroup"
	"github.com/tare-bench/tare/internal/host/watch"
	"github.com/tare-bench/tare/internal/probe"
	"github.com/tare-bench/tare/internal/store"
	"github.com/tare-bench/tare/internal/system"
	"github.com/tare-bench/tare/internal/system/fake"
)

func TestOtherLoads(t *testing.T) {
	r := &runner{Config: Config{Host: &system.Host{RunID: "r7"}},
		inOrder: []*guest{{arm: campaign.PlannedArm{Name: "native"}}, {arm: campaign.PlannedArm{Name: "podman"}}}}
	groups := map[int][]string{
		1: {"/", "/system.slice/cron.service"},
		2: {"/", "/tare-r7-0-0-0/vmm"},
		3: {"/tare-r7-1-0-0.daemon/vmm", "/"},
		// a monitor that only its cgroup v1 path assigns to the guest
		4: {"/tare-r7-1-2-0.daemon/vmm", "/tare-r7-1-0-0/libpod-conmon"},
		5: {"/tare-r77-1-0-0/vmm"},
		6: {"/user.slice"},
		7: {"/tare-r7-x.daemon"},
	}
	uses := func(of ...any) (used []watch.ProcessUse) {
		for i := 0; i < len(of); i += 2 {
			used = append(used, watch.ProcessUse{PID: of[i].(int), Name: "p\xff" + strconv.Itoa(of[i].(int)),
				CPUs: of[i+1].(float64)})
		}
		return used
	}
	for _, c := range []struct {
		name string
		used []watch.ProcessUse
		want []string
	}{
		{"a service and the kernel", append(uses(2, 1.0, 1, 0.5), watch.ProcessUse{Name: "ksmd", CPUs: 0.25}),
			[]string{"0.50 CPUs: p?1 (pid 1) of cron.service", "0.25 CPUs: the kernel's ksmd"}},
		{"as before", append(uses(2, 1.0, 1, 0.6), watch.ProcessUse{Name: "ksmd", CPUs: 0.2}), nil},
		{"more than before", uses(1, 0.7), []string{"0.70 CPUs: p?1 (pid 1) of cron.service"}},
		{"a daemon", uses(4, 1.5, 3, 1.03), []string{"1.03 CPUs: p?3 (pid 3), a daemon of arm podman"}},
		{"at most three, and not the little ones", uses(5, 0.9, 6, 0.8, 7, 0.7, 1, 3.0), []string{
			"0.90 CPUs: p?5 (pid 5) of another tare's run", "0.80 CPUs: p?6 (pid 6) of the host",
			"0.70 CPUs: p?7 (pid 7), a daemon of this run"}},
		{"little", uses(8, 0.09), nil},
	} {
		if got := r.otherLoads(c.used, func(pid int) []string { return groups[pid] }); !slices.Equal(got, c.want) {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

// TestOtherLoadIsJournaled: a run names the processes that used CPU time during its trials.
func TestOtherLoadIsJournaled(t *testing.T) {
	proc := t.TempDir()
	process := func(pid int, name string, ticks int) {
		dir := filepath.Join(proc, strconv.Itoa(pid))
		stat := fmt.Sprintf("%d (%s) R 0 0 0 0 0 0 0 0 0 0 %d 0 0 0 0 0 0 0 1", pid, name, ticks)
		if err := errors.Join(os.MkdirAll(dir, 0o755), os.WriteFile(filepath.Join(dir, "stat"), []byte(stat),
			0o644)); err != nil {
			t.Error(err)
		}
	}
	process(7, "tare", 0)
	process(20, "cc", 500)
	process(21, "quiet", 900)
	if err := os.Symlink("7", filepath.Join(proc, "self")); err != nil {
		t.Fatal(err)
	}
	b := newBench(t, strings.Replace(yaml, "blocks: 4", "blocks: 1", 1))
	b.config.Host.Proc = proc
	b.native.Behave = func(argv []string) fake.Behaviour {
		process(7, "tare", 1e6)
		process(20, "cc", 500+1e6)
		return good(argv)
	}
	if _, err := b.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	events, err := b.config.Store.Events()
	if err != nil {
		t.Fatal(err)
	}
	var loads []string
	for _, e := range events {
		if e.Kind == store.EventOtherLoad {
			loads = append(loads, e.Text)
		}
	}
	if len(loads) != 1 || !strings.HasSuffix(loads[0], " CPUs: cc (pid 20) of the host") {
		t.Errorf("named: %q", loads)
	}
}

// Processes killed at the memory limit of somebody else's control group say nothing
// about a trial.
func TestElsewhere(t *testing.T) {
	r := &runner{Config: Config{Host: &system.Host{RunID: "r7"}}}
	killed := "Memory cgroup out of memory: Killed process 5 (tail)"
	limit := func(group string) string {
		return "oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=/,mems_allowed=0,oom_memcg=" + group +
			",task_memcg=/x,task=tail,pid=5,uid=0"
	}
	for _, step := range []struct {
		kind, text string
		elsewhere  bool
	}{
		{probe.KernelOOMCgroup, killed, false}, // an old kernel, which names no group
		{probe.KernelOOMCgroup, limit("/system.slice/database.service"), true},
		{probe.KernelOOMCgroup, killed, true},
		{"kernel-oom", "Out of memory: Killed process 6", false},
		{probe.KernelOOMCgroup, limit("/" + cgroup.Prefix + "r8-0-lxc"), true},
		{probe.KernelOOMCgroup, limit("/" + cgroup.Prefix + "r7-0-lxc/container"), false},
		{probe.KernelOOMCgroup, killed, false},
	} {
		if got := r.elsewhere(probe.Notice{Kind: step.kind, Text: step.text}); got != step.elsewhere {
			t.Errorf("%s: %v", step.text, got)
		}
	}
}
