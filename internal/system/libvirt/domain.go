package libvirt

import (
	"encoding/xml"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"text/template"

	"github.com/moby/sys/capability"
	"golang.org/x/sys/unix"

	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/sandbox"
	"github.com/tare-bench/tare/internal/system"
)

// domain is the data for the templates of domains.
type domain struct {
	*system.Site
	form                    *template.Template
	Kind, Name, Socket, Log string
	// What QEMU's user reads of the image, and the node of the data volume's device.
	Kernel, Initramfs, Disk, Data string
	DataNode                      string // of the data volume in the guest
	SwapFile, SwapNode            string // the same of the swap volume, if the site has one
	bus
	initramfs string // the image's file that is Initramfs
	Group     uint32 // that QEMU runs in
	Env       [][2]string
	Grant     []capability.Cap
}

// machine describes a domain of libvirt's QEMU driver. It has no default devices, as with the
// systems kvm and qemu-tcg.
var machine = parse(`<domain type='{{.Kind}}'>
  <name>{{.Name}}</name>
  <memory unit='b'>{{.Flavor.MemoryBytes}}</memory>
  <currentMemory unit='b'>{{.Current}}</currentMemory>
  <vcpu>{{.Flavor.VCPUs}}</vcpu>
  <os>
    <type arch='x86_64' machine='pc'>hvm</type>
    <kernel>{{.Kernel | xml}}</kernel>
    <initrd>{{.Initramfs | xml}}</initrd>
    <cmdline>console=ttyS0 quiet panic=-1 tare.port=tare.agent{{if .Volume}} tare.root=vda tare.data={{.DataNode}}:{{.Volume.FS}}{{end}}{{if .Swap}} tare.swap={{.SwapNode}}{{end}}</cmdline>
  </os>
  <features><acpi/></features>
  <cpu mode='{{if eq .Kind "kvm"}}host-passthrough{{else}}maximum{{end}}'/>
  <on_poweroff>destroy</on_poweroff><on_reboot>destroy</on_reboot><on_crash>destroy</on_crash>
  <devices>{{if .Volume}}
    <disk type='file' device='disk'><driver name='qemu' type='raw'/><source file='{{.Disk | xml}}'/><target dev='vda' bus='virtio'/><readonly/><shareable/></disk>
    <disk type='block' device='disk'><driver name='qemu' type='raw' cache='none' io='threads'/><source dev='{{.Data | xml}}'/><target dev='{{.DataTarget}}' bus='{{.Bus}}'/></disk>{{if .Swap}}
    <disk type='block' device='disk'><driver name='qemu' type='raw' cache='none' io='threads'/><source dev='{{.SwapFile | xml}}'/><target dev='{{.SwapNode}}' bus='virtio'/></disk>{{end}}{{if .SCSI}}
    <controller type='scsi' model='{{.SCSI}}'/>{{end}}{{end}}
    <serial type='file'><source path='{{.Log | xml}}'/></serial>
    <channel type='unix'><source mode='connect' path='{{.Socket | xml}}'/><target type='virtio' name='tare.agent'/></channel>
    <controller type='usb' model='none'/>
    {{if eq .Balloon "off"}}<memballoon model='none'/>{{else if eq .Balloon "half"}}<memballoon model='virtio'/>{{else}}<memballoon model='virtio' freePageReporting='on'/>{{end}}
  </devices>
  <seclabel type='static' model='dac' relabel='no'><label>+{{.User}}:+{{.Group}}</label></seclabel>
</domain>`)

// bus is where libvirt attaches the data volume.
type bus struct {
	Bus, DataTarget string
	SCSI            string // the model of its controller, if libvirt must be told
}

// buses are those of the controllers that libvirt can choose, by the values of system.OptionDisk.
var buses = map[string]bus{
	system.VirtioBlk: {Bus: "virtio", DataTarget: "vdb"},
	"virtio-scsi":    {Bus: "scsi", DataTarget: "sda", SCSI: "virtio-scsi"},
	"sata":           {Bus: "sata", DataTarget: "sda"},
	"ide":            {Bus: "ide", DataTarget: "hda"},
}

var options = []system.Option{{
	Name: system.OptionDisk, Values: system.Models(buses), Default: system.VirtioBlk,
	About: "the controller of the data disk: virtio-blk and virtio-scsi are made for virtual machines, sata and ide " +
		"imitate hardware; sata needs image: {kernel: generic}",
}, {
	Name: system.OptionBalloon, Values: []string{system.NoBalloon, system.Reporting, system.HalfBalloon},
	Default: system.NoBalloon,
	About: "reporting: the guest reports which pages are free, and QEMU gives them back to the host; half: a balloon " +
		"takes half of its memory as it boots",
}}

// Balloon is the value of system.OptionBalloon, and Current what the balloon leaves the guest of its memory.
func (v *domain) Balloon() string { return v.Setting(options, system.OptionBalloon) }

func (v *domain) Current() int64 {
	if v.Balloon() == system.HalfBalloon {
		return v.Flavor.MemoryBytes / 2
	}
	return v.Flavor.MemoryBytes
}

// container describes a domain of libvirt's LXC driver. libvirt mounts the host's control groups of
// version 1 writable in every container, so that it could leave its own: they are hidden. The
// agent's output goes to a file, since the domain's console would be a terminal that must be read in
// time.
var container = parse(`<domain type='lxc'>
  <name>{{.Name}}</name>
  <memory unit='b'>{{.Flavor.MemoryBytes}}</memory>
  <vcpu>{{.Flavor.VCPUs}}</vcpu>
  <resource><partition>/{{.Name}}</partition></resource>
  <os>
    <type>exe</type>
    <init>/bin/sh</init>
    <initarg>-c</initarg>
    <initarg>exec &gt;/run/agent.log 2&gt;&amp;1; chmod 1777 /tmp /dev/shm; exec /tare-agent unix:/run/agent.sock</initarg>{{range .Env}}
    <initenv name='{{index . 0}}'>{{index . 1 | xml}}</initenv>{{end}}
  </os>
  <features>
    <privnet/>
    <capabilities policy='deny'>{{range .Grant}}<{{.}} state='on'/>{{end}}</capabilities>
  </features>
  <devices>
    <filesystem type='mount'><source dir='{{.Userland.Tree | xml}}'/><target dir='/'/><readonly/></filesystem>
    <filesystem type='ram'><source usage='{{.Flavor.MemoryBytes}}' units='bytes'/><target dir='/tmp'/></filesystem>
    <filesystem type='ram'><source usage='{{.Flavor.MemoryBytes}}' units='bytes'/><target dir='/run'/></filesystem>
    <filesystem type='ram'><source usage='{{.Flavor.MemoryBytes}}' units='bytes'/><target dir='/dev/shm'/></filesystem>
    <filesystem type='ram'><source usage='65536' units='bytes'/><target dir='/sys/fs/cgroup'/></filesystem>
    <filesystem type='mount'><source dir='{{.DataDir | xml}}'/><target dir='/data'/></filesystem>
    <filesystem type='mount'><source dir='{{.Userland.Agent | xml}}'/><target dir='/tare-agent'/><readonly/></filesystem>
    <filesystem type='mount'><source dir='{{.Socket | xml}}'/><target dir='/run/agent.sock'/></filesystem>
    <filesystem type='mount'><source dir='{{.Log | xml}}'/><target dir='/run/agent.log'/></filesystem>
    <console type='pty'/>
  </devices>
</domain>`)

func parse(text string) *template.Template {
	return template.Must(template.New("domain").Funcs(template.FuncMap{"xml": escaped}).Parse(text))
}

func escaped(s string) (string, error) {
	var b strings.Builder
	err := xml.EscapeText(&b, []byte(s))
	return b.String(), err
}

// describe returns what the domain of a guest on a site is made of.
func (d Driver) describe(s *system.Site, socket string) (*domain, error) {
	v := &domain{form: machine,
		Site: s, Kind: d.kind, Name: domainName(s), Socket: socket, Log: logFile(s),
		Kernel: filepath.Join(s.Dir, "kernel"), Initramfs: filepath.Join(s.Dir, "initramfs"),
		Disk: filepath.Join(s.Dir, "root"), Data: filepath.Join(s.Dir, "disk"), Group: group(s, d.kind),
	}
	for _, kv := range system.AgentEnv {
		name, value, _ := strings.Cut(kv, "=")
		v.Env = append(v.Env, [2]string{name, value})
	}
	var err error
	if !d.container() {
		model := s.Setting(options, system.OptionDisk)
		v.bus, v.DataNode = buses[model], system.DiskModels[model].Node
		v.SwapFile, v.SwapNode = filepath.Join(s.Dir, "swap"), system.SwapNode(v.DataNode)
		var modules []string
		if s.Volume != nil {
			modules = system.DiskModels[model].Modules
		}
		v.initramfs, err = s.Userland.InitramfsFor(modules)
	} else {
		v.form = container
		v.Grant, err = system.HarmlessCapabilities()
	}
	return v, err
}

// xml returns the description for libvirt.
func (v *domain) xml() (string, error) {
	var b strings.Builder
	err := v.form.Execute(&b, v)
	return b.String(), err
}

// domainName marks the domain as tare's.
func domainName(s *system.Site) string { return "tare-" + s.ID }

func logFile(s *system.Site) string { return filepath.Join(s.Dir, "log") }

// group returns the group that QEMU runs in: the one that may use KVM, if a group may.
func group(s *system.Site, kind string) uint32 {
	var st unix.Stat_t
	if kind == "kvm" && unix.Stat("/dev/kvm", &st) == nil && st.Gid != 0 && st.Mode&0o060 == 0o060 {
		return st.Gid
	}
	return s.User
}

// own gives QEMU's user what it needs of the host: the agent's socket, its log, device nodes for its volumes, and
// the files of the image, whose directory is closed to other users. libvirt could change the owners of the files
// themselves, but not of an image that other guests use, too. disown takes it back.
func (v *domain) own() error {
	files := []string{v.Socket, v.Log}
	for at, device := range v.nodes() {
		var st unix.Stat_t
		if err := unix.Stat(device, &st); err != nil {
			return fault.Hostf("%s: %w", device, err)
		}
		if err := unix.Mknod(at, unix.S_IFBLK|0o600, int(st.Rdev)); err != nil {
			return fault.Hostf("a device node for %s: %w", device, err)
		}
		files = append(files, at)
	}
	for _, file := range files {
		if err := os.Chown(file, int(v.User), int(v.User)); err != nil {
			return fault.Hostf("%w", err)
		}
	}
	for at, file := range v.images() {
		if err := os.WriteFile(at, nil, 0o600); err != nil {
			return fault.Hostf("%w", err)
		}
		if err := sandbox.Bind(file, at, unix.MS_RDONLY); err != nil {
			return err
		}
	}
	return nil
}

// nodes are the devices of the host that a machine uses, by where it does.
func (v *domain) nodes() map[string]string {
	nodes := map[string]string{}
	if v.Volume != nil {
		nodes[v.Data] = v.Volume.Device
	}
	if v.Swap != nil {
		nodes[v.SwapFile] = v.Swap.Device
	}
	return nodes
}

// images are the files of the image that a machine uses, by where it does.
func (v *domain) images() map[string]string {
	return map[string]string{v.Kernel: v.Userland.Kernel, v.Initramfs: v.initramfs, v.Disk: v.Userland.Disk}
}

// disown unmounts the files of the image, and removes the device nodes, which own makes anew.
func (v *domain) disown() error {
	for at := range v.images() {
		if err := unix.Unmount(at, unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW); err != nil && !errors.Is(err, unix.EINVAL) &&
			!errors.Is(err, unix.ENOENT) {
			return fault.Hostf("unmounting %s: %w", at, err)
		}
	}
	for at := range v.nodes() {
		if err := os.Remove(at); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fault.Hostf("%w", err)
		}
	}
	return nil
}
