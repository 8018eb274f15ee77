package builtin

import (
	_ "embed"
	"regexp"
	"strconv"
	"strings"

	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/workload"
)

const (
	// kernelTiny is the part of the source of Debian's kernel that a tiny
	// configuration for this architecture needs. kernelReady is a build directory
	// that is configured, with nothing compiled yet.
	kernelTiny  = "/opt/tare/kernel-tiny/src"
	kernelReady = "/opt/tare/kernel-tiny/ready"

	buildDir = "tare-build"
	// buildBytes is the disk space of one build.
	buildBytes = 96 << 20
)

// kernelTinySetup keeps 200 of the source's 1500 MB: everything that kconfig reads,
// and the code that a tiny kernel may contain.
var kernelTinySetup = workload.Setup{Name: "kernel-tiny", Script: `
mkdir -p /opt/tare/kernel-tiny
cd /opt/tare/kernel-tiny
tar xf /usr/src/linux-source-6.1.tar.xz
rm /usr/src/linux-source-6.1.tar.xz
mv linux-source-6.1 src
cd src
keep() { find "$@" -type f ! -name 'Kconfig*' ! -name 'Makefile*' ! -name 'Kbuild*' -delete; }
keep Documentation samples tools/testing tools/perf tools/power rust
for d in arch/*/; do
	case $d in arch/x86/ | arch/arm64/ | arch/um/) ;; *) keep "$d" ;; esac
done
for d in drivers/*/ sound net fs/*/; do
	case $d in
	drivers/base/ | drivers/char/ | drivers/rtc/ | drivers/clocksource/ | drivers/irqchip/ | drivers/acpi/ | drivers/of/ | drivers/platform/) ;;
	drivers/firmware/ | fs/ramfs/ | fs/proc/ | fs/iomap/ | fs/notify/ | fs/crypto/ | fs/verity/ | fs/exportfs/ | fs/nls/ | fs/sysfs/ | fs/kernfs/) ;;
	drivers/gpu/ | drivers/net/ | drivers/media/ | drivers/scsi/ | drivers/staging/ | drivers/infiniband/ | sound) keep "$d" ;;
	*) find "$d" -type f -name '*.[cS]' -delete ;;
	esac
done
make -s O=/opt/tare/kernel-tiny/ready tinyconfig
make -s O=/opt/tare/kernel-tiny/ready prepare
`}

// kernelObjects are files that a tiny kernel contains on any architecture, in
// build order.
//
//go:embed kernelobjects.txt
var kernelObjects string

// kernelBuild compiles single files of the kernel, or whole kernels.
func kernelBuild() *workload.Workload {
	return workload.WithParams([]workload.Param{
		{Name: "target", Default: "objects", Values: []string{"objects", "vmlinux"},
			About: "single files of the kernel, or whole kernels; the size counts files or builds"},
		{Name: "jobs", Default: "1", Min: 1, Max: 1024, About: "files that make compiles in parallel"},
	}, kernelBuildWith)
}

func kernelBuildWith(set workload.Settings) *workload.Workload {
	objects := strings.Fields(kernelObjects)
	whole := set["target"] == "vmlinux"
	builds := func(size int64) int64 {
		if whole {
			return size
		}
		return 1
	}
	dir := func(build int64) string { return buildDir + "/" + strconv.FormatInt(build, 10) }
	w := &workload.Workload{
		Name: "kernel-build", Title: "compile a Linux kernel: CPU and some disk",
		ArticleIDs: []string{"A3-kernel", "P11-kernel"},
		Source:     "make and gcc (gcc, make), on the source of Debian's kernel 6.1, tinyconfig",
		Programs:   []string{"bash", "cp", "gcc", "make", "mkdir", "rm", "sync", kernelTiny + "/scripts/checksyscalls.sh"},
		Packages: []string{"bash", "bc", "bison", "coreutils", "flex", "gcc", "libc6-dev", "linux-source-6.1", "make",
			"xz-utils"},
		Setups: []workload.Setup{kernelTinySetup},
		Metrics: []workload.Metric{
			workload.Time("compiling, as in the articles, without the flush of the file system"),
			workload.HostTime("time-flushed", "compiling and flushing the file system"),
		},
		SizeUnit: "files of the kernel", MinSize: 1, MaxSize: int64(len(objects)), DefaultSize: 60,
		Uneven:    "some files of the kernel take much longer than others",
		DiskBytes: func(size int64) int64 { return builds(size) * buildBytes },
	}
	if whole {
		w.SizeUnit, w.DefaultSize, w.MaxSize, w.Uneven = "whole kernels", 1, 100, ""
	}
	w.Steps = func(size int64) []workload.Step {
		prepare := "rm -rf " + buildDir + " && mkdir " + buildDir
		var compile, verify []string
		for b := range builds(size) {
			target, check := "vmlinux", "test -s "+dir(b)+"/vmlinux && echo built"
			if !whole {
				target = strings.Join(objects[:size], " ")
				check = "cd " + dir(b) + ` && for o in ` + target + `; do test -s "$o" && echo built; done`
			}
			prepare += " && cp -a " + kernelReady + " " + dir(b)
			compile = append(compile, "make -s -j"+set["jobs"]+" -C "+kernelTiny+` O="$PWD/`+dir(b)+`" `+target)
			verify = append(verify, check)
		}
		return []workload.Step{
			{Name: "prepare", Argv: bash(prepare + " && sync -f .")},
			{Name: "compile", Timed: true, Argv: bash("set -e\n" + strings.Join(compile, "\n"))},
			{Name: "flush", Timed: true, Argv: []string{"sync", "-f", "."}},
			{Name: "verify", Argv: bash("set -e\n" + strings.Join(verify, "\n"))},
			{Name: "clean", Argv: bash("rm -rf " + buildDir + " && sync -f .")},
		}
	}
	w.Parse = workload.ParsedBy("kernel-build", nil)
	return w.EvaluatedBy(func(size int64, by map[string]workload.StepResult) (map[string]float64, error) {
		if n := len(builtLine.FindAllString(string(by["verify"].Stdout), -1)); int64(n) != size {
			return nil, fault.Guestf("step verify: found %d %s instead of %d%s", n, w.SizeUnit, size, by["verify"].Said())
		}
		return untilFlushed(by, "compile"), nil
	})
}

var builtLine = regexp.MustCompile(`(?m)^built$`)
