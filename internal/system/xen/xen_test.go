package xen

import (
	"net"
	"net/netip"
	"strings"
	"testing"

	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/model"
	"github.com/tare-bench/tare/internal/network"
	"github.com/tare-bench/tare/internal/system"
	"github.com/tare-bench/tare/internal/system/systemtest"
	"github.com/tare-bench/tare/internal/volume"
)

func TestMain(m *testing.M) { systemtest.Main(m) }

// These run in the lab, started by package lab's live test.
func TestConformancePV(t *testing.T)  { conform(t, PV()) }
func TestConformancePVH(t *testing.T) { conform(t, PVH()) }
func TestConformanceHVM(t *testing.T) { conform(t, HVM()) }

// conform also looks for leftover domains, of which the host shows no process and no file.
func conform(t *testing.T, d system.Driver) {
	systemtest.Run(t, d)
	names, err := Names()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if strings.HasPrefix(name, systemtest.Host(t).RunID) {
			t.Errorf("left behind: domain %s", name)
		}
	}
}

func TestLoopPV(t *testing.T)  { systemtest.Loop(t, PV()) }
func TestLoopPVH(t *testing.T) { systemtest.Loop(t, PVH()) }
func TestLoopHVM(t *testing.T) { systemtest.Loop(t, HVM()) }

func TestRestoredPV(t *testing.T) { systemtest.Restored(t, PV()) }

func BenchmarkSystem(b *testing.B) {
	b.Run("pv", func(b *testing.B) { systemtest.Bench(b, PV()) })
	b.Run("pvh", func(b *testing.B) { systemtest.Bench(b, PVH()) })
	b.Run("hvm", func(b *testing.B) { systemtest.Bench(b, HVM()) })
}

func TestConfig(t *testing.T) {
	s := &system.Site{
		ID: "tabc-1", Volume: &volume.Volume{Device: "/dev/loop7", FS: "xfs"},
		Userland: &system.Userland{Kernel: "/k/vmlinuz", Vmlinux: "/k/vmlinux", Initramfs: "/i"},
		Request:  system.Request{Flavor: model.Flavor{VCPUs: 2, MemoryBytes: 512 << 20, CPUs: model.CPUList{1, 3}}},
	}
	const want = `name = "tabc-1"
type = "pvh"
kernel = "/k/vmlinux"
ramdisk = "/i"
cmdline = "console=hvc0 quiet panic=-1 tare.tty=hvc1 tare.root=xvde tare.data=xvdf:xfs"
memory = 512
maxmem = 512
vcpus = 2
cpus = "1,3"
disk = ["format=raw,vdev=xvde,access=r,script=/bin/true,target=/dev/vdc", "format=raw,vdev=xvdf,access=w,script=/bin/true,target=/dev/loop7"]
on_poweroff = "destroy"
on_reboot = "destroy"
on_watchdog = "destroy"
on_crash = "destroy"
`
	if got := PVH().config(s, "/dev/vdc"); got != want {
		t.Errorf("got:\n%s", got)
	}
	s.Swap, s.Options = &volume.Volume{Device: "/dev/loop8"}, map[string]string{"balloon": "half"}
	swaps := PVH().config(s, "/dev/vdc")
	for _, want := range []string{"memory = 256\nmaxmem = 512\n", ":xfs tare.swap=xvdg\"\n",
		`"format=raw,vdev=xvdg,access=w,script=/bin/true,target=/dev/loop8"]`} {
		if !strings.Contains(swaps, want) {
			t.Errorf("with swap and a balloon, %q is not in:\n%s", want, swaps)
		}
	}
	s.Port = &network.Port{Address: netip.MustParsePrefix("10.213.0.2/24"),
		MAC: net.HardwareAddr{0x52, 0x54, 10, 213, 0, 2}}
	s.Userland.Vmlinux = ""
	got := PV().config(s, "/dev/vdc")
	for _, want := range []string{
		`kernel = "/k/vmlinuz"`, `type = "pv"`, " tare.net=eth0,10.213.0.2/24\"\n",
		"vif = [\"mac=52:54:0a:d5:00:02,type=vif,script=/bin/true\"]\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("without an unpacked kernel, on a network, %q is not in:\n%s", want, got)
		}
	}
}

// TestHVMConfig: a machine with a device model has as few emulated devices as possible.
func TestHVMConfig(t *testing.T) {
	s := &system.Site{ID: "tabc-1", Userland: &system.Userland{Kernel: "/k", Vmlinux: "/v", Initramfs: "/i"}}
	got := HVM().config(s, "")
	for _, want := range []string{"type = \"hvm\"\n", "device_model_version = \"qemu-xen\"\n", "vga = \"none\"\n",
		"usb = 0\n", "kernel = \"/k\"\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in:\n%s", want, got)
		}
	}
	if strings.Contains(PVH().config(s, ""), "device_model") {
		t.Error("a guest without a device model gets one")
	}
}

func TestParseInfo(t *testing.T) {
	info := parseInfo("virt_caps              : pv hvm\nxen_commandline : com1=1,8n1 a:b\nnonsense\n" +
		"xen_scheduler          : credit2\n")
	if info["virt_caps"] != "pv hvm" || info["xen_commandline"] != "com1=1,8n1 a:b" || len(info) != 3 {
		t.Errorf("got %q", info)
	}
	if c, err := schedulerCommand(info["xen_scheduler"]); c != "sched-credit2" || err != nil {
		t.Error(c, err)
	}
	if _, err := schedulerCommand("rtds"); fault.KindOf(err) != fault.Host {
		t.Error(err)
	}
}

func TestLastWords(t *testing.T) {
	if got := lastWords("a\r\nb\r\n"); got != "; its log ends: a; b" {
		t.Errorf("%q", got)
	}
	if got := lastWords(" \n"); got != "" {
		t.Errorf("%q", got)
	}
}
