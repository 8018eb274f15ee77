package native

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tare-bench/tare/internal/cgroup"
	"github.com/tare-bench/tare/internal/model"
	"github.com/tare-bench/tare/internal/system"
	"github.com/tare-bench/tare/internal/system/systemtest"
)

func TestMain(m *testing.M) { systemtest.Main(m) }

func TestConformance(t *testing.T) { systemtest.Run(t, Driver{}) }

func TestRawDevice(t *testing.T) { systemtest.RawDevice(t, Driver{}) }

func TestConformanceDom0(t *testing.T) { systemtest.Run(t, Dom0()) }

func TestLoop(t *testing.T) { systemtest.Loop(t, Driver{}) }

func BenchmarkSystem(b *testing.B) { systemtest.Bench(b, Driver{}) }

func TestConfined(t *testing.T) { systemtest.Confined(t, Driver{}, false) }

// late is a system that starts its guests with all CPUs of the host and restricts them later, as libvirt does.
type late struct{ Driver }

func (d late) Create(ctx context.Context, s *system.Site) (system.Guest, error) {
	all := model.FirstCPUs(runtime.NumCPU()).String()
	groups := s.Group.Layout().V1["cpuset"]
	if groups == "" {
		groups = s.Group.Layout().V2
	}
	for _, dir := range []string{"", "vmm"} {
		file := filepath.Join(groups, s.Group.Name(), dir, "cpuset.cpus")
		if err := os.WriteFile(file, []byte(all), 0); err != nil && dir == "" {
			return nil, err
		}
	}
	g, err := d.Driver.Create(ctx, s)
	if err != nil {
		return nil, err
	}
	if err := awaitThreads(s); err != nil {
		return nil, errors.Join(err, g.Close())
	}
	err = s.Group.Confine(s.Flavor.CPUs.String()) // does nothing on version 2
	if err == nil && s.Group.Layout().V1["cpuset"] == "" {
		err = s.Group.Update(cgroup.Limits{CPUs: s.Flavor.CPUs.String()})
	}
	if err != nil {
		return nil, errors.Join(err, g.Close())
	}
	return g, nil
}

// awaitThreads waits until the agent has several threads: by then it has counted its CPUs.
func awaitThreads(s *system.Site) error {
	for start := time.Now(); time.Since(start) < time.Minute; time.Sleep(5 * time.Millisecond) {
		pids, err := s.Group.Processes()
		if err != nil {
			return err
		}
		for _, pid := range pids {
			exe, _ := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
			threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", pid))
			if filepath.Base(exe) == "tare-agent" && len(threads) > 1 {
				return nil
			}
		}
	}
	return errors.New("the agent does not start")
}

// TestCPUsAreCountedLate: the record of a guest has the CPUs that it may use in trials.
func TestCPUsAreCountedLate(t *testing.T) {
	if runtime.NumCPU() < 2 {
		t.Skip("one CPU")
	}
	if m := systemtest.Launch(t, late{}, "late", systemtest.Request()); m.Hello.CPUs != 1 {
		t.Errorf("a guest with one CPU says that it has %d", m.Hello.CPUs)
	}
}

// messy is a system that fails to start and leaves a mount, as runc does if it cannot unmount.
type messy struct{ Driver }

func (messy) Create(_ context.Context, s *system.Site) (system.Guest, error) {
	left := filepath.Join(s.Dir, "state", "left")
	err := os.MkdirAll(left, 0o755)
	if err == nil {
		err = unix.Mount("tmpfs", left, "tmpfs", 0, "")
	}
	return nil, errors.Join(errors.New("it fails"), err)
}

// TestMountIsLeft: whatever a runtime has left in the directory of a guest goes with the guest.
func TestMountIsLeft(t *testing.T) {
	h := systemtest.Host(t)
	_, err := system.Launch(t.Context(), messy{}, h, "messy", systemtest.Request())
	if err == nil || !strings.HasSuffix(err.Error(), "it fails") {
		t.Errorf("got: %v", err)
	}
	if _, err := os.Stat(filepath.Join(h.Dir, "guests", h.RunID+"-messy")); !os.IsNotExist(err) {
		t.Errorf("its directory: %v", err)
	}
}
