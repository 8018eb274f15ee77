package host

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"
	"time"
)

var update = flag.Bool("update", false, "write the golden files anew")

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs (-update writes it anew):\n%s", file, got)
	}
}

// hosts are the synthetic hosts, each with a data path.
var hosts = []struct {
	name, path string
	free       int64
}{
	{"laptop", "/media/my disk/tare", 3 << 30},
	{"server", "/var/lib/tare", 900 << 30},
	{"vm", "/srv/tare", 3 << 30},
}

func fakeCalls(free int64) *calls {
	c := foreignCalls()
	c.arch = "amd64"
	c.now = func() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) }
	c.space = func(string) (int64, int64, error) { return 1000 << 30, free, nil }
	c.resolution = func() (int64, error) { return 1, nil }
	c.reading = func() (float64, error) { return 25, nil }
	c.cpuid = func() (string, error) { return "KVMKVMKVM", nil }
	return c
}

func readHost(t testing.TB, name string) *Environment {
	t.Helper()
	for _, h := range hosts {
		if h.name == name {
			return Read(Options{Root: loadTree(t, name), Path: h.path, calls: fakeCalls(h.free)})
		}
	}
	t.Fatalf("no host %q", name)
	return nil
}

func TestReadGolden(t *testing.T) {
	for _, h := range hosts {
		t.Run(h.name, func(t *testing.T) {
			env := readHost(t, h.name)
			b, err := json.MarshalIndent(env, "", "  ")
			if err != nil {
				t.Fatal(err)
			}
			golden(t, h.name+".env.json", append(b, '\n'))
			var back Environment
			if err := json.Unmarshal(b, &back); err != nil {
				t.Fatal(err)
			}
			again, _ := json.MarshalIndent(back, "", "  ")
			if !bytes.Equal(b, again) {
				t.Error("JSON does not survive a round trip")
			}
		})
	}
}

// TestReadNothing: an empty root must not panic, and must list everything that it lacks.
func TestReadNothing(t *testing.T) {
	env := Read(Options{Root: tree{}, Path: "/data"})
	got := map[string]bool{}
	for _, u := range env.Unreadable {
		if u.Reason == "" || u.Field == "" {
			t.Errorf("%+v says too little", u)
		}
		got[u.Field] = true
	}
	for _, field := range []string{"boot_id", "host_id", "uptime_s", "cpu", "cpu.online", "cpu.smt", "cpu.turbo",
		"cpu.policies", "cpu.caches", "cpu.mitigations", "memory.total", "memory.swap_used", "memory.thp", "kernel.release",
		"kernel.config_sha256", "clock.source", "clock.resolution_ns", "cgroup", "os", "load", "load.psi_io", "storage"} {
		if !got[field] {
			t.Errorf("%s is silently missing", field)
		}
	}
}

func TestHostIDDoesNotNameTheHost(t *testing.T) {
	root := loadTree(t, "vm")
	a := Read(Options{Root: root})
	root.MapFS["etc/machine-id"].Data = []byte("00000000000000000000000000000002\n")
	b := Read(Options{Root: root})
	if len(a.HostID) != 16 || a.HostID == b.HostID {
		t.Errorf("ids %q and %q", a.HostID, b.HostID)
	}
}

func TestReadLive(t *testing.T) {
	if _, err := os.Stat("/proc/self/mountinfo"); err != nil {
		t.Skip("no Linux")
	}
	env := Read(Options{Path: t.TempDir()})
	b, err := json.Marshal(env)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d bytes of JSON", len(b))
	if env.CPU.Threads < 1 || env.Memory.Total == nil || env.Kernel.Release == "" ||
		env.Storage == nil || env.Storage.Free == nil {
		t.Errorf("a live host shows too little: %s", b)
	}
	if env.Clock.ResolutionNS == nil || *env.Clock.ResolutionNS < 1 {
		t.Error("no timer resolution")
	}
}

// TestContainer: a file that is left over in an image does not prove a container.
func TestContainer(t *testing.T) {
	root := loadTree(t, "server")
	root.MapFS[".dockerenv"] = &fstest.MapFile{}
	if got := Read(Options{Root: root}).Virt.Container; got != "docker" {
		t.Errorf("in a container of %q", got)
	}
	root.MapFS["proc/2/comm"] = &fstest.MapFile{Data: []byte("kthreadd\n")}
	if got := Read(Options{Root: root}).Virt.Container; got != "" {
		t.Errorf("sees kernel threads, yet in a container of %q", got)
	}
	// In tare's own PID namespace, process 2 is any process.
	root.MapFS["run/host-proc/2/comm"] = root.MapFS["proc/2/comm"]
	root.MapFS["proc/2/comm"] = &fstest.MapFile{Data: []byte("tare\n")}
	if got := Read(Options{Root: root, Proc: "/run/host-proc"}).Virt.Container; got != "" {
		t.Errorf("sees kernel threads in the host's /proc, yet in a container of %q", got)
	}
}
