package campaign

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/model"
	"github.com/tare-bench/tare/internal/strict"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// lab is what the tests know: two CPUs, 4 GiB, and systems of every kind.
func lab() Known {
	container := Limits{Usable: true, CPUCap: true, Pin: true, ReleasesMemory: true, Networks: []string{"bridged", "nat"},
		Backings: []string{"block"},
		Open:     true, IOCap: IOCap{Backings: []string{model.BackingLoop, model.BackingBlock}}}
	return Known{
		Systems: map[string]Limits{
			"native": container, "lxc": container, "runc": container,
			"crun": container, "nspawn": container, "bubblewrap": container,
			"qemu-tcg": {Usable: true, CPUCap: true, Pin: true, MinMemory: 128 * MiB, MaxVCPUs: 8,
				Backings: []string{model.BackingRaw, model.BackingQCOW2}, Options: []Option{{Name: "queues", UpToVCPUs: true}}},
			"uml":        {Usable: true, MaxVCPUs: 1, IOCap: IOCap{Why: "none"}, NetCap: "no port", NoSwap: "no swap"},
			"gvisor":     {Why: "runsc is not installed", CPUCap: true, Pin: true},
			"kvm":        {Why: "there is no /dev/kvm", Remedy: "modprobe kvm_intel", CPUCap: true, Pin: true},
			"gvisor-kvm": {Why: "there is no /dev/kvm"},
			"xen-pv":     {Why: "the host is not booted under Xen"},
			"ssh": {
				Usable: true, ReleasesMemory: true, Target: "ssh://USER@HOST",
				CheckTarget: func(target string) error {
					if !strings.HasPrefix(target, "ssh://") {
						return fmt.Errorf("target %q is not ssh://USER@HOST", target)
					}
					return nil
				},
				Options: []Option{{Name: "key"}, {Name: "port"}, {Name: "sudo", Values: []string{"true", "false"}}},
			},
		},
		Workloads: map[string]Sizes{
			"openssl-enc":  {Unit: "MiB encrypted", Min: 1, Max: 1 << 20, CheckParam: noParams},
			"sysbench-cpu": {Unit: "events", Min: 10, Max: 1 << 30, CheckParam: threads},
			"start":        {}, "fill": {}, "stress-ng-exec": {}, "fio-randwrite": {}, "tiobench": {OwnBuild: true},
			"fio-randread": {Unit: "reads", Min: 1, Max: 1 << 20},
			"dd-write":     {Unit: "MiB written", Min: 1, Max: 1 << 20, Disk: func(size int64) int64 { return size << 20 }},
			"untar-kernel": {Unit: "files", Min: 1, Disk: func(int64) int64 { return 150 << 20 }},
		},
		Host: Host{CPUs: model.FirstCPUs(2), Memory: 4 * GiB, Lacks: map[string]string{
			"nat": "its kernel has no NAT", "ext2": "there is no mkfs.ext2; to fix: apt-get install e2fsprogs",
			"qcow2":    "there is no qemu-img; to fix: apt-get install qemu-utils",
			"/dev/vdz": "device /dev/vdz holds ext4 named photos; if it is no longer needed: --destroy /dev/vdz",
		}},
		NewSeed: func() uint64 { return 42 },
	}
}

// threads is the only parameter of a workload.
func threads(name, value string) error {
	if name != "threads" {
		return fmt.Errorf("sysbench-cpu has no parameter %q", name)
	}
	if n, err := strconv.Atoi(value); err != nil || n < 1 || n > 64 {
		return fmt.Errorf("sysbench-cpu: %s is no number from 1 to 64", value)
	}
	return nil
}

// noParams is of a workload without parameters.
func noParams(name, _ string) error { return fmt.Errorf("openssl-enc has no parameter %q", name) }

func golden(t *testing.T, path string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs; -update rewrites it.\ngot:\n%s\nwant:\n%s", path, got, want)
	}
}

func TestBad(t *testing.T) {
	files, err := filepath.Glob("testdata/bad/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal("no bad files", err)
	}
	for _, path := range files {
		t.Run(filepath.Base(path), func(t *testing.T) {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			_, err = Parse(filepath.Base(path), text, lab())
			if err == nil {
				t.Fatal("accepted")
			}
			if fault.KindOf(err) != fault.Campaign {
				t.Errorf("kind %v", fault.KindOf(err))
			}
			var all strict.Errors
			if !errors.As(err, &all) || len(all) == 0 {
				t.Fatalf("no problems in %v", err)
			}
			for _, p := range all {
				if p.Line < 1 || p.Col < 1 {
					t.Errorf("no place: %v", p)
				}
			}
			golden(t, strings.TrimSuffix(path, ".yaml")+".want", []byte(err.Error()+"\n"))
		})
	}
}

const full = `
name: everything
about: |
  Two lines,
  "quoted" <and> é.
seed: 7
flavors:
  small: &small {vcpus: 1, memory: 512MiB, swap: 64MiB, cpu_cap: 100%, cpuset: "0", disk: 1.5G, fs: xfs, network: bridged, hardening: none, io: {read: 20MiB/s, write: 1.5MB/s, read_ops: 500/s, write_ops: 7/s}, net: {rate: 2.5Mbit/s, packets: 2000/s}}
  quarter: {<<: *small, cpu_cap: 25%}
  spare: {io: 1MiB/s, net: 50Mbit/s, network: bridged}
arms:
  - native
  - {system: lxc, flavor: small}
  - {name: lxc-quarter, system: lxc, flavor: quarter}
  - {system: kvm, flavor: small, if_usable: true}
  - {system: runc, skip: not today}
  - {name: cloud, system: ssh, target: "ssh://root@192.0.2.1", options: {sudo: true, port: 22, key: a b}, skip: "off"}
baseline: native
workloads:
  - openssl-enc
  - {name: sysbench-cpu, size: 20000}
  - {name: sysbench-cpu, size: 30000, params: {threads: [1, 4]}}
  - name: mine
    command: [bench, -n, "{size}", "{threads}", 7]
    prepare: "mkdir x; cd x"
    clean: [rm, x]
    server: [serve, "{server}"]
    ready: [ping]
    files: [{name: job.ini, text: "a={size}\n"}]
    packages: [bench]
    params: {threads: [1, 2]}
    expect: ^done$
    refuse: (?i)error
    metrics: [{name: rate, unit: 1/s, better: higher, regex: "^rate (.+)$", which: last, scale: 1000}, {name: p95, unit: s, better: lower, json: a.0.b}, {name: n, unit: "1", better: higher, csv: 2},
      {name: speed, unit: B/s, better: higher, regex: "^(.+): (.+)$", over: {name: length, unit: B, values: [0.5, 64]}}]
    min_size: 5
    disk: 16MiB
    timeout: 10s
  - {name: once, command: ./bench >out}
image: {non_free: true, packages: [jq, g++], also_for: [openssl-enc]}
scenarios: [solo]
trial_time: 500ms
blocks: {min: 10, max: 40}
precision: 2.5%
budget: 1h30m
delta: 3%
recreate_every: 0
timeout: 90s
control: true
polite: {cpus: 1, free: 2GiB}
allow_unequal: true
output_limit: 1MiB
`

func TestFull(t *testing.T) {
	c, err := Parse("full.yaml", []byte(full), lab())
	if err != nil {
		t.Fatal(err)
	}
	small := model.Flavor{
		Name: "small", VCPUs: 1, MemoryBytes: 512 << 20, SwapBytes: 64 << 20, CPUCap: 1, CPUs: model.CPUList{0},
		DiskBytes: 1_500_000_000, DiskFS: "xfs", Backing: "loop", Network: "bridged", Hardening: "none",
		IO:  model.IOCaps{Read: 20 << 20, Write: 1_500_000, ReadOps: 500, WriteOps: 7},
		Net: model.NetCap{Rate: 2_500_000, Packets: 2000},
	}
	spare := NewFlavor("spare")
	spare.Network, spare.Net = "bridged", model.NetCap{Rate: 50_000_000}
	spare.IO = model.IOCaps{Read: 1 << 20, Write: 1 << 20}
	quarter := small
	quarter.Name, quarter.CPUCap = "quarter", 0.25
	mine := func(threads string) Workload {
		return Workload{Name: "mine", Params: []model.Setting{{Name: "threads", Value: threads}}, Own: Custom{
			Command: []string{"bench", "-n", "{size}", "{threads}", "7"}, Prepare: []string{"sh", "-c", "mkdir x; cd x"},
			Clean:  []string{"rm", "x"},
			Server: []string{"serve", "{server}"}, Ready: []string{"ping"}, Files: []File{{"job.ini", "a={size}\n"}},
			Packages: []string{"bench"},
			Expect:   "^done$", Refuse: "(?i)error", SizeUnit: "units", MinSize: 5, MaxSize: 5_000_000, Disk: 16 * MiB,
			Timeout: 10 * time.Second,
			Metrics: []Metric{
				{Name: "rate", Unit: "1/s", Better: "higher", Regex: "^rate (.+)$", Which: "last", Scale: 1000},
				{Name: "p95", Unit: "s", Better: "lower", JSON: "a.0.b", Scale: 1},
				{Name: "n", Unit: "1", Better: "higher", CSV: "2", Scale: 1},
				{Name: "speed", Unit: "B/s", Better: "higher", Regex: "^(.+): (.+)$", Scale: 1,
					Over: Over{Name: "length", Unit: "B", Values: []float64{0.5, 64}}},
			},
		}}
	}
	want := &Campaign{
		Name: "everything", About: "Two lines,\n\"quoted\" <and> é.\n", Seed: 7,
		Flavors: []model.Flavor{small, quarter, spare},
		Arms: []Arm{
			{Name: "native", System: "native", Flavor: "small"},
			{Name: "lxc", System: "lxc", Flavor: "small"},
			{Name: "lxc-quarter", System: "lxc", Flavor: "quarter"},
			{Name: "kvm", System: "kvm", Flavor: "small", IfUsable: true, Skip: "there is no /dev/kvm"},
			{Name: "runc", System: "runc", Flavor: "small", Skip: "not today"},
			{
				Name: "cloud", System: "ssh", Flavor: "small", Skip: "off", Target: "ssh://root@192.0.2.1",
				Options: []model.Setting{{Name: "sudo", Value: "true"}, {Name: "port", Value: "22"}, {Name: "key", Value: "a b"}},
			},
		},
		Baseline: "native",
		Workloads: []Workload{
			{Name: "openssl-enc"}, {Name: "sysbench-cpu", Size: 20000},
			{Name: "sysbench-cpu", Size: 30000, Params: []model.Setting{{Name: "threads", Value: "1"}}},
			{Name: "sysbench-cpu", Size: 30000, Params: []model.Setting{{Name: "threads", Value: "4"}}},
			mine("1"), mine("2"),
			{Name: "once", Own: Custom{Command: []string{"sh", "-c", "./bench >out"}}},
		},
		Image: Image{NonFree: true, Packages: []string{"jq", "g++"}, Kernel: KernelCloud,
			AlsoFor: []string{"openssl-enc"}},
		Scenarios: []Scenario{{Name: model.Solo}},
		TrialTime: 500 * time.Millisecond, Blocks: Blocks{10, 40}, Precision: 2.5,
		Budget: 90 * time.Minute, Delta: 3, RecreateEvery: 0, EmulatedShare: 10, Duets: 25, Timeout: 90 * time.Second,
		Polite: Polite{CPUs: 1, Free: 2 << 30, Pressure: 20}, AllowUnequal: true, OutputLimit: MiB,
	}
	warnings := c.Warnings
	c.Warnings = nil
	if !reflect.DeepEqual(c, want) {
		t.Errorf("got  %+v\nwant %+v", c, want)
	}
	if len(warnings) != 2 || !strings.Contains(warnings[0].Msg, `"spare" is not used`) ||
		!strings.Contains(warnings[1].Msg, `"kvm" is left out`) ||
		!strings.HasSuffix(warnings[1].Msg, "there is no /dev/kvm; to fix: modprobe kvm_intel") {
		t.Errorf("warnings %v", warnings)
	}
	golden(t, "testdata/full.resolved.json", c.Resolved())
	checkResolved(t, c)
	if got := len(c.Active()); got != 3 {
		t.Errorf("%d active arms", got)
	}
	if got := len(c.Skipped()); got != 3 {
		t.Errorf("%d skipped arms", got)
	}
}

// checkResolved checks that the canonical form reads back as the same campaign.
func checkResolved(t *testing.T, c *Campaign) {
	t.Helper()
	back, err := FromResolved(c.Resolved())
	if err != nil {
		t.Fatalf("the canonical form is refused: %v\n%s", err, c.Resolved())
	}
	was := *c
	was.Warnings, back.Warnings = nil, nil
	if !reflect.DeepEqual(&was, back) {
		t.Errorf("read back from the canonical form:\n%+v\nwant\n%+v", back, &was)
	}
}

func TestDefaults(t *testing.T) {
	c, err := Parse("least.yaml", []byte("name: least\narms: [lxc, native]\nworkloads: [openssl-enc]\n"), lab())
	if err != nil {
		t.Fatal(err)
	}
	want := &Campaign{
		Name: "least", Seed: 42,
		Flavors: []model.Flavor{{
			Name: "default", VCPUs: 1, MemoryBytes: 512 << 20, DiskBytes: 1 << 30, DiskFS: "ext4", Backing: "loop",
			Network: "none", Hardening: "product",
		}},
		Arms: []Arm{{Name: "lxc", System: "lxc", Flavor: "default"},
			{Name: "native", System: "native", Flavor: "default"}},
		Baseline: "native", Workloads: []Workload{{Name: "openssl-enc"}}, Scenarios: []Scenario{{Name: model.Solo}},
		TrialTime: time.Second, Blocks: Blocks{10, 10}, Delta: 2, RecreateEvery: Auto, EmulatedShare: 10, Duets: 25,
		Timeout: 5 * time.Minute, OutputLimit: 16 * MiB,
	}
	if !reflect.DeepEqual(c, want) {
		t.Errorf("got  %+v\nwant %+v", c, want)
	}
	checkResolved(t, c)
}

func TestGood(t *testing.T) {
	const rest = "\nname: a\nworkloads: [openssl-enc]\n"
	for name, text := range map[string]string{
		"byte order mark":     "\ufeffname: a\narms: [native]\nworkloads: [openssl-enc]",
		"CRLF":                "name: a\r\narms:\r\n  - native\r\nworkloads: [openssl-enc]\r\n",
		"JSON":                `{"name": "a", "arms": ["native"], "workloads": ["openssl-enc"]}`,
		"directive":           "%YAML 1.2\n---\nname: a\narms: [native]\nworkloads: [openssl-enc]\n",
		"range with a budget": "arms: [native]\nblocks: {min: 3, max: 9}\nbudget: 5m" + rest,
		"precision alone":     "arms: [native]\nprecision: 2%" + rest,
		"seed nought":         "arms: [native]\nseed: 0" + rest,
		"aliased arm":         "arms: [&a native, {name: b, system: *a}]" + rest,
		"unequal arm left out": "flavors: {a: {}, b: {vcpus: 2}}\n" +
			"arms: [native, {system: kvm, flavor: b, if_usable: true}]" + rest,
		"containers share":       "flavors: {a: {memory: 3GiB}}\narms: [native, lxc, runc]" + rest,
		"cpuset as a number":     "flavors: {a: {cpuset: 1}}\narms: [native]" + rest,
		"native is not the only": "arms: [lxc, runc]" + rest,
	} {
		t.Run(name, func(t *testing.T) {
			c, err := Parse("good.yaml", []byte(text), lab())
			if err != nil {
				t.Fatal(err)
			}
			checkResolved(t, c)
		})
	}
}

// TestFile: a campaign that is written for people is read again as it was.
func TestFile(t *testing.T) {
	c, err := Parse("full.yaml", []byte(full), lab())
	if err != nil {
		t.Fatal(err)
	}
	text := c.File()
	again, err := Parse("again.yaml", text, lab())
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	c.Warnings, again.Warnings = nil, nil
	if !reflect.DeepEqual(c, again) {
		t.Errorf("got  %+v\nwant %+v\n%s", again, c, text)
	}
	c = New()
	c.Name, c.Arms, c.Workloads = "least", []Arm{{System: "native"}}, []Workload{{Name: "openssl-enc"}}
	const want = "name: least\narms:\n  - {system: native}\nworkloads:\n  - {name: openssl-enc}\n"
	if got := string(c.File()); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestSizes: each of a list of sizes makes a workload, whose name in results has the size, as does a list of one. A
// plain size does not change the name. A campaign that was written is read again as it was.
func TestSizes(t *testing.T) {
	c, err := Parse("a.yaml", []byte("name: a\narms: [native]\nworkloads:\n  - {name: x, size: [10, 30]}\n"+
		"  - {name: x, size: 20}\n  - {name: y, size: [5], params: {n: [1, 2]}}\n"), Known{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, w := range c.Workloads {
		got = append(got, fmt.Sprint(w.Series(), " ", w.Size))
	}
	want := []string{"x[size=10] 10", "x[size=30] 30", "x 20", "y[n=1,size=5] 5", "y[n=2,size=5] 5"}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	for name, text := range map[string][]byte{"resolved": c.Resolved(), "file": c.File()} {
		again, err := Parse(name, text, Known{})
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(again.Workloads, c.Workloads) {
			t.Errorf("%s: got %+v\nwant %+v\n%s", name, again.Workloads, c.Workloads, text)
		}
	}
}

func TestSeedAtRandom(t *testing.T) {
	seeds := map[uint64]bool{}
	for range 10 {
		c, err := Parse("a.yaml", []byte("name: a\narms: [native]\nworkloads: [x]\n"), Known{})
		if err != nil {
			t.Fatal(err)
		}
		seeds[c.Seed] = true
	}
	if len(seeds) < 9 {
		t.Errorf("ten campaigns have %d seeds", len(seeds))
	}
}

// TestScenarios: numbers of guests depend on the machine, and the canonical form has them.
func TestScenarios(t *testing.T) {
	const text = `
name: several
flavors: {whole: {cpuset: "0-1"}, quarter: {cpu_cap: 25%, cpuset: "0-1"}}
arms: [native, {system: lxc, flavor: whole}]
workloads: [openssl-enc]
scenarios:
  - solo
  - {name: four, guests: 4}
  - {name: crowd, guests: 14x}
  - {name: noisy, neighbours: [cpu, memory]}
  - {name: mixed, mix: [{flavor: quarter, guests: 16}, {flavor: whole}]}
  - {name: fit, guests: [2, 4x], slowdown: 2.5}
  - {name: room, guests: [3, 400], memory_left: 256MiB}
`
	c, err := Parse("several.yaml", []byte(text), lab())
	if err != nil {
		t.Fatal(err)
	}
	want := []Scenario{
		{Name: "solo"}, {Name: "four", Guests: 4}, {Name: "crowd", Guests: 28},
		{Name: "noisy", Neighbours: []string{"cpu", "memory"}},
		{Name: "mixed", Mix: []Part{{Flavor: "quarter", Guests: 16}, {Flavor: "whole", Guests: 1}}},
		{Name: "fit-2", Guests: 2, Slowdown: 2.5}, {Name: "fit-8", Guests: 8, Slowdown: 2.5},
		{Name: "room-3", Guests: 3, MemoryLeft: 256 * MiB}, {Name: "room-400", Guests: 400, MemoryLeft: 256 * MiB},
	}
	if !reflect.DeepEqual(c.Scenarios, want) {
		t.Errorf("got  %+v\nwant %+v", c.Scenarios, want)
	}
	for i, s := range c.Scenarios {
		if s.Alone() != (i == 0) {
			t.Errorf("%s: alone %v", s.Name, s.Alone())
		}
	}
	if len(c.Warnings) != 0 { // of memory, which is what is asked for
		t.Errorf("warnings %v", c.Warnings)
	}
	if room := c.Scenarios[len(c.Scenarios)-1].Text(); room != "400 guests at once; with 256MiB of the host's memory "+
		"left, and no other guests" {
		t.Errorf("%q", room)
	}
	checkResolved(t, c)
	before, _, _ := strings.Cut(text, "  - {name: room")
	if c, err = Parse("several.yaml", []byte(before), lab()); err != nil || len(c.Warnings) != 1 ||
		!strings.Contains(c.Warnings[0].Msg, "used all of their memory") {
		t.Errorf("%v, warnings %v", err, c.Warnings)
	}
}

// TestDuets: duets have a share of the time, or none.
func TestDuets(t *testing.T) {
	for text, want := range map[string]string{"": "25%", "duets: no": "no", "duets: false": "no", "duets: 40%": "40%",
		"duets: 0%": "", "duets: 95%": "", "duets: yes": ""} {
		c, err := Parse("duets.yaml", []byte("name: x\nseed: 1\narms: [native]\nworkloads: [w]\n"+text+"\n"), Known{})
		if err != nil {
			if want != "" || !strings.Contains(err.Error(), "duets.yaml:5:8") {
				t.Errorf("%q: %v", text, err)
			}
			continue
		}
		again, err := FromResolved(c.Resolved())
		if err != nil || again.Duets != c.Duets || !strings.Contains(string(c.Resolved()), `"duets":"`+want+`"`) {
			t.Errorf("%q becomes %s, %v", text, c.Resolved(), err)
		}
	}
}
