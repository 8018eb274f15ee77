package workload

import (
	"regexp"
	"strconv"

	"github.com/tare-bench/tare/internal/fault"
)

// archiveTime runs a pipeline or a command under the shell's time.
const archiveTime = "set -o pipefail; time "

// treeSteps returns work with steps around it: before it, a kernel source tree is
// unpacked to untarDir/0 and so on and flushed to disk; after it, the tree is removed.
func treeSteps(source string, size int64, work ...Step) []Step {
	script := func(text string) []string {
		return []string{"bash", "-c", text, "tree", strconv.FormatInt(size, 10), source, strconv.Itoa(kernelPieces)}
	}
	steps := []Step{
		{Name: "prepare", Argv: []string{"bash", "-c", "rm -rf " + untarDir + "* && mkdir " + untarDir}},
		{Name: "unpack", Argv: script(untarUnpack)},
		{Name: "verify", Argv: script(untarVerify)},
		{Name: "sync", Argv: []string{"sync", "-f", "."}},
	}
	steps = append(steps, work...)
	return append(steps, Step{Name: "clean", Argv: []string{"bash", "-c", "rm -rf " + untarDir + "* && sync -f ."}})
}

// treeWorkload returns what workloads on such a tree have in common.
func treeWorkload() *Workload {
	return &Workload{
		Tools:       []string{"bash", "cat", "find", "gzip", "mkdir", "rm", "sync", "tar", "wc"},
		Packages:    []string{"bash", "coreutils", "findutils", "gzip", "tar"},
		SizeUnit:    "256ths of a kernel source tree",
		MinSize:     1,
		MaxSize:     10 * kernelPieces,
		DefaultSize: kernelPieces,
	}
}

// cpioRead archives a tree to /dev/null, first with cold caches.
func cpioRead(source string) *Workload {
	cpio := []string{"bash", "-c", archiveTime + "(find " + untarDir + " | cpio -o >/dev/null)"}
	w := treeWorkload()
	w.Name = "cpio-read"
	w.Title = "archive a tree of small files with cold caches, then again: reading small files"
	w.ArticleIDs = []string{"H3-cpio"}
	w.Source = "find (findutils) and cpio (cpio), on the source of Debian's kernel"
	w.Tools, w.Packages = append(w.Tools, "cpio"), append(w.Packages, "cpio")
	w.Metrics = []Metric{
		wallMetric("reading an uncached tree"),
		{"user", "s", Lower, GuestClock, "user CPU time of that pass, as the shell's time prints it"},
		{"system", "s", Lower, GuestClock, "system CPU time of that pass, as the shell's time prints it"},
		guestTimeMetric("the time that the shell's time prints"),
		{"warm-time", "s", Lower, HostClock, "reading it again, from the page cache if it fits"},
	}
	w.ReadsBack = true
	w.DiskBytes = func(size int64) int64 { return size*pieceBytes + bigPieces }
	w.Steps = func(size int64) []Step {
		return treeSteps(source, size,
			Step{Name: "cold", Argv: cpio, Timed: true, DropCaches: true},
			Step{Name: "warm", Argv: cpio, Timed: true})
	}
	w.Parse = parsing("time", func(text string) (map[string]float64, error) {
		c, err := parseCpio(text)
		if err != nil {
			return nil, err
		}
		return map[string]float64{"user": c.user, "system": c.system}, nil
	})
	w.Evaluate = func(size int64, results []StepResult) (map[string]float64, error) {
		by, err := ran(w.Steps(size), results)
		if err != nil {
			return nil, err
		}
		bytes, err := unpacked(size, by["verify"])
		if err != nil {
			return nil, err
		}
		m := map[string]float64{"time": by["cold"].Wall.Seconds(), "warm-time": by["warm"].Wall.Seconds()}
		for _, step := range []string{"cold", "warm"} {
			c, err := parseCpio(by[step].output())
			if err != nil {
				return nil, inStep(step, err)
			}
			if c.blocks*512 < bytes {
				return nil, fault.Guestf("step %s: cpio archived %.0f blocks of 512 bytes, but the files have %.0f bytes", step, c.blocks, bytes)
			}
			if step == "cold" {
				m["user"], m["system"], m["time-guest"] = c.user, c.system, c.real
			}
		}
		return sane(m)
	}
	return w
}

// tarCreate archives a tree into a file.
func tarCreate(source string) *Workload {
	const file = untarDir + ".tar"
	w := treeWorkload()
	w.Name = "tar-create"
	w.Title = "archive a tree of small files into one file"
	w.Source = "tar (tar), on the source of Debian's kernel"
	w.Metrics = []Metric{
		wallMetric("archiving an uncached tree, without the flush of the archive"),
		{"time-flushed", "s", Lower, HostClock, "archiving it and flushing the archive"},
	}
	w.ReadsBack = true
	w.DiskBytes = func(size int64) int64 { return 2 * (size*pieceBytes + bigPieces) }
	w.Steps = func(size int64) []Step {
		return treeSteps(source, size,
			Step{Name: "create", Argv: []string{"tar", "cf", file, untarDir}, Timed: true, DropCaches: true},
			Step{Name: "flush", Argv: []string{"sync", file}, Timed: true},
			Step{Name: "list", Argv: []string{"bash", "-c", "set -o pipefail; tar tf " + file + " | { grep -vc '/$' || true; }; wc -c <" + file}})
	}
	w.Tools = append(w.Tools, "grep")
	w.Parse = untarKernel(source).Parse
	w.Evaluate = func(size int64, results []StepResult) (map[string]float64, error) {
		by, err := ran(w.Steps(size), results)
		if err != nil {
			return nil, err
		}
		bytes, err := unpacked(size, by["verify"])
		if err != nil {
			return nil, err
		}
		listed := tarListed.FindStringSubmatch(string(by["list"].Stdout))
		if listed == nil {
			return nil, fault.Guestf("step list: the numbers of entries and bytes are missing%s", said(by["list"]))
		}
		f, err := numbers(listed[1:]...)
		if err != nil {
			return nil, inStep("list", err)
		}
		if files := unpackedFiles(by["verify"]); f[0] != files || f[1] < bytes {
			return nil, fault.Guestf("step list: the archive has %.0f files in %.0f bytes, but the tree has %.0f in %.0f", f[0], f[1], files, bytes)
		}
		t := by["create"].Wall.Seconds()
		return sane(map[string]float64{"time": t, "time-flushed": t + by["flush"].Wall.Seconds()})
	}
	return w
}

var (
	tarListed  = regexp.MustCompile(`^(\d+)\n(\d+)\n$`)
	cpioBlocks = regexp.MustCompile(`(?m)^(\d+) blocks?\r?$`)
	shellTimes = regexp.MustCompile(`(?m)^(real|user|sys)\s+(?:(\d+)m)?(\d+(?:\.\d+)?)s?\r?$`)
)

// cpioReport has the figures of cpio and the shell's time. Times are in seconds; 0:
// not printed.
type cpioReport struct{ blocks, real, user, system float64 }

func parseCpio(text string) (cpioReport, error) {
	var c cpioReport
	if err := refused("cpio", text); err != nil {
		return c, err
	}
	m := cpioBlocks.FindAllStringSubmatch(grep(text, " block"), -1)
	if len(m) != 1 {
		return c, fault.Guestf("the output contains %d reports of cpio instead of one", len(m))
	}
	var err error
	if c.blocks, err = number(m[0][1]); err != nil {
		return c, err
	}
	if c.blocks == 0 {
		return c, fault.Guestf("cpio archived nothing: %s", quote(m[0][0]))
	}
	for _, m := range shellTimes.FindAllStringSubmatch(grep(text, "real", "user", "sys"), -1) {
		f, err := numbers("0"+m[2], m[3])
		if err != nil {
			return c, err
		}
		// 0.000 means less than the shell's resolution.
		*map[string]*float64{"real": &c.real, "user": &c.user, "sys": &c.system}[m[1]] = max(f[0]*60+f[1], 0.001)
	}
	return c, nil
}
