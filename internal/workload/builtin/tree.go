package builtin

import (
	"regexp"
	"strconv"

	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/workload"
	"github.com/tare-bench/tare/internal/workload/tool"
)

const (
	// kernelSource is the userland image's directory with a kernel source tree. The
	// tree is divided into kernelPieces archives 000.tar.gz, 001.tar.gz, … and a
	// MANIFEST with a line for each: its number, the number of files and links in
	// it, and the size of the files in bytes.
	kernelSource = "/opt/tare/kernel"
	kernelPieces = 256
	// pieceBytes is the space of a piece on a file system: 1.4 GB of source in small
	// files, divided by 256, with a margin. bigPieces allows for the pieces with a
	// huge file, which need more.
	pieceBytes = 7 << 20
	bigPieces  = 48 << 20

	untarDir = "tare-untar"

	// Piece i goes to directory i/256, so every 256 pieces are a whole tree.
	untarWarm = `set -e
for ((i = 0; i < $1 && i < $3; i++)); do
	printf -v name '%s/%03d.tar.gz' "$2" "$i"
	cat "$name" >/dev/null
done`
	untarUnpack = `set -e
for ((i = 0; i < $1; i++)); do
	((i % $3)) || mkdir "` + untarDir + `/$((i / $3))"
	printf -v name '%s/%03d.tar.gz' "$2" "$((i % $3))"
	tar xzf "$name" -C "` + untarDir + `/$((i / $3))"
done`
	untarVerify = `set -e
for ((c = 0; c * $3 < $1; c++)); do
	pieces=0 files=0 bytes=0
	while read -r name f b rest; do
		[[ $name == [0-9]* ]] || continue
		((10#$name < $1 - c * $3)) || continue
		pieces=$((pieces + 1)) files=$((files + f)) bytes=$((bytes + b))
	done <"$2/MANIFEST"
	found=$(find "` + untarDir + `/$c" ! -type d -printf x | wc -c)
	size=$(find "` + untarDir + `/$c" -type f -printf '%s\n' | {
		sum=0
		while read -r b; do sum=$((sum + b)); done
		echo "$sum"
	})
	echo "copy $c: $pieces pieces, $found of $files files, $size of $bytes bytes"
done`
)

// untarKernel unpacks the kernel source in the directory source.
func untarKernel(source string) *workload.Workload {
	w := treeWorkload()
	w.Name, w.Title = "untar-kernel", "unpack kernel source: metadata and small files"
	w.ArticleIDs = []string{"A2-untar"}
	w.Source = "tar (tar) with gzip (gzip), on the source of Debian's kernel"
	w.Metrics = []workload.Metric{
		workload.Time("unpacking, as in the article, without the flush of the file system"),
		workload.HostTime("time-flushed", "unpacking, and the flush of the file system"),
	}
	w.DiskBytes, w.Cached = func(size int64) int64 { return size*pieceBytes + bigPieces }, true
	w.Steps = func(size int64) []workload.Step {
		script := func(text string) []string {
			return bash(text, "untar-kernel", decimal(size), source, strconv.Itoa(kernelPieces))
		}
		return []workload.Step{
			{Name: "prepare", Argv: bash(absent(untarDir) + " && mkdir " + untarDir)},
			{Name: "warm", Argv: script(untarWarm)},
			{Name: "unpack", Argv: script(untarUnpack), Timed: true},
			{Name: "flush", Argv: []string{"sync", "-f", untarDir}, Timed: true},
			{Name: "verify", Argv: script(untarVerify)},
			{Name: "clean", Argv: bash("rm -rf " + untarDir + " && sync -f .")},
		}
	}
	w.Parse = workload.ParsedBy("tar", nil)
	return w.EvaluatedBy(func(size int64, by map[string]workload.StepResult) (map[string]float64, error) {
		_, _, err := unpacked(size, by["verify"])
		return untilFlushed(by, "unpack"), err
	})
}

var untarFound = regexp.MustCompile(`(?m)^copy (\d+): (\d+) pieces, (\d+) of (\d+) files, (\d+) of (\d+) bytes$`)

// unpacked checks the result of the verify step against the MANIFEST, and returns
// the number of files and links, and the size of the files in bytes.
func unpacked(size int64, verify workload.StepResult) (files, bytes float64, err error) {
	copies := untarFound.FindAllStringSubmatch(tool.Grep(string(verify.Stdout), "copy "), -1)
	if want := (size + kernelPieces - 1) / kernelPieces; int64(len(copies)) != want {
		return 0, 0, fault.Guestf("step verify: found %d copies of the tree instead of %d%s", len(copies), want,
			verify.Said())
	}
	for i, m := range copies {
		f, err := tool.Numbers(m[1:]...)
		if err != nil {
			return 0, 0, workload.InStep("verify", err)
		}
		pieces := min(size-int64(i)*kernelPieces, kernelPieces)
		switch {
		case f[0] != float64(i) || f[1] != float64(pieces):
			return 0, 0, fault.Guestf("step verify: the MANIFEST does not list all %d pieces of copy %d: %s", pieces, i,
				tool.Quote(m[0]))
		case f[2] != f[3] || f[3] == 0:
			return 0, 0, fault.Guestf("step verify: the number of files differs from the archives: %s", tool.Quote(m[0]))
		case f[4] != f[5] || f[5] == 0:
			return 0, 0, fault.Guestf("step verify: the number of bytes differs from the archives: %s", tool.Quote(m[0]))
		}
		files, bytes = files+f[2], bytes+f[4]
	}
	return files, bytes, nil
}

// archiveTime runs a pipeline or a command under the shell's time.
const archiveTime = "set -o pipefail; time "

// treeSteps returns work with steps around it: before it, a kernel source tree is
// unpacked to untarDir/0 and so on and flushed to disk; after it, the tree is removed.
func treeSteps(source string, size int64, work ...workload.Step) []workload.Step {
	script := func(text string) []string {
		return bash(text, "tree", decimal(size), source, strconv.Itoa(kernelPieces))
	}
	steps := []workload.Step{
		{Name: "prepare", Argv: bash("rm -rf " + untarDir + "* && mkdir " + untarDir)},
		{Name: "unpack", Argv: script(untarUnpack)},
		{Name: "verify", Argv: script(untarVerify)},
		{Name: "sync", Argv: []string{"sync", "-f", "."}},
	}
	steps = append(steps, work...)
	return append(steps, workload.Step{Name: "clean", Argv: bash("rm -rf " + untarDir + "* && sync -f .")})
}

// treeWorkload returns what workloads on such a tree have in common.
func treeWorkload() *workload.Workload {
	return &workload.Workload{
		Programs: []string{"bash", "cat", "find", "gzip", "mkdir", "rm", "sync", "tar", "wc"},
		Packages: []string{"bash", "coreutils", "findutils", "gzip", "tar"},
		SizeUnit: "pieces of a kernel source tree (256 are all of it)", MinSize: 1, DefaultSize: kernelPieces,
		MaxSize: 10 * kernelPieces, // the article's ten copies
	}
}

// cpioRead archives a tree to /dev/null, first with cold caches.
func cpioRead(source string) *workload.Workload {
	cpio := bash(archiveTime + "(find " + untarDir + " | cpio -o >/dev/null)")
	w := treeWorkload()
	w.Name = "cpio-read"
	w.Title = "archive a tree of small files with cold caches, then again: reading small files"
	w.ArticleIDs = []string{"H3-cpio"}
	w.Source = "find (findutils) and cpio (cpio), on the source of Debian's kernel"
	w.Programs, w.Packages = append(w.Programs, "cpio"), append(w.Packages, "cpio")
	w.Metrics = []workload.Metric{
		workload.Time("reading an uncached tree"),
		workload.Latency("user", "", "user CPU time of that pass, as the shell's time prints it"),
		workload.Latency("system", "", "system CPU time of that pass, as the shell's time prints it"),
		workload.GuestTime("", "the time that the shell's time prints"),
		workload.HostTime("warm-time", "reading it again, from the page cache if it fits"),
	}
	w.ReadsBack = true
	w.DiskBytes = func(size int64) int64 { return size*pieceBytes + bigPieces }
	w.Steps = func(size int64) []workload.Step {
		return treeSteps(source, size,
			workload.Step{Name: "cold", Argv: cpio, Timed: true, DropCaches: true, DropNames: true},
			workload.Step{Name: "warm", Argv: cpio, Timed: true})
	}
	w.Parse = workload.ParsedBy("cpio", func(r *tool.Report) (map[string]float64, error) {
		if _, err := r.One("archive blocks"); err != nil {
			return nil, err
		}
		return map[string]float64{"user": shellTime(r, "user time"), "system": shellTime(r, "system time")}, nil
	})
	return w.EvaluatedBy(func(size int64, by map[string]workload.StepResult) (map[string]float64, error) {
		_, bytes, err := unpacked(size, by["verify"])
		if err != nil {
			return nil, err
		}
		m := map[string]float64{"time": by["cold"].Wall.Seconds(), "warm-time": by["warm"].Wall.Seconds()}
		for _, step := range []string{"cold", "warm"} {
			r, err := tool.Read("cpio", by[step].Output())
			if err != nil {
				return nil, workload.InStep(step, err)
			}
			blocks, err := r.One("archive blocks")
			if err != nil {
				return nil, workload.InStep(step, err)
			}
			if blocks.In("B") < bytes {
				return nil, fault.Guestf("step %s: cpio archived %.0f blocks of 512 bytes, but the files have %.0f bytes", step,
					blocks.Value, bytes)
			}
			if step == "cold" {
				m["user"], m["system"] = shellTime(r, "user time"), shellTime(r, "system time")
				m["time-guest"] = shellTime(r, "wall time")
			}
		}
		return m, nil
	})
}

// shellTime returns a time that the shell printed, in seconds. A time of 0.000 means less than its resolution.
func shellTime(r *tool.Report, name string) float64 {
	if len(r.All(name)) == 0 {
		return 0
	}
	return max(r.Value(name), 0.001)
}

// tarCreate archives a tree into a file.
func tarCreate(source string) *workload.Workload {
	const file = untarDir + ".tar"
	w := treeWorkload()
	w.Name = "tar-create"
	w.Title = "archive a tree of small files into one file"
	w.Source = "tar (tar), on the source of Debian's kernel"
	w.Metrics = []workload.Metric{
		workload.Time("archiving an uncached tree, without the flush of the archive"),
		workload.HostTime("time-flushed", "archiving it and flushing the archive"),
	}
	w.ReadsBack = true
	w.DiskBytes = func(size int64) int64 { return 2 * (size*pieceBytes + bigPieces) }
	w.Steps = func(size int64) []workload.Step {
		return treeSteps(source, size,
			workload.Step{Name: "create", Argv: []string{"tar", "cf", file, untarDir}, Timed: true,
				DropCaches: true, DropNames: true},
			workload.Step{Name: "flush", Argv: []string{"sync", file}, Timed: true},
			workload.Step{Name: "list", Argv: bash("set -o pipefail; tar tf " + file +
				" | { grep -vc '/$' || true; }; wc -c <" + file)})
	}
	w.Programs = append(w.Programs, "grep")
	w.Parse = workload.ParsedBy("tar", nil)
	return w.EvaluatedBy(func(size int64, by map[string]workload.StepResult) (map[string]float64, error) {
		files, bytes, err := unpacked(size, by["verify"])
		if err != nil {
			return nil, err
		}
		listed := tarListed.FindStringSubmatch(string(by["list"].Stdout))
		if listed == nil {
			return nil, fault.Guestf("step list: the numbers of entries and bytes are missing%s", by["list"].Said())
		}
		f, err := tool.Numbers(listed[1:]...)
		if err != nil {
			return nil, workload.InStep("list", err)
		}
		if f[0] != files || f[1] < bytes {
			return nil, fault.Guestf("step list: the archive has %.0f files in %.0f bytes, but the tree has %.0f in %.0f", f[0],
				f[1], files, bytes)
		}
		return untilFlushed(by, "create"), nil
	})
}

var tarListed = regexp.MustCompile(`^(\d+)\n(\d+)\n$`)
