package libvirt

import (
	"encoding/xml"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tare-bench/tare/internal/agent"
	"github.com/tare-bench/tare/internal/model"
	"github.com/tare-bench/tare/internal/system"
	"github.com/tare-bench/tare/internal/system/systemtest"
	"github.com/tare-bench/tare/internal/volume"
)

func TestMain(m *testing.M) { systemtest.Main(m) }

func TestConformance(t *testing.T) {
	// Package engine runs the whole suite on containers with the agent's stream on a socket, and package qemu on QEMU's
	// machines.
	t.Run("libvirt-lxc", func(t *testing.T) { systemtest.RunBriefly(t, LXC()) })
	t.Run("libvirt-qemu", func(t *testing.T) { systemtest.RunBriefly(t, QEMU()) })
	t.Run("libvirt-kvm", func(t *testing.T) { systemtest.RunBriefly(t, KVM()) })
}

func TestConfined(t *testing.T) { systemtest.Confined(t, LXC(), false) }

func TestRestored(t *testing.T) {
	t.Run("libvirt-qemu", func(t *testing.T) { systemtest.Restored(t, QEMU()) })
	t.Run("libvirt-kvm", func(t *testing.T) { systemtest.Restored(t, KVM()) })
}

func TestLoop(t *testing.T) {
	t.Run("libvirt-lxc", func(t *testing.T) { systemtest.Loop(t, LXC()) })
	t.Run("libvirt-qemu", func(t *testing.T) { systemtest.SoakLoop(t, QEMU()) })
}

func BenchmarkSystem(b *testing.B) {
	b.Run("libvirt-lxc", func(b *testing.B) { systemtest.Bench(b, LXC()) })
	b.Run("libvirt-qemu", func(b *testing.B) { systemtest.Bench(b, QEMU()) })
	b.Run("libvirt-kvm", func(b *testing.B) { systemtest.Bench(b, KVM()) })
}

// TestXML: a description is well-formed whatever the paths are, and agrees with the flavor.
func TestXML(t *testing.T) {
	s := &system.Site{
		ID: "r0123456789-a", Dir: "/a&b/'c'", DataDir: "/a&b/<data>",
		Userland: &system.Userland{Tree: "/tree\"", Disk: "/disk", Kernel: "/kernel", Initramfs: "/initramfs",
			Agent: "/agent"},
		Request: system.Request{Flavor: model.Flavor{VCPUs: 3, MemoryBytes: 512 << 20}},
		Volume:  &volume.Volume{Device: "/dev/loop7", FS: "xfs"},
	}
	for _, d := range []Driver{LXC(), QEMU().Driver, KVM().Driver} {
		written, err := d.describe(s, s.Dir+"/agent.sock")
		if err != nil {
			t.Fatal(err)
		}
		text, err := written.xml()
		if err != nil {
			t.Fatal(err)
		}
		var v struct {
			Type    string `xml:"type,attr"`
			Name    string `xml:"name"`
			Memory  int64  `xml:"memory"`
			VCPU    int    `xml:"vcpu"`
			Cmdline string `xml:"os>cmdline"`
			Source  []struct {
				Dir string `xml:"dir,attr"`
			} `xml:"devices>filesystem>source"`
			Channel struct {
				Path string `xml:"path,attr"`
			} `xml:"devices>channel>source"`
		}
		if err := xml.Unmarshal([]byte(text), &v); err != nil {
			t.Fatalf("%s: %v\n%s", d.Name(), err, text)
		}
		if v.Type != d.kind || v.Name != "tare-r0123456789-a" || v.Memory != 512<<20 || v.VCPU != 3 {
			t.Errorf("%s: %+v", d.Name(), v)
		}
		if d.container() {
			var dirs []string
			for _, s := range v.Source {
				dirs = append(dirs, s.Dir)
			}
			for _, want := range []string{"/tree\"", "/a&b/<data>", "/agent", "/a&b/'c'/agent.sock", "/a&b/'c'/log"} {
				if !slices.Contains(dirs, want) {
					t.Errorf("no %s among %q", want, dirs)
				}
			}
		} else if v.Channel.Path != "/a&b/'c'/agent.sock" || !strings.Contains(v.Cmdline, "tare.data=vdb:xfs") {
			t.Errorf("%s: %+v", d.Name(), v)
		}
	}
}

// TestControllers: each controller has its place in a machine's description, and the guest finds the disk behind one.
func TestControllers(t *testing.T) {
	more := func(modules ...string) (string, error) { return strings.Join(modules, "+"), nil }
	for name, at := range buses {
		s := &system.Site{ID: "a", Dir: "/a", Userland: &system.Userland{Initramfs: "none", InitramfsWith: more},
			Request: system.Request{Flavor: model.Flavor{MemoryBytes: 512 << 20},
				Options: map[string]string{"disk": name, "balloon": "reporting"}},
			Volume: &volume.Volume{Device: "/dev/loop7", FS: "ext4"}, Swap: &volume.Volume{Device: "/dev/loop8"}}
		v, err := QEMU().describe(s, "/socket")
		if err != nil {
			t.Fatal(err)
		}
		text, err := v.xml()
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{
			"<target dev='" + at.DataTarget + "' bus='" + at.Bus + "'/>", "tare.data=" + system.DiskModels[name].Node + ":ext4",
			"<source dev='/a/swap'/><target dev='" + v.SwapNode + "' bus='virtio'/>", "tare.swap=" + v.SwapNode,
			"<currentMemory unit='b'>536870912</currentMemory>", "freePageReporting='on'",
		} {
			if !strings.Contains(text, want) {
				t.Errorf("%s: no %q in %s", name, want, text)
			}
		}
		if want := strings.Join(system.DiskModels[name].Modules, "+"); want != "" && v.images()[v.Initramfs] != want {
			t.Errorf("%s: the initramfs has %q", name, v.images()[v.Initramfs])
		}
	}
	f := systemtest.Request()
	f.Options = map[string]string{"disk": "virtio-scsi", "balloon": "half"}
	m := systemtest.Launch(t, QEMU(), "scsi", f)
	r, err := m.Agent.Run(t.Context(), agent.Command{Argv: []string{"findmnt", "-no", "SOURCE", m.DataDir()},
		Env: system.AgentEnv, OutputLimit: 1 << 10})
	if err != nil || !strings.HasSuffix(string(r.Stdout), "/dev/sda\n") {
		t.Errorf("%v, %+v: %s%s", err, r, r.Stdout, r.Stderr)
	}
	const half = `for i in $(seq 600); do
	kb=$(sed -n 's/^MemTotal: *\([0-9]*\) kB/\1/p' /proc/meminfo)
	if [ "$kb" -lt "$1" ]; then exit 0; fi
	sleep 0.1
done
echo "it still has $kb kB"; exit 1`
	r, err = m.Agent.Run(t.Context(), agent.Command{
		Argv: []string{"sh", "-c", half, "sh", fmt.Sprint(f.MemoryBytes >> 11)}, Env: system.AgentEnv, OutputLimit: 1 << 10})
	if err != nil || r.ExitCode != 0 {
		t.Errorf("a balloon that takes half: %v, %+v: %s%s", err, r, r.Stdout, r.Stderr)
	}
}

func TestHostile(t *testing.T) {
	t.Run("libvirt-lxc", func(t *testing.T) { systemtest.Hostile(t, LXC()) })
	t.Run("libvirt-qemu", func(t *testing.T) { systemtest.Hostile(t, QEMU()) })
	t.Run("libvirt-kvm", func(t *testing.T) { systemtest.Hostile(t, KVM()) })
}
