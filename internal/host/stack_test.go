package host

import (
	"slices"
	"testing"
)

func TestStack(t *testing.T) {
	env := Read(Options{Root: loadTree(t, "raid"), Path: "/srv/data", Devices: []string{"/dev/dm-1", "/dev/none"},
		calls: fakeCalls(1 << 30)})
	want := []string{"dm-0: logical volume vg0-data", "md0: raid1 of 2", "sda2: partition", "sda: ST4000NM0035",
		"sdb2: partition", "sdb: ST4000NM0035"}
	if env.Storage == nil || !slices.Equal(env.Storage.Stack, want) {
		t.Errorf("storage: %+v, want %q", env.Storage, want)
	}
	want = []string{"dm-1: encrypted secret", "dm-2: device mapper", "loop0: loop device on a file", "vda: disk"}
	if len(env.Devices) != 1 || env.Devices[0].Path != "/dev/dm-1" || !slices.Equal(env.Devices[0].Stack, want) {
		t.Errorf("devices: %+v, want %q", env.Devices, want)
	}
	if !slices.ContainsFunc(env.Unreadable, func(u Unreadable) bool { return u.Source == "/dev/none" }) {
		t.Errorf("nothing says that /dev/none is not there: %v", env.Unreadable)
	}
}
