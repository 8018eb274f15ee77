package campaign

import (
	"strings"
	"testing"

	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/model"
)

func TestOne(t *testing.T) {
	settings, ok := model.ParseSettings("vcpus=2,memory=1GiB,cpuset=0,1,cpu_cap=50%")
	if !ok {
		t.Fatal("the settings cannot be read")
	}
	f, a, err := ParseOne(One{System: "lxc", Flavor: settings}, lab())
	if err != nil {
		t.Fatal(err)
	}
	if f.VCPUs != 2 || Bytes(f.MemoryBytes) != GiB || f.CPUs.String() != "0-1" || f.CPUCap != 0.5 ||
		f.DiskFS != "ext4" || a.System != "lxc" {
		t.Errorf("%+v of %+v", f, a)
	}
	settings, _ = model.ParseSettings("network=bridged,net.rate=50Mbit/s,net.packets=5000/s," +
		"io.read=20MiB/s,io.write_ops=500/s")
	f, _, err = ParseOne(One{System: "lxc", Flavor: settings}, lab())
	wantIO, wantNet := model.IOCaps{Read: 20 << 20, WriteOps: 500}, model.NetCap{Rate: 50_000_000, Packets: 5000}
	if err != nil || f.IO != wantIO || f.Net != wantNet {
		t.Errorf("%+v, %v", f, err)
	}
	_, a, err = ParseOne(One{System: "ssh", Target: "ssh://a@b", Options: []model.Setting{{Name: "port", Value: "22"},
		{Name: "key", Value: "a, b}: c"}}}, lab())
	if err != nil || a.Target != "ssh://a@b" || len(a.Options) != 2 || model.Values(a.Options)["key"] != "a, b}: c" {
		t.Errorf("%+v, %v", a, err)
	}
	for want, g := range map[string]One{
		`did you mean "vcpus"`:     {System: "lxc", Flavor: []model.Setting{{Name: "vcpu", Value: "2"}}},
		`unknown system "lcx"`:     {System: "lcx"},
		"must be a size":           {System: "lxc", Flavor: []model.Setting{{Name: "memory", Value: "much"}}},
		"network \"user\"":         {System: "lxc", Flavor: []model.Setting{{Name: "network", Value: "user"}}},
		`"" is not a list of CPUs`: {System: "lxc", Flavor: []model.Setting{{Name: "cpuset", Value: `""`}}},
		"needs a target":           {System: "ssh"},
		"there is no /dev/kvm":     {System: "kvm"},
		"unknown key":              {System: "lxc", Flavor: []model.Setting{{Name: "x: y}, z", Value: "2"}}},
		`"vcpus" is set twice`: {System: "lxc", Flavor: []model.Setting{
			{Name: "vcpus", Value: "1"}, {Name: "vcpus", Value: "2"},
		}},
		`"net" is set twice: by itself, and by its key "packets"`: {System: "lxc", Flavor: []model.Setting{
			{Name: "net", Value: "50Mbit/s"}, {Name: "net.packets", Value: "5000/s"},
		}},
		`"net" is set twice`: {System: "lxc", Flavor: []model.Setting{
			{Name: "net.packets", Value: "5000/s"}, {Name: "net", Value: "50Mbit/s"},
		}},
		`did you mean "packets"`:    {System: "lxc", Flavor: []model.Setting{{Name: "net.packet", Value: "5000/s"}}},
		"found a mapping":           {System: "lxc", Flavor: []model.Setting{{Name: "memory.max", Value: "1GiB"}}},
		"more than the host's CPUs": {System: "lxc", Flavor: []model.Setting{{Name: "vcpus", Value: "64"}}},
	} {
		if _, _, err := ParseOne(g, lab()); fault.KindOf(err) != fault.Campaign || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", g, err, want)
		}
	}
}
