package cgroup

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/model"
)

// CheckIO returns an error if this host cannot cap the I/O of groups.
func (l Layout) CheckIO() error {
	if l.V1["blkio"] != "" || l.Mode() == "v2" && slices.Contains(l.v2On, "io") {
		return nil
	}
	return fault.WithRemedy(fault.Hostf("control groups (%s): there is no controller of I/O", l.Mode()),
		"mount version 1's controller blkio, or use version 2 alone with its controller io")
}

// CapIO caps what the processes of the group read from and write to the block device with this number.
// The group must have been made with Limits.IO.
//
// With version 1, each subgroup has its own cap, since the kernel does not add up what subgroups do: call
// CapIO when they exist. What the kernel writes back from the page cache later is under no cap there.
func (g *Group) CapIO(major, minor uint32, caps model.IOCaps) error {
	device := fmt.Sprintf("%d:%d ", major, minor)
	at, files := g.layout.V1["blkio"], map[string]string{}
	if at == "" {
		dir := filepath.Join(g.layout.V2, g.name)
		files[filepath.Join(dir, "io.max")] = device + fmt.Sprintf("rbps=%s wbps=%s riops=%s wiops=%s",
			orMax(caps.Read), orMax(caps.Write), orMax(caps.ReadOps), orMax(caps.WriteOps))
	} else {
		err := filepath.WalkDir(filepath.Join(at, g.name), func(dir string, d fs.DirEntry, err error) error {
			if err != nil || !d.IsDir() {
				return err
			}
			for file, value := range map[string]int64{
				"read_bps": caps.Read, "write_bps": caps.Write, "read_iops": caps.ReadOps, "write_iops": caps.WriteOps,
			} {
				// 0 removes a cap.
				files[filepath.Join(dir, "blkio.throttle."+file+"_device")] = device + strconv.FormatInt(value, 10)
			}
			return nil
		})
		if err != nil {
			return fault.Hostf("capping the I/O of control group %s: %w", g.name, err)
		}
	}
	for file, text := range files {
		if err := os.WriteFile(file, []byte(text), 0); err != nil {
			return fault.Hostf("capping the I/O of control group %s: %w", g.name, err)
		}
	}
	return nil
}

func orMax(value int64) string {
	if value == 0 {
		return "max"
	}
	return strconv.FormatInt(value, 10)
}
