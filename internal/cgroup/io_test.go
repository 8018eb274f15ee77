package cgroup

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/model"
)

func TestCheckIO(t *testing.T) {
	for _, c := range []struct {
		layout Layout
		usable bool
	}{
		{Layout{V2: "/c", v2On: []string{"cpu", "io"}}, true},
		{Layout{V2: "/c", v2On: []string{"cpu"}}, false},
		{Layout{V2: "/u", V1: map[string]string{"cpu": "/1", "blkio": "/2"}}, true},
		{Layout{V2: "/u", V1: map[string]string{"cpu": "/1"}, v2On: []string{"io"}}, false}, // none for tare's groups
	} {
		if err := c.layout.CheckIO(); (err == nil) != c.usable || err != nil && fault.RemedyOf(err) == "" {
			t.Errorf("%+v: %v", c.layout, err)
		}
	}
}

// TestCapIO: version 2 has one file for a group, version 1 one for each cap of each subgroup.
func TestCapIO(t *testing.T) {
	caps := model.IOCaps{Read: 1 << 20, WriteOps: 7}
	g := fakeGroup(t, false)
	if err := g.CapIO(7, 3, caps); err != nil {
		t.Fatal(err)
	}
	read := func(path ...string) string {
		b, err := os.ReadFile(filepath.Join(path...))
		if err != nil {
			t.Error(err)
		}
		return strings.TrimSpace(string(b))
	}
	if got := read(g.layout.V2, g.name, "io.max"); got != "7:3 rbps=1048576 wbps=max riops=max wiops=7" {
		t.Errorf("version 2: %q", got)
	}
	g = fakeGroup(t, true)
	g.layout.V1["blkio"] = t.TempDir()
	if err := os.MkdirAll(filepath.Join(g.layout.V1["blkio"], g.name, "a/b"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := g.CapIO(7, 3, caps); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"", "a", "a/b"} {
		for file, want := range map[string]string{
			"read_bps": "7:3 1048576", "write_bps": "7:3 0", "read_iops": "7:3 0", "write_iops": "7:3 7",
		} {
			file = "blkio.throttle." + file + "_device"
			if got := read(g.layout.V1["blkio"], g.name, dir, file); got != want {
				t.Errorf("%s/%s is %q, want %q", dir, file, got, want)
			}
		}
	}
	g.layout.V1["blkio"] = t.TempDir() // the group is not there
	if err := g.CapIO(7, 3, caps); fault.KindOf(err) != fault.Host {
		t.Errorf("%v", err)
	}
}
