package model

import (
	"encoding/json"
	"reflect"
	"testing"
)

// A flavor reads the JSON of run files of all versions, and writes the same members.
func TestFlavorJSON(t *testing.T) {
	for text, want := range map[string]Flavor{
		`{"name":"q","vcpus":2,"memory_bytes":1024,"cpu_cap":0.25,"cpus":"0-1,3","disk_bytes":64,"disk_fs":"xfs",` +
			`"backing":"raw","network":"nat"}`: {
			Name: "q", VCPUs: 2, MemoryBytes: 1024, CPUCap: 0.25, CPUs: CPUList{0, 1, 3}, DiskBytes: 64, DiskFS: "xfs",
			Backing: BackingRaw, Network: NetworkNAT,
		},
		`{"name":"capped","vcpus":1,"memory_bytes":1,"cpu_cap":0,"cpus":"","disk_bytes":0,"disk_fs":"",` +
			`"io":{"read":1024,"write":2048,"read_ops":500,"write_ops":7},"net":{"rate":50000000}}`: {
			Name: "capped", VCPUs: 1, MemoryBytes: 1,
			IO: IOCaps{Read: 1024, Write: 2048, ReadOps: 500, WriteOps: 7}, Net: NetCap{Rate: 50_000_000},
		},
		`{"name":"packets","vcpus":1,"memory_bytes":1,"cpu_cap":0,"cpus":"","disk_bytes":0,"disk_fs":"",` +
			`"net":{"packets":2000}}`: {
			Name: "packets", VCPUs: 1, MemoryBytes: 1, Net: NetCap{Packets: 2000},
		},
		`{"name":"swap","vcpus":1,"memory_bytes":1,"swap_bytes":4096,"cpu_cap":0,"cpus":"","disk_bytes":0,"disk_fs":""}`: {
			Name: "swap", VCPUs: 1, MemoryBytes: 1, SwapBytes: 4096,
		},
		`{"name":"old","vcpus":1,"memory_bytes":1,"cpu_cap":0,"cpus":"","disk_bytes":0,"disk_fs":""}`: {
			Name: "old", VCPUs: 1, MemoryBytes: 1,
		},
	} {
		var got Flavor
		if err := json.Unmarshal([]byte(text), &got); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s was read as %+v, %v", text, got, err)
		}
		if back, err := json.Marshal(want); err != nil || string(back) != text {
			t.Errorf("%+v was written as %s, %v; want %s", want, back, err, text)
		}
	}
}

func TestShare(t *testing.T) {
	if whole := (Flavor{VCPUs: 2}).Share(); whole != 2 {
		t.Errorf("without a cap: %v", whole)
	}
	if part := (Flavor{VCPUs: 2, CPUCap: 0.5}).Share(); part != 0.5 {
		t.Errorf("with a cap: %v", part)
	}
}
