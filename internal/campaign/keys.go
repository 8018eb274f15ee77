package campaign

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"

	"github.com/tare-bench/tare/internal/model"
)

// The keys of a campaign file. The parser, the canonical form and the schema are all
// generated from these tables.

const (
	namePattern = "^[A-Za-z0-9][A-Za-z0-9_-]{0,39}$"
	// As Debian's policy defines it.
	packagePattern = "^[a-z0-9][a-z0-9+.-]+$"
	nameRule       = "up to 40 letters, digits, - and _, the first a letter or a digit"

	maxBlocks = 100_000
	maxSeed   = 1<<53 - 1 // the largest integer that every JSON reader keeps exactly
)

var (
	isName    = regexp.MustCompile(namePattern).MatchString
	isPackage = regexp.MustCompile(packagePattern).MatchString
)

var (
	nameKind = scalar("a valid name", schema{"type": "string", "pattern": namePattern},
		func(s string) (string, error) {
			if !isName(s) {
				return "", fmt.Errorf("%s is not one: %s", quote(s), nameRule)
			}
			return s, nil
		},
		func(s string) any { return s }, ast.StringType)

	textKind = scalar("text", schema{"type": "string"},
		func(s string) (string, error) { return s, nil },
		func(s string) any { return s }, ast.StringType, ast.LiteralType)

	boolKind = scalar("true or false", schema{"type": "boolean"},
		func(s string) (bool, error) { return s == "true" || s == "True" || s == "TRUE", nil },
		func(b bool) any { return b }, ast.BoolType)

	// controlKind accepts no false: an attempt to switch the control off deserves a
	// better answer than an unknown key.
	controlKind = scalar("true", schema{"const": true},
		func(s string) (bool, error) {
			if s != "true" {
				return false, fmt.Errorf("every campaign has its A/A control, without which nothing tells an effect from noise")
			}
			return true, nil
		},
		func(b bool) any { return b }, ast.BoolType)

	sizeKind = scalar("a size such as 512MiB",
		schema{"type": "string", "pattern": `^[0-9]*\.?[0-9]* ?([TGMK]iB?|[TGMKk]B?|B)$`},
		ParseBytes, func(b Bytes) any { return b.String() },
		ast.StringType, ast.IntegerType, ast.FloatType)

	percentKind = scalar("a percentage such as 2%",
		schema{"type": "string", "pattern": `^[0-9]*\.?[0-9]* ?%$`},
		ParsePercent, func(p Percent) any { return p.String() },
		ast.StringType, ast.IntegerType, ast.FloatType)

	durationKind = scalar("a duration such as 250ms, 1s or 10m",
		schema{"type": "string", "pattern": `^\+?([0-9]*\.?[0-9]*(ns|us|µs|μs|ms|s|m|h))+$`},
		parseDuration, func(d time.Duration) any { return FormatDuration(d) },
		ast.StringType, ast.IntegerType, ast.FloatType)

	deviceKind = scalar("a block device such as /dev/vdb", schema{"type": "string", "pattern": "^/dev/.+$"},
		func(s string) (string, error) {
			if !strings.HasPrefix(s, "/dev/") || s == "/dev/" {
				return "", fmt.Errorf("%s is not one", shorten(s))
			}
			return s, nil
		},
		func(s string) any { return s }, ast.StringType)

	pathKind = scalar("an absolute path", schema{"type": "string", "pattern": "^/."},
		func(s string) (string, error) {
			if !strings.HasPrefix(s, "/") || s == "/" {
				return "", fmt.Errorf("%s is not one", shorten(s))
			}
			return s, nil
		},
		func(s string) any { return s }, ast.StringType)

	cpusetKind = scalar(`a list of CPUs such as "0-1,3"`,
		schema{"type": []string{"string", "integer"}},
		func(s string) (model.CPUList, error) {
			if strings.TrimSpace(s) == "" {
				return nil, fmt.Errorf("%s is not a list of CPUs", quote(s))
			}
			return model.ParseCPUList(s)
		},
		func(l model.CPUList) any { return l.String() },
		ast.StringType, ast.IntegerType)
)

var flavorKeys = []key[Flavor]{
	fieldOr("vcpus", "Virtual CPUs of the guest; natively, the CPUs that it may use.",
		whole[int](1, model.MaxCPUs), func(f *Flavor) *int { return &f.VCPUs }, 1),
	fieldOr("memory", "Memory of the guest, with its unit.",
		sizeKind, func(f *Flavor) *Bytes { return &f.Memory }, 512*MiB),
	field("cpu_cap", "CPU time limit of the guest, in percent of one CPU: 25% is a quarter of a CPU. Absent: no cap.",
		percentKind, func(f *Flavor) *Percent { return &f.CPUCap }),
	field("cpuset", "Host CPUs that the guest is pinned to, in Linux's list format. Absent: tare chooses.",
		cpusetKind, func(f *Flavor) *model.CPUList { return &f.CPUSet }),
	fieldOr("disk", "Size of the data volume. ext4 needs 32MiB, xfs 300MiB.",
		sizeKind, func(f *Flavor) *Bytes { return &f.Disk }, GiB),
	fieldOr("fs", "File system of the data volume.",
		oneOf("ext4", "xfs", "ext2"), func(f *Flavor) *string { return &f.FS }, "ext4"),
	fieldOr("backing", "What the data volume is stored on. loop: a loop device, the same for every system. raw, qcow2: a file that the VMM opens itself. block: a block device of yours.",
		oneOf(model.BackingLoop, model.BackingRaw, model.BackingQCOW2, model.BackingBlock),
		func(f *Flavor) *string { return &f.Backing }, model.BackingLoop),
	field("device", "With backing: block, the whole devices for the data volumes, one for each guest that exists at the same time. Their contents are lost; devices that hold data must be named again with tare run --destroy.",
		shorthand(list("devices", 1000, deviceKind), deviceKind, func(d string) []string { return []string{d} }), func(f *Flavor) *[]string { return &f.Devices }),
	fieldOr("network", "Network of the guest. bridged: a bridge with the run's other guests and the host. nat: the same, with masquerading to the host's network. user: QEMU's user-mode stack. none: no network; natively, the host's network.",
		oneOf(model.NetworkNone, model.NetworkBridged, model.NetworkNAT, model.NetworkUser),
		func(f *Flavor) *string { return &f.Network }, model.NetworkNone),
}

var armKeys = []key[Arm]{
	field("name", "Name of the arm in results. Absent: the name of its system.",
		nameKind, func(a *Arm) *string { return &a.Name }),
	need(field("system", "The system: native, lxc, kvm and others.",
		nameKind, func(a *Arm) *string { return &a.System })),
	field("flavor", "Name of one of the flavors. Absent: the first.",
		nameKind, func(a *Arm) *string { return &a.Flavor }),
	field("target", "The machine, for systems whose guests tare does not create: ssh://root@host.",
		textKind, func(a *Arm) *string { return &a.Target }),
	field("options", "Options of the system by name; tare systems --json lists them.",
		named("options", 50, settingKind, func(s *Setting) *string { return &s.Name }), func(a *Arm) *[]Setting { return &a.Options }),
	field("boot", "Boot of the host in which the arm runs, in a campaign with boots. Absent: xen for systems that need it, otherwise linux.",
		oneOf(model.BootLinux, model.BootXen), func(a *Arm) *string { return &a.Boot }),
	field("if_usable", "If the system is not usable, leave the arm out with a note instead of refusing the campaign.",
		boolKind, func(a *Arm) *bool { return &a.IfUsable }),
	field("skip", "Why this arm is left out. tare records here why arms were not usable.",
		textKind, func(a *Arm) *string { return &a.Skip }),
}

var workloadKeys = append([]key[Workload]{
	need(field("name", "Name of the workload.",
		nameKind, func(w *Workload) *string { return &w.Name })),
	field("size", "Work of one trial, in the workload's own unit. Absent: calibrated so that a trial of the baseline lasts trial_time.",
		whole[int64](1, 1<<60), func(w *Workload) *int64 { return &w.Size }),
	paramKey,
	field("build", "Absolute path of a directory or file on this host with a program that you have built. It goes into the userland image; {build} stands for its path in guests.",
		pathKind, func(w *Workload) *string { return &w.Build }),
}, customKeys...)

// recreateKind is a number of passes, or auto.
var recreateKind = scalar("a number of passes, or auto",
	schema{"anyOf": []schema{{"type": "integer", "minimum": 0, "maximum": maxBlocks}, {"const": "auto"}}},
	func(s string) (int, error) {
		if s == "auto" {
			return Auto, nil
		}
		n, err := strconv.Atoi(s)
		if err != nil || n < 0 || n > maxBlocks {
			return 0, fmt.Errorf("%s is not one from 0 to %d", quote(s), maxBlocks)
		}
		return n, nil
	},
	func(n int) any {
		if n == Auto {
			return "auto"
		}
		return n
	}, ast.IntegerType, ast.StringType)

var packageKind = scalar("the name of a Debian package", schema{"type": "string", "pattern": packagePattern},
	func(s string) (string, error) {
		if !isPackage(s) {
			return "", fmt.Errorf("%s is not one: lower-case letters, digits, dots and the signs + and -", quote(s))
		}
		return s, nil
	},
	func(s string) any { return s }, ast.StringType)

var imageKeys = []key[Image]{
	field("non_free", "Allow packages from Debian's contrib and non-free in the image; their licences restrict their use.",
		boolKind, func(i *Image) *bool { return &i.NonFree }),
	field("packages", "Debian packages in the image besides those of the workloads.",
		list("packages", 100, packageKind), func(i *Image) *[]string { return &i.Packages }),
	field("also_for", "Further workloads that the image must support, so that several campaigns can share one image.",
		list("workloads", 100, nameKind), func(i *Image) *[]string { return &i.AlsoFor }),
}

var blocksKeys = []key[Blocks]{
	need(field("min", "Least number of blocks; at least 10 with a precision. Only a budget can end a run earlier.",
		whole[int](1, maxBlocks), func(b *Blocks) *int { return &b.Min })),
	need(field("max", "Largest number of blocks.",
		whole[int](1, maxBlocks), func(b *Blocks) *int { return &b.Max })),
}

var (
	flavorKind   = object("a flavor", flavorKeys)
	armKind      = shorthand(object("an arm", armKeys), nameKind, func(system string) Arm { return Arm{System: system} })
	workloadKind = shorthand(object("a workload", workloadKeys), nameKind, func(name string) Workload { return Workload{Name: name} })
	blocksKind   = shorthand(object("blocks", blocksKeys), whole[int](1, maxBlocks), func(n int) Blocks { return Blocks{n, n} })
	scenarioKind = shorthand(object("a scenario", scenarioKeys), soloKind, func(name string) Scenario { return Scenario{Name: name} })
	campaignKind = object("a campaign", campaignKeys)
	seedKind     = whole[uint64](0, maxSeed)
)

var campaignKeys = []key[Campaign]{
	need(field("name", "Name of the campaign.",
		nameKind, func(c *Campaign) *string { return &c.Name })),
	field("about", "What the campaign is for; free text.",
		textKind, func(c *Campaign) *string { return &c.About }),
	always(seedKind, field("seed", "Seed of the random order of the trials. Absent: chosen at random and recorded.",
		seedKind, func(c *Campaign) *uint64 { return &c.Seed }), func(c *Campaign) uint64 { return c.Seed }),
	field("flavors", "Sizes of guests by name; the first is the default for arms. Absent: one flavor with all defaults.",
		named("flavors", 100, flavorKind, func(f *Flavor) *string { return &f.Name }), func(c *Campaign) *[]Flavor { return &c.Flavors }),
	need(field("arms", "What to compare: systems, each with a flavor. A plain word is a system in the default flavor.",
		list("arms", 100, armKind), func(c *Campaign) *[]Arm { return &c.Arms })),
	field("baseline", "Name of the arm that all others are compared with. Absent: the first native arm, otherwise the first arm.",
		nameKind, func(c *Campaign) *string { return &c.Baseline }),
	need(field("workloads", "Programs that every arm runs. A plain word is a workload with a calibrated size.",
		list("workloads", 100, workloadKind), func(c *Campaign) *[]Workload { return &c.Workloads })),
	field("image", "Contents of the userland image, which all arms share, besides what the workloads need.",
		object("the image", imageKeys), func(c *Campaign) *Image { return &c.Image }),
	fieldOr("scenarios", "Which guests run at the same time. Every arm runs every workload in each scenario.",
		list("scenarios", 50, scenarioKind), func(c *Campaign) *[]Scenario { return &c.Scenarios }, []Scenario{{Name: Solo}}),
	field("boots", "Ways to boot the host, linux and xen, if arms need different ones: in each round, every boot comes once, in random order, and lasts recreate_every blocks.",
		named("boots", 2, object("a boot", bootKeys), func(b *Boot) *string { return &b.Name }), func(c *Campaign) *[]Boot { return &c.Boots }),
	fieldOr("trial_time", "Time that a trial of the baseline should take; sizes are calibrated to it.",
		durationKind, func(c *Campaign) *time.Duration { return &c.TrialTime }, time.Second),
	field("blocks", "Number of blocks of each workload, or {min, max} with a precision or a budget. In a block, every arm that takes part runs the workload once. Absent: 10; with a precision, 10 to 100.",
		blocksKind, func(c *Campaign) *Blocks { return &c.Blocks }),
	field("precision", "Half-width of the confidence intervals to reach: each workload continues until all of its intervals are that narrow (fixed-width intervals of Chow and Robbins), between blocks.min and blocks.max.",
		percentKind, func(c *Campaign) *Percent { return &c.Precision }),
	field("budget", "Time limit of the run. It ends before a block that would exceed it, but not before each workload has one block. Time goes where it narrows intervals most.",
		durationKind, func(c *Campaign) *time.Duration { return &c.Budget }),
	fieldOr("delta", "Equivalence bound: an overhead is called none only if its whole interval lies within it.",
		percentKind, func(c *Campaign) *Percent { return &c.Delta }, 2),
	fieldOr("recreate_every", "Number of passes through the workloads after which the guests of an arm are re-created. auto: what is most efficient for each arm, depending on how fast its guests start. 0: never.",
		recreateKind, func(c *Campaign) *int { return &c.RecreateEvery }, Auto),
	fieldOr("emulated_share", "Largest share of the run's time for emulated arms, if a budget or a precision decides the number of blocks: their times say nothing about real hardware.",
		percentKind, func(c *Campaign) *Percent { return &c.EmulatedShare }, 10),
	field("timeout", "Time limit of one step of a trial. Absent: 100 times trial_time, but at least 5m.",
		durationKind, func(c *Campaign) *time.Duration { return &c.Timeout }),
	field("control", "Every campaign has an A/A control, a second arm that is identical to the baseline; it cannot be switched off.",
		controlKind, func(*Campaign) *bool { return new(bool) }),
	field("allow_unequal", "Allow arms whose flavors differ from the baseline's.",
		boolKind, func(c *Campaign) *bool { return &c.AllowUnequal }),
	fieldOr("output_limit", "Amount of output of one step that is kept.",
		sizeKind, func(c *Campaign) *Bytes { return &c.OutputLimit }, 16*MiB),
}

// always makes the canonical form contain an optional key even if it is zero.
func always[T, V any](k kind[V], f key[T], get func(*T) V) key[T] {
	f.write = func(t *T) json.RawMessage { return k.write(get(t)) }
	return f
}

// Schema returns the JSON schema (draft 2020-12) of campaign files.
func Schema() []byte {
	return append(encodeIndent(campaignKind.schema.with(schema{
		"$schema":     "https://json-schema.org/draft/2020-12/schema",
		"title":       "tare campaign",
		"description": "What tare compares: systems and flavors, workloads, scenarios, and how long to measure.",
	})), '\n')
}
