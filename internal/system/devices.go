package system

import (
	"maps"
	"slices"
)

// Options of systems that let an arm choose the devices of its machines.
const (
	OptionDisk = "disk"
	OptionNIC  = "nic"
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

// Models returns the values that an option with these models can have, in the order of their names.
func Models[M any](of map[string]M) []string { return slices.Sorted(maps.Keys(of)) }

// InitramfsFor returns the initramfs of a machine whose devices need these modules of its kernel.
func (u *Userland) InitramfsFor(modules []string) (string, error) {
	if len(modules) == 0 {
		return u.Initramfs, nil
	}
	return u.InitramfsWith(modules...)
}
