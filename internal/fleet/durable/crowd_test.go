package durable

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.temporal.io/api/workflow/v1"
)

// coordinatorAt makes the test's own program a coordinator of the Temporal at this address.
const coordinatorAt = "TARE_TEST_COORDINATOR_AT"

func init() {
	address := os.Getenv(coordinatorAt)
	if address == "" {
		return
	}
	err := Coordinate(context.Background(), Connection{Address: address, Namespace: "default"}, "b1")
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// TestLiveCrowd: many machines at once are all measured, and histories stay below the sizes at which Temporal warns. It
// logs the throughput and what it takes. With TARE_SOAK, there are more machines than a turn has.
func TestLiveCrowd(t *testing.T) {
	machines := 20
	if os.Getenv("TARE_SOAK") != "" {
		machines = 500
	}
	conn, server := devServer(t)
	client := dialled(t, conn)
	coordinator := exec.Command(os.Args[0])
	coordinator.Env = append(os.Environ(), coordinatorAt+"="+conn.Address)
	child(t, coordinator)
	dir := t.TempDir()
	o := order("b1")
	o.Campaign = bytes.Repeat([]byte("# 16 characters\n"), 4096/16)
	o.Heartbeat = time.Minute
	for i := range machines {
		name := fmt.Sprint("node", i)
		o.Machines = append(o.Machines, name)
		m := &counting{dir: filepath.Join(dir, name), trials: 5, took: 100 * time.Millisecond}
		background(t, func(ctx context.Context) error { return Work(ctx, conn, name, "b1", m) })
	}
	started(t, client, o)
	begin := time.Now()
	var results map[string]Result
	must(t, client.temporal.GetWorkflow(t.Context(), ID(o.Fleet, o.Run), "").Get(t.Context(), &results))
	took := time.Since(begin)
	for _, name := range o.Machines {
		if r := results[name]; r.State != Done || r.Trials != 5 {
			t.Errorf("%s: %+v", name, r)
		}
	}
	turn := history(t, client, ID(o.Fleet, o.Run), "")
	turn = history(t, client, ID(o.Fleet, o.Run), turn.GetFirstRunId())
	ofMachine := history(t, client, MachineID(o.Fleet, o.Run, "node0"), "")
	for _, h := range []*workflow.WorkflowExecutionInfo{turn, ofMachine} {
		if h.GetHistoryLength() > 10_240 || h.GetHistorySizeBytes() > 10<<20 {
			t.Errorf("%s has %d events and %d bytes", h.GetExecution().GetWorkflowId(), h.GetHistoryLength(),
				h.GetHistorySizeBytes())
		}
	}
	t.Logf("%d machines in %.0f s: %.0f a minute; server %d MiB, coordinator %d MiB; first turn %d events and %d KiB, "+
		"a machine %d events and %d KiB", machines, took.Seconds(), float64(machines)/took.Minutes(), mostMemory(t, server),
		mostMemory(t, coordinator.Process.Pid), turn.GetHistoryLength(), turn.GetHistorySizeBytes()>>10,
		ofMachine.GetHistoryLength(), ofMachine.GetHistorySizeBytes()>>10)
}

// history describes a workflow, whose history has a length and a size.
func history(t *testing.T, c *Client, id, run string) *workflow.WorkflowExecutionInfo {
	t.Helper()
	d, err := c.temporal.DescribeWorkflowExecution(t.Context(), id, run)
	must(t, err)
	if d.GetWorkflowExecutionInfo().GetHistoryLength() == 0 {
		t.Errorf("%s has no history", id)
	}
	return d.GetWorkflowExecutionInfo()
}

// mostMemory is the most that a process has had, in MiB.
func mostMemory(t *testing.T, pid int) int {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	must(t, err)
	_, after, _ := strings.Cut(string(text), "VmHWM:")
	kib, err := strconv.Atoi(strings.Fields(after)[0])
	must(t, err)
	return kib >> 10
}

// child starts a program that ends with the test.
func child(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	must(t, cmd.Start())
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
}
