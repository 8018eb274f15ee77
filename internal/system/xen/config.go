package xen

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/tare-bench/tare/internal/system"
)

// config returns the domain's complete configuration in xl's format.
func (d Driver) config(s *system.Site, root string) string {
	f := s.Flavor
	kernelArgs := "console=hvc0 quiet panic=-1 tare.tty=hvc1"
	var disks []string
	if s.Volume != nil {
		kernelArgs += " tare.root=" + rootName + " tare.data=" + dataName + ":" + s.Volume.FS
		if s.Swap != nil {
			kernelArgs += " tare.swap=" + swapName
		}
		for _, d := range disksOf(s, root) {
			// Xen's own script starts about a hundred programs for each disk and runs for one
			// guest at a time; attach does the part that is needed here.
			disks = append(disks, quote(fmt.Sprintf("format=raw,vdev=%s,access=%s,script=/bin/true,target=%s", d.name,
				d.access, d.device)))
		}
	}
	if word := system.NetworkParameter("eth0", s); word != "" {
		kernelArgs += " " + word
	}
	var text strings.Builder
	set := func(key, value string) { fmt.Fprintf(&text, "%s = %s\n", key, value) }
	set("name", quote(s.ID))
	set("type", quote(d.kind))
	kernel := cmp.Or(s.Userland.Vmlinux, s.Userland.Kernel) // unpacked once here, not by each domain
	if d.kind == kindHVM {
		kernel = s.Userland.Kernel // a device model boots only this format
	}
	set("kernel", quote(kernel))
	set("ramdisk", quote(s.Userland.Initramfs))
	set("cmdline", quote(kernelArgs))
	now := f.MemoryBytes >> 20
	if s.Setting(options, system.OptionBalloon) == system.HalfBalloon {
		now /= 2
	}
	set("memory", fmt.Sprint(now))
	set("maxmem", fmt.Sprint(f.MemoryBytes>>20))
	set("vcpus", fmt.Sprint(f.VCPUs))
	if len(f.CPUs) > 0 {
		set("cpus", quote(f.CPUs.String()))
	}
	set("disk", "["+strings.Join(disks, ", ")+"]")
	if vif := vif(s.Port); vif != "" {
		set("vif", "["+quote(vif)+"]")
	}
	if d.kind == kindHVM {
		for _, setting := range hvmSettings() {
			set(setting[0], setting[1])
		}
	}
	for _, event := range []string{"on_poweroff", "on_reboot", "on_watchdog", "on_crash"} {
		set(event, quote("destroy"))
	}
	return text.String()
}

// quote makes text a string in xl's format. The format has no escapes, so quotes are removed;
// tare's values have none.
func quote(text string) string { return `"` + strings.ReplaceAll(text, `"`, "") + `"` }
