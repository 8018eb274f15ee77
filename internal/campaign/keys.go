package campaign

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/tare-bench/tare/internal/model"
	"github.com/tare-bench/tare/internal/strict"
)

// The keys of a campaign file. The parser, the canonical form and the schema are all
// generated from these tables.

const (
	// As Debian's policy defines it.
	packagePattern = "^[a-z0-9][a-z0-9+.-]+$"

	maxBlocks = 100_000
	maxSeed   = 1<<53 - 1 // the largest integer that every JSON reader keeps exactly
)

var isPackage = regexp.MustCompile(packagePattern).MatchString

var (
	textKind = strict.Verbatim("text", strict.Schema{"type": "string"}, nil, strict.Text, strict.Block)

	// anyWord is the schema of plain values of every form.
	anyWord = strict.Schema{"type": []string{"string", "integer", "number", "boolean"}}

	boolKind = strict.Scalar("true or false", strict.Schema{"type": "boolean"},
		func(s string) (bool, error) { return s == "true" || s == "True" || s == "TRUE", nil },
		func(b bool) any { return b }, strict.Bool)

	// controlKind accepts no false: an attempt to switch the control off deserves a
	// better answer than an unknown key.
	controlKind = strict.Scalar("true", strict.Schema{"const": true},
		func(s string) (bool, error) {
			if s != "true" {
				return false, fmt.Errorf("every campaign has its A/A control, without which nothing tells an effect from noise")
			}
			return true, nil
		},
		func(b bool) any { return b }, strict.Bool)

	sizeKind = strict.Scalar("a size such as 512MiB",
		strict.Schema{"type": "string", "pattern": `^[0-9]*\.?[0-9]* ?([TGMK]iB?|[TGMKk]B?|B)$`},
		ParseBytes, func(b Bytes) any { return b.String() },
		strict.Text, strict.Integer, strict.Float)

	percentKind = strict.Scalar("a percentage such as 2%",
		strict.Schema{"type": "string", "pattern": `^[0-9]*\.?[0-9]* ?%$`},
		ParsePercent, func(p Percent) any { return p.String() },
		strict.Text, strict.Integer, strict.Float)

	// duetsKind is a percentage, or no.
	duetsKind = strict.Scalar("a percentage such as 25%, or no",
		strict.Schema{"anyOf": []strict.Schema{{"type": "string", "pattern": `^([0-9]*\.?[0-9]* ?%|no)$`}, {"const": false}}},
		func(s string) (Percent, error) {
			if s == "no" || s == "false" {
				return 0, nil
			}
			p, err := ParsePercent(s)
			if err == nil && (p <= 0 || p > 90) {
				err = fmt.Errorf("%s is not a share from 1%% to 90%%", strict.Quote(s))
			}
			return p, err
		},
		func(p Percent) any {
			if p == 0 {
				return "no"
			}
			return p.String()
		},
		strict.Text, strict.Integer, strict.Float, strict.Bool)

	// capKind is a percentage of one CPU in files, and CPUs' worth of time in a Flavor.
	capKind = strict.Scalar("a percentage such as 2%", percentKind.Schema,
		parseCap, func(cpus float64) any { return capText(cpus) },
		strict.Text, strict.Integer, strict.Float)

	durationKind = strict.Scalar("a duration such as 250ms, 1s or 10m",
		strict.Schema{"type": "string", "pattern": `^\+?([0-9]*\.?[0-9]*(ns|us|µs|μs|ms|s|m|h))+$`},
		parseDuration, func(d time.Duration) any { return FormatDuration(d) },
		strict.Text, strict.Integer, strict.Float)

	deviceKind = strict.Verbatim("a block device such as /dev/vdb",
		strict.Schema{"type": "string", "pattern": "^/dev/.+$"}, below("/dev/"), strict.Text)

	pathKind = strict.Verbatim("an absolute path", strict.Schema{"type": "string", "pattern": "^/."}, below("/"),
		strict.Text)

	cpusetKind = strict.Scalar(`a list of CPUs such as "0-1,3"`,
		strict.Schema{"type": []string{"string", "integer"}},
		func(s string) (model.CPUList, error) {
			if strings.TrimSpace(s) == "" {
				return nil, fmt.Errorf("%s is not a list of CPUs", strict.Quote(s))
			}
			return model.ParseCPUList(s)
		}, func(l model.CPUList) any { return l.String() },
		strict.Text, strict.Integer)
)

// below checks that a path is below a directory.
func below(dir string) func(string) error {
	return func(s string) error {
		if !strings.HasPrefix(s, dir) || s == dir {
			return fmt.Errorf("%s is not one", strict.Shorten(s))
		}
		return nil
	}
}

var flavorKeys = []strict.Key[model.Flavor]{
	strict.FieldOr("vcpus", "Virtual CPUs of the guest; natively, the CPUs that it may use.",
		strict.Whole[int](1, model.MaxCPUs), func(f *model.Flavor) *int { return &f.VCPUs }, 1),
	strict.FieldOr("memory", "Memory of the guest, with its unit.",
		sizeKind, func(f *model.Flavor) *Bytes { return (*Bytes)(&f.MemoryBytes) }, 512*MiB),
	strict.Field("swap", "Swap of the guest beside its memory, with its unit. A machine with its own kernel gets a swap "+
		"volume; of the memory of other guests, this much may be in the host's swap. Absent: no swap volume, and the host's "+
		"rules for other guests.",
		sizeKind, func(f *model.Flavor) *Bytes { return (*Bytes)(&f.SwapBytes) }),
	strict.Field("cpu_cap", "CPU time limit of the guest, in percent of one CPU: 25% is a quarter of a CPU. Absent: "+
		"no cap.",
		capKind, func(f *model.Flavor) *float64 { return &f.CPUCap }),
	strict.Field("cpuset", "Host CPUs that the guest is pinned to, in Linux's list format. Absent: tare chooses.",
		cpusetKind, func(f *model.Flavor) *model.CPUList { return &f.CPUs }),
	strict.Field("cpus", "Instead of cpuset, where the host's CPUs are: siblings: all threads of as few cores as "+
		"possible; cores: one thread of each core; socket 1: the CPUs of that socket, the first being 0.",
		strict.Verbatim("siblings, cores or socket N", strict.Schema{"type": "string",
			"pattern": "^(siblings|cores|socket [0-9]+)$"}, checkPlaceWord, strict.Text),
		func(f *model.Flavor) *string { return &f.Place }),
	strict.FieldOr("disk", "Size of the data volume. ext4 needs 32MiB, xfs 300MiB.",
		sizeKind, func(f *model.Flavor) *Bytes { return (*Bytes)(&f.DiskBytes) }, GiB),
	strict.FieldOr("fs", "File system of the data volume. none: guests find the device itself, for workloads that "+
		"use it raw.",
		strict.OneOf("ext4", "xfs", "ext3", "ext2", model.NoFS), func(f *model.Flavor) *string { return &f.DiskFS }, "ext4"),
	strict.FieldOr("backing", "What the data volume is stored on. loop: a loop device, the same for every system. raw, "+
		"qcow2: a file that the VMM opens itself. block: a block device of yours.",
		strict.OneOf(model.BackingLoop, model.BackingRaw, model.BackingQCOW2, model.BackingBlock),
		func(f *model.Flavor) *string { return &f.Backing }, model.BackingLoop),
	strict.Field("device", "With backing: block, the whole devices for the data volumes, one for each guest that exists "+
		"at the same time. Their contents are lost; devices that hold data must be named again with tare run --destroy.",
		strict.Shorthand(strict.List("devices", 1000, deviceKind), deviceKind,
			func(d string) []string { return []string{d} }),
		func(f *model.Flavor) *[]string { return &f.Devices }),
	strict.Field("in_turn", "With backing: block, arms take turns on the devices: the guests of one arm end before "+
		"those of the next use a device, which is formatted anew. One device is then enough for all arms.",
		boolKind, func(f *model.Flavor) *bool { return &f.InTurn }),
	strict.FieldOr("network", "Network of the guest. bridged: a bridge with the run's other guests and the host. nat: "+
		"behind a router with masquerading on that bridge. user: QEMU's user-mode stack. none: loopback only.",
		strict.OneOf(model.NetworkNone, model.NetworkBridged, model.NetworkNAT, model.NetworkUser),
		func(f *model.Flavor) *string { return &f.Network }, model.NetworkNone),
	strict.Field("io", "Caps of what a guest reads and writes on its data volume. A plain rate caps both. Absent: no cap.",
		ioKind, func(f *model.Flavor) *model.IOCaps { return &f.IO }),
	strict.Field("net", "Cap of what a guest sends, and of what it receives, on a bridge. Absent: no cap.",
		netKind, func(f *model.Flavor) *model.NetCap { return &f.Net }),
	strict.FieldOr("hardening", "How a guest on the host's kernel is confined. product: as its system does by default. "+
		"none: without seccomp and security modules, so that arms are equal or show what they cost.",
		strict.OneOf(model.HardeningProduct, model.HardeningNone),
		func(f *model.Flavor) *string { return &f.Hardening }, model.HardeningProduct),
	strict.Field("programs", "Whose programs make the guests, such as runc or QEMU. host: those of this host. tools: "+
		"those of the tools tree, which tare brings along. Absent: the host's, or the tree's where the host has none.",
		strict.OneOf(model.ProgramsHost, model.ProgramsTools),
		func(f *model.Flavor) *string { return &f.Programs }),
}

const maxUnless = 20

var armKeys = []strict.Key[Arm]{
	strict.Field("name", "Name of the arm in results. Absent: the name of its system.",
		strict.Name, func(a *Arm) *string { return &a.Name }),
	strict.Required(strict.Field("system", "The system: native, lxc, kvm and others.",
		strict.Name, func(a *Arm) *string { return &a.System })),
	strict.Field("flavor", "Name of one of the flavors. Absent: the first.",
		strict.Name, func(a *Arm) *string { return &a.Flavor }),
	strict.Field("target", "The machine, for systems whose guests tare does not create: ssh://root@host.",
		textKind, func(a *Arm) *string { return &a.Target }),
	strict.Field("options", "Options of the system by name; tare systems --json lists them.",
		strict.Named("options", 50, settingKind, func(s *model.Setting) *string { return &s.Name }),
		func(a *Arm) *[]model.Setting { return &a.Options }),
	strict.Field("boot", "Boot of the host in which the arm runs, in a campaign with boots. Absent: the first one of xen "+
		"for systems that need it, otherwise the first one of linux.",
		strict.Name, func(a *Arm) *string { return &a.Boot }),
	strict.Field("if_usable", "If the system is not usable, leave the arm out with a note instead of refusing the "+
		"campaign.",
		boolKind, func(a *Arm) *bool { return &a.IfUsable }),
	strict.Field("unless", "Names of arms before this one, which is left out if one of them takes part.",
		strict.List("names", maxUnless, strict.Name), func(a *Arm) *[]string { return &a.Unless }),
	strict.Field("skip", "Why this arm is left out. tare records here why arms were not usable.",
		textKind, func(a *Arm) *string { return &a.Skip }),
}

var workloadKeys = append([]strict.Key[Workload]{
	strict.Required(strict.Field("name", "Name of the workload.",
		strict.Name, func(w *Workload) *string { return &w.Name })),
	sizeKey,
	paramKey,
	strict.Field("build", "Absolute path of a directory or file on this host with a program that you have built. It "+
		"goes into the userland image; {build} stands for its path in guests.",
		pathKind, func(w *Workload) *string { return &w.Build }),
}, customKeys...)

// recreateKind is a number of passes, or auto.
var recreateKind = strict.Scalar("a number of passes, or auto",
	strict.Schema{"anyOf": []strict.Schema{{"type": "integer", "minimum": 0, "maximum": maxBlocks}, {"const": "auto"}}},
	func(s string) (int, error) {
		if s == "auto" {
			return Auto, nil
		}
		n, err := strconv.Atoi(s)
		if err != nil || n < 0 || n > maxBlocks {
			return 0, fmt.Errorf("%s is not one from 0 to %d", strict.Quote(s), maxBlocks)
		}
		return n, nil
	},
	func(n int) any {
		if n == Auto {
			return "auto"
		}
		return n
	}, strict.Integer, strict.Text)

var packageKind = strict.Verbatim("the name of a Debian package",
	strict.Schema{"type": "string", "pattern": packagePattern},
	strict.Rule(isPackage, "lower-case letters, digits, dots and the signs + and -"), strict.Text)

var imageKeys = []strict.Key[Image]{
	strict.Field("non_free", "Allow packages from Debian's contrib and non-free in the image; their licences restrict "+
		"their use.",
		boolKind, func(i *Image) *bool { return &i.NonFree }),
	strict.Field("packages", "Debian packages in the image besides those of the workloads.",
		strict.List("packages", 100, packageKind), func(i *Image) *[]string { return &i.Packages }),
	strict.FieldOr("kernel", "Debian's kernel that machines boot: cloud, which is made for virtual machines, or generic, "+
		"which also has drivers of hardware that QEMU can emulate.",
		strict.OneOf(KernelCloud, KernelGeneric), func(i *Image) *string { return &i.Kernel }, KernelCloud),
	strict.Field("also_for", "Further workloads that the image must support, so that several campaigns can share "+
		"one image.",
		strict.List("workloads", 100, strict.Name), func(i *Image) *[]string { return &i.AlsoFor }),
	strict.Field("oci", "Your container image as the userland of all arms, instead of Debian's packages: oci:DIR, "+
		"oci-archive:FILE, docker-archive:FILE, docker-daemon:NAME, containers-storage:NAME, containerd:NAME, docker://NAME "+
		"(a registry), a path, or a name in a local store. Workloads are commands of the campaign, with the image's "+
		"environment, user and working directory.",
		textKind, func(i *Image) *string { return &i.OCI }),
	strict.Field("id", "Identity of that container image, sha256:…; tare records it, so that a name that means another "+
		"image by now does not change a run.",
		textKind, func(i *Image) *string { return &i.ID }),
}

var politeKeys = []strict.Key[Polite]{
	strict.Required(strict.Field("cpus", "How many of the host's CPUs, the last ones, guests and tare may use together.",
		strict.Whole[int](1, model.MaxCPUs), func(p *Polite) *int { return &p.CPUs })),
	strict.FieldOr("free", "Memory that must stay available on the host; the run ends below it, and can be resumed.",
		sizeKind, func(p *Polite) *Bytes { return &p.Free }, 1<<30),
	strict.FieldOr("pressure", "Share of the time in which others may wait for CPUs, memory or disks; above it, the run "+
		"pauses with all guests frozen.",
		percentKind, func(p *Polite) *Percent { return &p.Pressure }, 20),
}

var blocksKeys = []strict.Key[Blocks]{
	strict.Required(strict.Field("min", "Least number of blocks; at least 10 with a precision. Only a budget can end a "+
		"run earlier.",
		strict.Whole[int](1, maxBlocks), func(b *Blocks) *int { return &b.Min })),
	strict.Required(strict.Field("max", "Largest number of blocks.",
		strict.Whole[int](1, maxBlocks), func(b *Blocks) *int { return &b.Max })),
}

var (
	flavorKind = strict.Object("a flavor", flavorKeys)
	armKind    = strict.Shorthand(strict.Object("an arm", armKeys), strict.Name,
		func(system string) Arm { return Arm{System: system} })
	workloadKind = strict.Shorthand(strict.Object("a workload", workloadKeys), strict.Name,
		func(name string) Workload { return Workload{Name: name} })
	blocksKind = strict.Shorthand(strict.Object("blocks", blocksKeys), strict.Whole[int](1, maxBlocks),
		func(n int) Blocks { return Blocks{n, n} })
	scenarioKind = strict.Shorthand(strict.Object("a scenario", scenarioKeys), soloKind,
		func(name string) Scenario { return Scenario{Name: name} })
	campaignKind = strict.Object("a campaign", campaignKeys)
)

var campaignKeys = []strict.Key[Campaign]{
	strict.Required(strict.Field("name", "Name of the campaign.",
		strict.Name, func(c *Campaign) *string { return &c.Name })),
	strict.Field("about", "What the campaign is for; free text.",
		textKind, func(c *Campaign) *string { return &c.About }),
	seedKey,
	strict.Field("flavors", "Sizes of guests by name; the first is the default for arms. Absent: one flavor with all "+
		"defaults.",
		strict.Named("flavors", 100, flavorKind, func(f *model.Flavor) *string { return &f.Name }),
		func(c *Campaign) *[]model.Flavor { return &c.Flavors }),
	strict.Required(strict.Field("arms", "What to compare: systems, each with a flavor. A plain word is a system in the "+
		"default flavor.",
		strict.List("arms", 100, armKind), func(c *Campaign) *[]Arm { return &c.Arms })),
	strict.Field("baseline", "Name of the arm that all others are compared with. Absent: the first native arm, "+
		"otherwise the first arm.",
		strict.Name, func(c *Campaign) *string { return &c.Baseline }),
	strict.Required(strict.Field("workloads", "Programs that every arm runs. A plain word is a workload with a "+
		"calibrated size.",
		strict.List("workloads", 100, workloadKind), func(c *Campaign) *[]Workload { return &c.Workloads })),
	strict.Field("image", "Contents of the userland image, which all arms share, besides what the workloads need.",
		strict.Object("the image", imageKeys), func(c *Campaign) *Image { return &c.Image }),
	strict.FieldOr("scenarios", "Which guests run at the same time. Every arm runs every workload in each scenario.",
		strict.List("scenarios", 50, scenarioKind), func(c *Campaign) *[]Scenario { return &c.Scenarios },
		[]Scenario{{Name: model.Solo}}),
	strict.Field("uplink", "Interface of the host over which guests reach other machines. Absent: no network leads out "+
		"of the run.",
		strict.Object("the uplink", uplinkKeys), func(c *Campaign) *Uplink { return &c.Uplink }),
	strict.Field("attacks", "Limits that a guest of each arm attacks before the trials, with another guest beside it: "+
		"memory, processes (a fork bomb), disk. tare reports whether they hold. Emulated arms are left out.",
		strict.List("attacks", len(model.Attacks), strict.OneOf(model.Attacks...)),
		func(c *Campaign) *[]string { return &c.Attacks }),
	strict.Field("boots", "Ways to boot the host, if arms need different ones: linux, xen, or names of yours. In each "+
		"round, every boot comes once, in random order, and lasts recreate_every blocks.",
		strict.Named("boots", 20, strict.Object("a boot", bootKeys), func(b *Boot) *string { return &b.Name }),
		func(c *Campaign) *[]Boot { return &c.Boots }),
	strict.FieldOr("trial_time", "Time that a trial of the baseline should take; sizes are calibrated to it.",
		durationKind, func(c *Campaign) *time.Duration { return &c.TrialTime }, time.Second),
	strict.Field("blocks", "Number of blocks of each workload, or {min, max} with a precision or a budget. In a block, "+
		"every arm that takes part runs the workload once. Absent: 10; with a precision, 10 to 100.",
		blocksKind, func(c *Campaign) *Blocks { return &c.Blocks }),
	strict.Field("precision", "Half-width of the confidence intervals to reach: each workload continues until all of "+
		"its intervals are that narrow (fixed-width intervals of Chow and Robbins), between blocks.min and blocks.max.",
		percentKind, func(c *Campaign) *Percent { return &c.Precision }),
	strict.Field("budget", "Time limit of the run. It ends before a block that would exceed it, but not before each "+
		"workload has one block. Time goes where it narrows intervals most.",
		durationKind, func(c *Campaign) *time.Duration { return &c.Budget }),
	strict.FieldOr("delta", "Equivalence bound: an overhead is called none only if its whole interval lies within it.",
		percentKind, func(c *Campaign) *Percent { return &c.Delta }, 2),
	strict.FieldOr("recreate_every", "Number of passes through the workloads after which the guests of an arm are "+
		"re-created. auto: what is most efficient for each arm, depending on how fast its guests start. 0: never.",
		recreateKind, func(c *Campaign) *int { return &c.RecreateEvery }, Auto),
	strict.FieldOr("emulated_share", "Largest share of the run's time for emulated arms, if a budget or a precision "+
		"decides the number of blocks: their times say nothing about real hardware.",
		percentKind, func(c *Campaign) *Percent { return &c.EmulatedShare }, 10),
	strict.FieldOr("duets", "Share of the run's time for duets, in which arms run the same work at once on the same "+
		"CPUs and their CPU times are compared; no: none. They apply to workloads that compute, from the second pass on.",
		duetsKind, func(c *Campaign) *Percent { return &c.Duets }, 25),
	strict.Field("timeout", "Time limit of one step of a trial. Absent: 100 times trial_time, but at least 5m.",
		durationKind, func(c *Campaign) *time.Duration { return &c.Timeout }),
	strict.Field("control", "Every campaign has an A/A control, a second arm that is identical to the baseline; it "+
		"cannot be switched off.",
		controlKind, func(*Campaign) *bool { return new(bool) }),
	strict.Field("polite", "Limits what the run takes from whatever else the host does: CPUs, disks, memory and caches.",
		strict.Object("polite", politeKeys), func(c *Campaign) *Polite { return &c.Polite }),
	strict.Field("allow_unequal", "Allow arms whose flavors differ from the baseline's.",
		boolKind, func(c *Campaign) *bool { return &c.AllowUnequal }),
	strict.FieldOr("output_limit", "Amount of output of one step that is kept. "+
		"The guests of a trial share 256MiB for all of it, so with many guests less is kept of each.",
		sizeKind, func(c *Campaign) *Bytes { return &c.OutputLimit }, 16*MiB),
}

// seedKey is always in the canonical form, even if the seed is 0.
var seedKey = func() strict.Key[Campaign] {
	seed := strict.Whole[uint64](0, maxSeed)
	k := strict.Field("seed", "Seed of the random order of the trials. Absent: chosen at random and recorded.",
		seed, func(c *Campaign) *uint64 { return &c.Seed })
	written := k.Write
	k.Write = func(c *Campaign, full bool) json.RawMessage {
		if full {
			return seed.Write(c.Seed, full)
		}
		return written(c, full)
	}
	return k
}()

// Schema returns the JSON schema (draft 2020-12) of campaign files.
func Schema() []byte {
	return append(strict.EncodeIndent(campaignKind.Schema.With(strict.Schema{
		"$schema":     "https://json-schema.org/draft/2020-12/schema",
		"title":       "tare campaign",
		"description": "What tare compares: systems and flavors, workloads, scenarios, and how long to measure.",
	})), '\n')
}

// Kinds of values in other files that are as in campaigns: durations, sizes, truth, and the options of a system.
var (
	DurationKind = durationKind
	SizeKind     = sizeKind
	BoolKind     = boolKind
	SettingsKind = strict.Named("options", 50, settingKind, func(s *model.Setting) *string { return &s.Name })
)
