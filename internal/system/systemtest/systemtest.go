// Package systemtest is the conformance suite that every driver inherits:
//
//	func TestMain(m *testing.M)     { systemtest.Main(m) }
//	func TestConformance(t *testing.T) { systemtest.Run(t, Driver{}) }
package systemtest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/tare-bench/tare/internal/agentbin"
	"github.com/tare-bench/tare/internal/cgroup"
	"github.com/tare-bench/tare/internal/image"
	"github.com/tare-bench/tare/internal/instance"
	"github.com/tare-bench/tare/internal/model"
	"github.com/tare-bench/tare/internal/network"
	"github.com/tare-bench/tare/internal/sandbox"
	"github.com/tare-bench/tare/internal/system"
)

// StateDir is tare's default directory for the image and data volumes.
const StateDir = "/var/lib/tare"

// Main sets host and self if the tests can make guests, and otherwise skip to the reason why not.
var (
	host *system.Host
	self *instance.Instance
	skip string
)

// Main runs a package's tests inside a sandbox, or without one if they cannot make guests.
func Main(m *testing.M) {
	interceptJudge()
	sandbox.Intercept()
	if os.Getuid() != 0 {
		skip = "guests need root"
		os.Exit(m.Run())
	}
	if !sandbox.Inside() {
		dir, err := os.MkdirTemp("", "tare-test-*")
		if err != nil {
			fail(err)
		}
		status, err := sandbox.Run(dir)
		os.Remove(dir)
		if err != nil {
			fail(err)
		}
		os.Exit(status)
	}
	var err error
	if host, err = newHost(sandbox.Dir()); err != nil {
		skip = err.Error()
		if os.Getenv("TARE_LIVE") != "" {
			fail(err)
		}
	}
	status := m.Run()
	if host != nil {
		os.RemoveAll(host.Volumes())
		if err := errors.Join(host.Network.Close(), self.Close()); err != nil {
			fail(err)
		}
	}
	os.Exit(status)
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "systemtest:", err)
	os.Exit(1)
}

func newHost(dir string) (*system.Host, error) {
	layout, err := cgroup.Detect()
	if err != nil {
		return nil, err
	}
	if err := layout.Check(); err != nil {
		return nil, err
	}
	images := filepath.Join(StateDir, "images")
	if err := system.UseTools(images, StateDir, dir); err != nil {
		return nil, err
	}
	img, err := image.Open(images)
	if err != nil {
		return nil, err
	}
	program, err := agentbin.Program()
	if err != nil {
		return nil, err
	}
	u, err := system.NewUserland(img, program, dir)
	if err != nil {
		return nil, err
	}
	// With it, the next tare removes what a killed test has left.
	if self, err = instance.New(); err != nil {
		return nil, err
	}
	if err := self.Hold(StateDir); err != nil {
		return nil, err
	}
	return &system.Host{
		RunID: self.ID, StateDir: StateDir, Dir: dir, Cgroups: layout, Userland: u, Network: network.NewBridge(),
	}, nil
}

// Host returns the host for the tests' guests. It skips the test if guests are impossible here;
// with TARE_LIVE set, Main fails instead.
func Host(t testing.TB) *system.Host {
	t.Helper()
	if host == nil {
		t.Skip(skip)
	}
	return host
}

// Request asks for a guest of the suite's size. Its CPU is the host's last, or the one before it for tests that run
// beside others: TARE_PLACE numbers them from 0.
func Request() system.Request {
	place, err := strconv.Atoi(cmp.Or(os.Getenv("TARE_PLACE"), "0"))
	if err != nil {
		panic(fmt.Errorf("TARE_PLACE: %w", err))
	}
	cpus, err := cgroup.SpreadCPUs(1, place, 0)
	if err != nil {
		panic(err)
	}
	return system.Request{Flavor: model.Flavor{
		VCPUs: 1, MemoryBytes: 512 << 20, CPUs: cpus, DiskBytes: 128 << 20, DiskFS: "ext4",
	}}
}

// Launch creates a guest, and closes it when the test ends.
func Launch(t testing.TB, d system.Driver, name string, ask system.Request) *system.Machine {
	t.Helper()
	return launch(t, d, Host(t), name, ask)
}

// checked are the results of checks so far: some take half a minute, because a guest does not boot.
var checked sync.Map // by a driver's name, the host and its programs

// needUsable skips the test if the driver cannot make guests here.
func needUsable(t testing.TB, d system.Driver, h *system.Host) {
	t.Helper()
	key := fmt.Sprint(d.Name(), " ", h.RunID, " ", h.Programs, " ", os.Getenv("TARE_PROGRAMS"), " ", os.Getenv("PATH"))
	st, known := checked.Load(key)
	if !known {
		st = d.Check(t.Context(), h)
		if t.Context().Err() == nil {
			checked.Store(key, st)
		}
	}
	if st := st.(system.Status); !st.Usable {
		t.Skipf("%s: %s", d.Name(), st.Reason)
	}
}

func launch(t testing.TB, d system.Driver, h *system.Host, name string, ask system.Request) *system.Machine {
	t.Helper()
	needUsable(t, d, h)
	m, err := system.Launch(t.Context(), d, h, name, ask)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return m
}

// timeout bounds one command of the suite, generously, since emulation is slow.
func timeout(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	t.Cleanup(cancel)
	return ctx
}
