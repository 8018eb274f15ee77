package host

import (
	"errors"
	"path"
	"slices"
	"strings"
)

// maxLayers bounds the layers of a stack; real ones have fewer than ten, and more disks than this are not worth a line.
const maxLayers = 64

// stackOf describes a block device by the kernel's name and all devices below it, from the top: logical volumes, RAIDs,
// partitions, disks. A device that is below several others appears once.
func stackOf(r *reader, field, name string) []string {
	var stack, seen []string
	for todo := []string{name}; len(todo) > 0 && len(stack) < maxLayers; {
		name, todo = todo[0], todo[1:]
		if slices.Contains(seen, name) {
			continue
		}
		seen = append(seen, name)
		what, below := layerOf(r, field, name)
		stack = append(stack, name+": "+what)
		todo = append(slices.Clone(below), todo...)
	}
	return stack
}

// mappings are kinds of devices of the device mapper, by the beginnings of their UUIDs.
var mappings = []struct{ prefix, kind string }{
	{"LVM-", "logical volume"}, {"CRYPT-", "encrypted"}, {"mpath-", "multipath"}, {"DMRAID-", "RAID of the firmware"},
}

// layerOf says what one block device is, and which are directly below it.
func layerOf(r *reader, field, name string) (what string, below []string) {
	dir := "/sys/class/block/" + name
	if !r.Exists(dir) {
		dir = "/sys/block/" + name
	}
	below = r.Names(dir + "/slaves")
	read := func(file string) string { return r.optional(field, dir+"/"+file) }
	if read("partition") != "" {
		if disk := wholeDisk(r, "/sys/class/block/"+name); disk != "" {
			return "partition", []string{disk}
		}
		return "partition", nil
	}
	if id := read("dm/uuid"); id != "" || r.Exists(dir+"/dm") {
		kind := "device mapper"
		for _, m := range mappings {
			if strings.HasPrefix(id, m.prefix) {
				kind = m.kind
			}
		}
		return strings.TrimSpace(kind + " " + read("dm/name")), below
	}
	if level := read("md/level"); level != "" {
		return level + " of " + read("md/raid_disks"), below
	}
	if read("loop/backing_file") != "" { // whose path may name a user
		return "loop device on a file", below
	}
	if model := read("device/model"); model != "" {
		return model, below
	}
	return "disk", below
}

// wholeDisk is the disk that a link of /sys to a block device leads to, "" if there is no such link. A partition lies
// within its disk: …/block/sda/sda1.
func wholeDisk(r *reader, link string) string {
	target, err := r.ReadLink(link)
	if err != nil {
		return ""
	}
	parts := strings.Split(target, "/")
	if i := slices.Index(parts, "block"); i >= 0 && i+1 < len(parts) {
		return parts[i+1]
	}
	return ""
}

// readDevices describes the user's block devices.
func readDevices(r *reader, c *calls, devices []string) []BlockDevice {
	var all []BlockDevice
	for _, device := range devices {
		at, err := c.resolve(device) // a logical volume's path is a link to /dev/dm-N
		if err == nil && !r.Exists("/sys/class/block/"+path.Base(at)) {
			err = errors.New("not found in /sys/class/block")
		}
		if err != nil {
			r.fail("devices", device, err)
			continue
		}
		all = append(all, BlockDevice{Path: device, Stack: stackOf(r, "devices", path.Base(at))})
	}
	return all
}
