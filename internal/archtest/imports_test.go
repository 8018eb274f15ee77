package archtest

import (
	"path"
	"slices"
	"strings"
	"testing"
)

// rooms lists for every package of the module which others it may import. A pattern that ends in
// /... stands for a package and all below it. A package that no line names fails the test: give it
// a place first.
var rooms = []struct {
	room string
	may  []string
	why  string // printed if the rule is broken
}{
	// The basis of all rooms.
	{"fault", nil, "fault is the ground: everything may import it, it imports nothing"},
	{"nearest", nil, "nearest is the ground: everything may import it, it imports nothing"},
	{"model", nil, "model has the words that rooms share: everything may import it, it imports nothing"},
	{"strict", []string{"nearest"}, "strict reads files of any format: it knows no campaign and no article"},
	{"histogram", nil, groundRule},
	{"files", nil, groundRule},
	{"clockcost", nil, groundRule},
	{"tools", []string{"files", "sandbox"}, groundRule},
	{"terminal", nil, groundRule},
	{"cgroup", nil, groundRule},
	{"sandbox", nil, groundRule},
	{"pagecache", nil, groundRule},
	{"volume", []string{"pagecache", "tools"}, groundRule},
	{"network", []string{"tools"}, groundRule},
	{"instance", []string{"cgroup"}, groundRule},
	{"host", []string{"cgroup", "clockcost", "host/energy", "host/procfs", "xenctl"},
		"host says what the machine is: it watches nothing, and judges nothing"},
	{"host/procfs", nil, groundRule},
	{"host/energy", []string{"host/procfs"}, groundRule},
	{"host/watch", []string{"host/procfs", "prompt"},
		"a watcher sees what happens on the host, and does not know the trial"},
	{"host/doctor", []string{"host", "host/watch"},
		"doctor judges what host and watch have read; it reads nothing itself"},
	{"prompt", nil, groundRule},
	{"xenctl", nil, groundRule},

	// The data flow, from left to right.
	{"campaign", []string{"strict"}, "a campaign does not know how anything runs"},
	{"plan", []string{"campaign", "stats"}, "a plan knows campaigns: seed in, schedule out"},
	{"keeper", []string{"system", "agent", "instance", "sandbox", "terminal"},
		"a keeper holds one guest that people use by hand; it knows nothing of campaigns and runs"},
	{"run", []string{"plan", "campaign", "store", "system", "workload", "probe", "host/watch", "agent", "image", "cgroup",
		"agent/wire", "pagecache", "instance", "sandbox", "stats", "prompt"},
		"run walks the plan; it does not know how a guest is made (system/...), nor what the numbers mean (analyze, report)"},
	{"experiment", []string{"campaign", "plan", "run", "store", "dataset", "analyze", "workload", "workload/builtin",
		"probe", "system", "system/all", "system/xen", "host", "image",
		"agent/wire", "agentbin", "cgroup", "container", "files",
		"instance", "network", "prompt", "sandbox", "tools", "volume"},
		"an experiment takes a campaign to a complete run; it shows nothing, so it never imports report"},
	{"experiment/experimenttest", []string{"campaign", "store", "workload/builtin"},
		"experimenttest writes run files for tests"},
	{"store", []string{"agent", "histogram"}, "a store holds what happened, and does not know what analysis makes of it"},
	{"store/crash", nil, "crash is a disk for tests; it knows SQLite and nothing of runs"},
	{"store/storetest", nil, "storetest makes hostile run files of given ones; it knows their tables alone"},
	{"stats", nil, "stats is arithmetic alone"},
	{"claim", []string{"stats"},
		"claim decides what may be said of an estimate: it does not know where estimates come from"},
	{"dataset", []string{"store", "campaign", "histogram"},
		"a data set is what was measured; it does not know what is claimed of it"},
	{"analyze", []string{"claim", "dataset", "histogram", "store", "stats"},
		"analyze reads a data set: it never imports system, run, or what shows its results"},
	{"paper", []string{"strict", "nearest", "campaign", "workload", "workload/builtin", "dataset", "analyze", "report",
		"view", "claim", "stats"},
		"paper holds published figures, shows what analyze found beside them, and judges claims that compare more than an " +
			"arm and the baseline: it makes no runs and opens none"},
	{"view", []string{"strict"},
		"view shows sections, and knows no statistics: whoever has results makes sections of them"},
	{"view/pagetest", []string{"view"}, "pagetest opens pages of any sections, and does not know what is on them"},
	{"report", []string{"analyze", "claim", "dataset", "store", "plan", "campaign", "host", "view"},
		"report shows what analyze found: it never imports system, nor run"},

	{"report/page", []string{"analyze", "dataset", "store", "plan", "campaign", "host", "host/doctor", "report", "view"},
		"a page shows what analyze found: it never imports system, nor run"},
	{"report/reporttest", []string{"analyze", "claim"}, "reporttest has a result for tests of whatever shows one"},
	{"compare", []string{"analyze", "claim", "dataset", "store", "stats", "campaign", "host", "report", "view", "workload",
		"workload/builtin"}, "a comparison reads finished runs: it never imports system, nor run"},
	{"fleet", []string{"analyze", "campaign", "claim", "compare", "dataset", "host", "host/doctor", "report", "stats",
		"store", "strict", "view"},
		"a fleet is read from finished runs: it never imports system, nor run"},
	{"fleet/machinetest", []string{"cgroup", "instance"},
		"machinetest makes machines, and knows nothing of what runs on them"},
	{"fleet/remote", []string{"files"}, "remote copies programs and files; it does not know what is in them"},
	{"fleet/collect", []string{"files", "image"}, "a collector moves run files and images; it does not know what runs"},
	{"fleet/durable", []string{"files", "fleet", "fleet/collect", "store"},
		"durable takes a campaign to machines and its run files back; it never imports system, nor run"},
	{"serve", []string{"analyze", "dataset", "store", "compare", "report", "report/page", "campaign", "plan",
		"host", "view"},
		"a server reads runs and changes none: it never imports system, nor run"},

	// What run is based on.
	{"image", []string{"container", "files", "volume"}, "an image does not know the systems that it serves"},
	{"container", []string{"files"}, "container reads what others made; it does not know what it is for"},
	{"lab", []string{"image", "agent", "terminal"}, "a lab is a machine: it knows nothing of what runs in it"},
	{"workload", []string{"histogram", "nearest", "workload/tool"}, "a workload does not know the system that it runs on"},
	{"workload/tool", []string{"histogram"}, "a reader of a tool's output knows no workload"},
	{"workload/builtin", []string{"histogram", "nearest", "workload", "workload/tool"},
		"a workload does not know the system that it runs on"},
	{"probe", []string{"host/energy", "host/procfs", "host/watch", "cgroup", "pagecache", "xenctl"},
		"a probe sees the host, and does not know which trial is good"},
	{"system", []string{"agent", "cgroup", "image", "network", "sandbox", "tools", "volume"},
		"a system does not know workloads and statistics"},
	{"system/systemtest", []string{"system", "agent", "agentbin", "cgroup", "host", "image", "instance", "network",
		"probe", "prompt", "sandbox", "volume"},
		"the conformance suite knows the contract, and no driver"},
	{"system/fake", []string{"system", "agent", "agent/wire", "agent/server", "cgroup", "network"},
		"the fake is a driver whose guest, with the agent, is in this process; it knows no other driver, nor workloads and " +
			"statistics"},
	{"system/oci", []string{"system"}, "a bundle is the same for every OCI runtime: it knows the contract alone"},
	{"system/libvirt", []string{"system", "system/ssh", "cgroup", "network", "sandbox", "tools", "volume"},
		"a driver knows the contract; into a domain that is there, libvirt's goes by SSH"},
	{"system/all", []string{"system", "system/..."}, "the registry is a list of drivers"},
	{"system/...", []string{"system", "system/oci", "agent", "agent/token", "cgroup", "network", "sandbox", "tools",
		"volume", "xenctl"},
		"a driver knows the contract; drivers do not know each other, nor workloads and statistics"},

	// What runs in a guest.
	{"agentbin", nil, "agentbin is a few files"},
	{"httprate", []string{"histogram"}, "a load generator knows its server, and nothing of the trial that it is part of"},
	{"redisrate", []string{"histogram"}, "a load generator knows its server, and nothing of the trial that it is part of"},
	{"agent/wire", nil, "the wire is made from its .proto"},
	{"agent/token", nil, agentRule},
	{"agent/server", []string{"agent/wire", "clockcost", "prompt"}, agentRule},
	{"agent/vminit", []string{"agent/wire", "agent/server"}, agentRule},
	{"agent", []string{"agent/wire"}, agentRule},

	{"archtest", nil, "archtest has no code"},
	{"clitest", nil, "clitest builds and runs the program, and imports nothing of it"},
	{"findingstest", nil, "findingstest has no code"},
	{"hostiletest", nil, "hostiletest has no code"},
	{"mounttest", nil, "mounttest makes a namespace, and does not know for what"},
	{"setuptest", nil, "setuptest has no code"},
	{"porttest", nil, "porttest finds ports, and does not know for what"},
	{"docs/findings", nil, "the pages on findings are text"},
}

const (
	groundRule = "this is below all rooms and knows none of them"
	agentRule  = "the agent runs commands: it knows nothing of what it measures, nor of the guest that it is in"
)

// mains are programs, which may import anything.
var mains = []string{"cmd/tare/...", "cmd/tare-agent", "cmd/tare-http", "cmd/tare-redis", "scripts/..."}

func TestImportRule(t *testing.T) {
	for _, p := range modulePackages(t) {
		name := p.short()
		if matchesAny(mains, name) {
			continue
		}
		i := slices.IndexFunc(rooms, func(r struct {
			room string
			may  []string
			why  string
		}) bool {
			return matches(r.room, strings.TrimPrefix(name, "internal/"))
		})
		if i < 0 {
			t.Errorf("%s is in no room that ARCHITECTURE.md knows: give it a line there, and in the table of %s", name, t.Name())
			continue
		}
		for _, imp := range p.Imports {
			imported, ours := strings.CutPrefix(imp, module+"internal/")
			if !ours || imported == "fault" || imported == "model" || matchesAny(rooms[i].may, imported) {
				continue
			}
			t.Errorf("%s imports internal/%s, which breaks the import rule of ARCHITECTURE.md: %s", name, imported, rooms[i].why)
		}
	}
}

// TestTestImports applies some rules to tests, too: a room whose tests need another room cannot be
// understood alone.
func TestTestImports(t *testing.T) {
	for _, p := range modulePackages(t) {
		for _, imp := range slices.Concat(p.TestImports, p.XTestImports) {
			imported, _ := strings.CutPrefix(imp, module+"internal/")
			switch room := strings.TrimPrefix(p.short(), "internal/"); {
			case matches("system/...", imported) &&
				slices.Contains([]string{"campaign", "plan", "stats", "analyze", "report", "workload", "workload/builtin", "store"},
					room):
				t.Errorf("the tests of %s import internal/%s: they must run where no guest can", p.short(), imported)
			case matches("workload/...", imported) && matches("system/...", room):
				t.Errorf("the tests of %s import internal/workload: a system is tested with the conformance suite", p.short())
			}
		}
	}
}

// TestPurity: results of these packages depend only on their input, so none of them can access the
// machine.
func TestPurity(t *testing.T) {
	pure := []string{"fault", "nearest", "model", "strict", "paper", "campaign", "plan", "stats", "claim", "analyze",
		"workload", "workload/tool", "workload/builtin"}
	forbidden := []string{
		"os", "os/...", "net", "net/http", "syscall", "database/sql", "io/ioutil", "crypto/rand", "log", "log/slog",
		"golang.org/x/sys/...", "runtime/debug", "unsafe", "plugin",
	}
	for _, p := range modulePackages(t) {
		if !slices.Contains(pure, strings.TrimPrefix(p.short(), "internal/")) {
			continue
		}
		for _, imp := range p.Imports {
			if matchesAny(forbidden, imp) {
				t.Errorf("%s imports %s: ARCHITECTURE.md promises that it does no I/O", p.short(), imp)
			}
		}
	}
}

// TestOwners: each of these dependencies belongs to one room, so that it can be replaced.
func TestOwners(t *testing.T) {
	owners := []struct {
		imported []string
		by       []string
	}{
		{[]string{"github.com/spf13/..."}, []string{"cmd/tare/..."}},
		{[]string{"modernc.org/sqlite/...", "database/sql/..."}, []string{"internal/store/..."}},
		{[]string{"gonum.org/..."}, []string{"internal/stats"}},
		{[]string{"github.com/containerd/ttrpc/...", "google.golang.org/..."}, []string{"internal/agent/..."}},
		{[]string{"github.com/containerd/cgroups/..."}, []string{"internal/cgroup"}},
		{[]string{"github.com/goccy/go-yaml/..."}, []string{"internal/strict"}},
		{[]string{"golang.org/x/perf/..."}, []string{"internal/report", "internal/analyze"}},
		{[]string{"golang.org/x/crypto/..."}, []string{"internal/system/ssh"}},
		{[]string{"github.com/vishvananda/...", "github.com/google/nftables/..."}, []string{"internal/network"}},
		{[]string{"github.com/pierrec/..."}, []string{"internal/image"}},
		{[]string{"github.com/moby/sys/mountinfo/..."},
			[]string{"internal/cgroup", "internal/host/...", "internal/image", "internal/sandbox",
				"internal/system/systemtest"}},
		{[]string{"github.com/moby/sys/capability/..."}, []string{"internal/sandbox", "internal/system/..."}},
		{[]string{"github.com/moby/profiles/..."}, []string{"internal/system/oci"}},
		{[]string{"github.com/digitalocean/..."}, []string{"internal/system/libvirt"}},
		{[]string{"github.com/vmware/..."}, []string{"internal/system/vmware"}},
		{[]string{"github.com/google/go-containerregistry/...", "github.com/containerd/containerd/..."},
			[]string{"internal/container"}},
		{[]string{"go.temporal.io/..."}, []string{"internal/fleet/durable"}},
		{[]string{"C"}, nil}, // tare is one static file
	}
	for _, p := range modulePackages(t) {
		for _, imp := range p.Imports {
			for _, o := range owners {
				if matchesAny(o.imported, imp) && !matchesAny(o.by, p.short()) {
					t.Errorf("%s imports %s, which only %s may", p.short(), imp, strings.Join(o.by, ", "))
				}
			}
		}
	}
}

// TestAgentIsSmall: the agent is in every initramfs and bind mount, and everything that it links
// runs in the guest that is measured.
func TestAgentIsSmall(t *testing.T) {
	may := []string{
		module + "internal/agent/...", module + "internal/clockcost", module + "internal/fault", module + "internal/prompt",
		module + "cmd/tare-agent",
		"github.com/containerd/ttrpc", "github.com/containerd/log", "github.com/sirupsen/logrus",
		"golang.org/x/sys/...", "google.golang.org/protobuf/...",
		// ttRPC's status codes, but not the rest of gRPC.
		"google.golang.org/grpc/codes", "google.golang.org/grpc/status", "google.golang.org/grpc/internal/...",
		"google.golang.org/grpc/connectivity", "google.golang.org/grpc/grpclog/...", "google.golang.org/grpc/serviceconfig",
		"google.golang.org/grpc/attributes",
		"google.golang.org/genproto/googleapis/rpc/...",
	}
	for _, p := range goList(t, "-deps", "./cmd/tare-agent") {
		if p.Standard && p.ImportPath != "net/http" && p.ImportPath != "crypto/tls" || matchesAny(may, p.ImportPath) {
			continue
		}
		t.Errorf("the agent links %s", p.ImportPath)
	}
}

// matches reports whether name is pattern, or below it if pattern ends in /...
func matches(pattern, name string) bool {
	if base, ok := strings.CutSuffix(pattern, "/..."); ok {
		return name == base || strings.HasPrefix(name, base+"/")
	}
	return name == path.Clean(pattern)
}

func matchesAny(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return matches(p, name) })
}
