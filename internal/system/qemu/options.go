package qemu

import (
	"fmt"
	"os"
	"strings"

	"github.com/tare-bench/tare/internal/network"
	"github.com/tare-bench/tare/internal/system"
)

var options = []system.Option{{
	Name: "cache", Values: []string{"none", "directsync", "writeback", "writethrough", "unsafe"}, Default: "none",
	About: "how QEMU caches the data disk; none and directsync bypass the host's page cache, writeback and writethrough " +
		"fill it " +
		"but keep the guest's flushes, unsafe drops the flushes too: it is fast, and what was written is not on the disk",
}, {
	Name: "vhost", Values: []string{"auto", "on", "off"}, Default: "auto",
	About: "what moves the packets of a bridged network: a thread of the host's kernel, or QEMU; auto is on where the " +
		"host has " + vhostDevice,
}, {
	Name: system.OptionQueues, UpToVCPUs: true, Default: "1",
	About: "queues of the network card of a bridged machine, each for packets in both directions; the guest uses all of " +
		"them",
}, {
	Name: system.OptionDisk, Values: system.Models(diskDevices), Default: system.VirtioBlk,
	About: "the controller of the data disk: virtio is made for virtual machines, nvme, sata, ide and pvscsi (VMware's) " +
		"imitate hardware; sata needs image: {kernel: generic}",
}, {
	Name: system.OptionNIC, Values: system.Models(cards), Default: system.VirtioNet,
	About: "the network card: virtio is made for virtual machines; e1000 (Intel), rtl8139 (Realtek), pcnet (AMD) and " +
		"vmxnet3 (VMware's) imitate hardware, and all but vmxnet3 need image: {kernel: generic}",
}, {
	Name: "iothread", Values: []string{"on", "off"}, Default: "off",
	About: "on: the data disk has its own thread in QEMU; off: the main loop serves it with everything else",
}, {
	Name: "hugepages", Values: []string{"on", "off"}, Default: "off",
	About: "on: the machine's memory is made of the host's huge pages, of which enough must be free (vm.nr_hugepages)",
}, {
	Name: "merge", Values: []string{"on", "off"}, Default: "on",
	About: "on: where KSM runs on the host, it may merge the machine's pages with equal ones of others; off: it may not",
}, {
	Name: system.OptionBalloon, Values: []string{system.NoBalloon, system.Reporting, system.HalfBalloon},
	Default: system.NoBalloon,
	About: "reporting: the guest reports which pages are free, and QEMU gives them back to the host; half: a balloon " +
		"takes half of its memory as it boots",
}}

const vhostDevice = "/dev/vhost-net"

// diskDevices are QEMU's arguments for the data disk, by the values of system.OptionDisk: its controller and the disk.
var diskDevices = map[string][]string{
	system.VirtioBlk: {"virtio-blk-pci,drive=data"},
	"virtio-scsi":    {"virtio-scsi-pci,id=controller", "scsi-hd,drive=data,bus=controller.0"},
	"pvscsi":         {"pvscsi,id=controller", "scsi-hd,drive=data,bus=controller.0"},
	"nvme":           {"nvme,drive=data,serial=data"},
	"sata":           {"ich9-ahci,id=controller", "ide-hd,drive=data,bus=controller.0"},
	"ide":            {"ide-hd,drive=data,bus=ide.0"}, // the controller is a part of the machine
}

// card is a network card that QEMU imitates.
type card struct{ device, module string }

// cards are the network cards, by the values of system.OptionNIC.
var cards = map[string]card{
	system.VirtioNet: {device: "virtio-net-pci"},
	"e1000":          {"e1000", "e1000"},
	"rtl8139":        {"rtl8139", "8139cp"},
	"pcnet":          {"pcnet", "pcnet32"},
	"vmxnet3":        {"vmxnet3", "vmxnet3"},
}

// CheckOptions is that of system.OptionsChecker.
func (Driver) CheckOptions(set map[string]string) error {
	r := system.Request{Options: set}
	disk, nic := r.Setting(options, system.OptionDisk), r.Setting(options, system.OptionNIC)
	switch {
	case r.Setting(options, "iothread") == "on" && disk != system.VirtioBlk && disk != "virtio-scsi":
		return fmt.Errorf("a disk with its own thread (iothread: on) is virtio-blk or virtio-scsi, not %s", disk)
	case nic != system.VirtioNet && r.Setting(options, system.OptionQueues) != "1":
		return fmt.Errorf("only a virtio network card has several queues, not %s", nic)
	case nic != system.VirtioNet && r.Setting(options, "vhost") == "on":
		return fmt.Errorf("vhost moves the packets of virtio network cards only, not those of %s", nic)
	}
	return nil
}

// modules are those that the machine's devices need.
func modules(s *system.Site) []string {
	var list []string
	if s.Volume != nil {
		list = append(list, system.DiskModels[s.Setting(options, system.OptionDisk)].Modules...)
	}
	if m := cards[s.Setting(options, system.OptionNIC)].module; m != "" && s.Port != nil {
		list = append(list, m)
	}
	return list
}

// BootFiles is that of system.Booter.
func (Driver) BootFiles(s *system.Site) ([]string, error) { return s.Userland.BootFiles(modules(s)) }

// dataDisk returns the arguments that attach the data volume as the machine's second disk.
func dataDisk(s *system.Site) []string {
	v := s.Volume
	file := strings.ReplaceAll(v.Device, ",", ",,") // QEMU's escape for a literal comma
	drive := fmt.Sprintf("if=none,id=data,format=%s,aio=threads,cache=%s,file=%s",
		v.Format, s.Setting(options, "cache"), file)
	args := []string{"-drive", drive}
	for i, device := range diskDevices[s.Setting(options, system.OptionDisk)] {
		if i == 0 && s.Setting(options, "iothread") == "on" { // the controller's
			args = append(args, "-object", "iothread,id=io")
			device += ",iothread=io"
		}
		args = append(args, "-device", device)
	}
	return args
}

// netdev returns the machine's network backend, "" when it has none.
func netdev(s *system.Site) string {
	switch {
	case s.Port == nil:
		return ""
	case s.Port.Tap != "":
		moves := "off"
		if vhost(s) {
			moves = "on"
		}
		return "tap,id=net,script=no,downscript=no,ifname=" + s.Port.Tap + ",vhost=" + moves + ",queues=" +
			s.Setting(options, system.OptionQueues)
	default: // QEMU's own stack
		return fmt.Sprintf("user,id=net,net=%s,host=%s,dhcpstart=%s", network.UserAddress.Masked(), network.UserHost,
			network.UserAddress.Addr())
	}
}

// networkCard returns the machine's network card.
func networkCard(s *system.Site) string {
	card := cards[s.Setting(options, system.OptionNIC)].device + ",netdev=net"
	if s.Port.Tap != "" {
		card += ",mac=" + s.Port.MAC.String()
		if s.Setting(options, system.OptionQueues) != "1" {
			card += ",mq=on"
		}
	}
	return card
}

// vhost reports whether the host's kernel moves the packets of the machine.
func vhost(s *system.Site) bool {
	if s.Setting(options, system.OptionNIC) != system.VirtioNet {
		return false
	}
	setting := s.Setting(options, "vhost")
	if setting != "auto" {
		return setting == "on"
	}
	_, err := os.Stat(vhostDevice)
	return err == nil
}
