package image

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// mountsBelow returns the mount points in dir, those mounted last first.
func mountsBelow(dir string) ([]string, error) {
	dir, err := filepath.EvalSymlinks(dir)
	if err == nil {
		dir, err = filepath.Abs(dir)
	}
	if err != nil {
		return nil, err
	}
	b, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	unescape := strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)
	var mounts []string
	for line := range strings.Lines(string(b)) {
		f := strings.Fields(line)
		if len(f) < 5 {
			continue
		}
		if point := unescape.Replace(f[4]); point == dir || strings.HasPrefix(point, dir+"/") {
			mounts = append(mounts, point)
		}
	}
	slices.Reverse(mounts)
	return mounts, nil
}

func detach(point string) error { return syscall.Unmount(point, syscall.MNT_DETACH|0x8) } // UMOUNT_NOFOLLOW
