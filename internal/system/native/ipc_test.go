package native

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/tare-bench/tare/internal/agent"
	"github.com/tare-bench/tare/internal/system"
	"github.com/tare-bench/tare/internal/system/systemtest"
)

// TestSharedMemory: System V shared memory, which a killed database leaves behind, is not the host's.
func TestSharedMemory(t *testing.T) {
	m := systemtest.Launch(t, Driver{}, "shared-memory", systemtest.Request())
	const size = "1234568" // no other program uses it
	r, err := m.Agent.Run(t.Context(), agent.Command{Argv: []string{"sh", "-c", "ipcmk -M " + size +
		" && cat /proc/sysvipc/shm"},
		Env: system.AgentEnv, Dir: m.DataDir(), Timeout: 2 * time.Minute})
	if err != nil || r.ExitCode != 0 || !strings.Contains(string(r.Stdout), size) {
		t.Fatalf("the guest made no shared memory: %v, %+v", err, r)
	}
	segments, err := os.ReadFile("/proc/sysvipc/shm")
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(segments), size) {
		t.Errorf("the host has the guest's shared memory:\n%s", segments)
	}
}
