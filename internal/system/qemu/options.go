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
	Name: "iothread", Values: []string{"on", "off"}, Default: "off",
	About: "on: the data disk has a thread of its own in QEMU; off: the main loop serves it with everything else",
}, {
	Name: "hugepages", Values: []string{"on", "off"}, Default: "off",
	About: "on: the machine's memory is made of the host's huge pages, of which enough must be free (vm.nr_hugepages)",
}, {
	Name: "merge", Values: []string{"on", "off"}, Default: "on",
	About: "on: where KSM runs on the host, it may merge the machine's pages with equal ones of others; off: it may not",
}, {
	Name: "balloon", Values: []string{"off", "reporting", "half"}, Default: "off",
	About: "reporting: the guest reports which pages are free, and QEMU gives them back to the host; half: a balloon " +
		"takes half of its memory as it boots",
}}

const vhostDevice = "/dev/vhost-net"

// dataDisk returns the arguments that attach the data volume as the machine's second disk.
func dataDisk(s *system.Site) []string {
	v := s.Volume
	file := strings.ReplaceAll(v.Device, ",", ",,") // QEMU's escape for a literal comma
	drive := fmt.Sprintf("if=none,id=data,format=%s,aio=threads,cache=%s,file=%s",
		v.Format, s.Setting(options, "cache"), file)
	if s.Setting(options, "iothread") == "on" {
		return []string{"-object", "iothread,id=io", "-drive", drive, "-device", "virtio-blk-pci,drive=data,iothread=io"}
	}
	return []string{"-drive", drive, "-device", "virtio-blk-pci,drive=data"}
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
	card := "virtio-net-pci,netdev=net"
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
	setting := s.Setting(options, "vhost")
	if setting != "auto" {
		return setting == "on"
	}
	_, err := os.Stat(vhostDevice)
	return err == nil
}
