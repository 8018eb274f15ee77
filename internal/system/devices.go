package system

import (
	"maps"
	"slices"
)

// Options of systems that let an arm choose the devices of its machines.
const (
	OptionDisk    = "disk"
	OptionNIC     = "nic"
	OptionBalloon = "balloon"
)

// The values of OptionBalloon.
const (
	NoBalloon   = "off"
	Reporting   = "reporting" // the guest reports free pages, which go back to the host
	HalfBalloon = "half"      // a balloon takes half of the guest's memory
)

// VirtioBlk is the default of OptionDisk, and VirtioNet that of OptionNIC.
const (
	VirtioBlk = "virtio-blk"
	VirtioNet = "virtio"
)

// DiskModel is what a guest needs to know of the controller that its data disk is on.
type DiskModel struct {
	Node    string   // of the disk, below /dev
	Modules []string // of the guest's kernel, besides those of every machine
}

// DiskModels are the controllers that QEMU imitates, by the values of OptionDisk.
var DiskModels = map[string]DiskModel{
	VirtioBlk:     {Node: "vdb"},
	"virtio-scsi": {Node: "sda", Modules: []string{"virtio_scsi", "sd_mod"}},
	"pvscsi":      {Node: "sda", Modules: []string{"vmw_pvscsi", "sd_mod"}},
	"nvme":        {Node: "nvme0n1", Modules: []string{"nvme"}},
	"sata":        {Node: "sda", Modules: []string{"ahci", "sd_mod"}},
	"ide":         {Node: "sda", Modules: []string{"ata_piix", "sd_mod"}},
}

// SwapNode is the node of a machine's swap volume below /dev, beside that of its data disk. The swap is the last virtio
// disk, and the userland's is the first.
func SwapNode(data string) string {
	if data == DiskModels[VirtioBlk].Node {
		return "vdc"
	}
	return "vdb"
}

// Models returns the values that an option with these models can have, in the order of their names.
func Models[M any](of map[string]M) []string { return slices.Sorted(maps.Keys(of)) }

// Booter is a driver whose machines boot files that depend on their devices. BootFiles returns those that every start
// of a site's machine reads.
type Booter interface {
	BootFiles(s *Site) ([]string, error)
}

// BootFiles returns the kernel and the initramfs of a machine whose devices need these modules.
func (u *Userland) BootFiles(modules []string) ([]string, error) {
	initramfs, err := u.InitramfsFor(modules)
	return []string{u.Kernel, initramfs}, err
}

// InitramfsFor returns the initramfs of a machine whose devices need these modules of its kernel.
func (u *Userland) InitramfsFor(modules []string) (string, error) {
	if len(modules) == 0 {
		return u.Initramfs, nil
	}
	return u.InitramfsWith(modules...)
}
