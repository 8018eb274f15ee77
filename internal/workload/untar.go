package workload

import (
	"regexp"
	"strconv"

	"github.com/tare-bench/tare/internal/fault"
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
func untarKernel(source string) *Workload {
	steps := func(size int64) []Step {
		script := func(text string) []string {
			return []string{"bash", "-c", text, "untar-kernel", strconv.FormatInt(size, 10), source, strconv.Itoa(kernelPieces)}
		}
		return []Step{
			{Name: "prepare", Argv: []string{"bash", "-c", "rm -rf " + untarDir + " && mkdir " + untarDir + " && sync -f ."}},
			{Name: "warm", Argv: script(untarWarm)},
			{Name: "unpack", Argv: script(untarUnpack), Timed: true},
			{Name: "flush", Argv: []string{"sync", "-f", untarDir}, Timed: true},
			{Name: "verify", Argv: script(untarVerify)},
			{Name: "clean", Argv: []string{"bash", "-c", "rm -rf " + untarDir + " && sync -f ."}},
		}
	}
	return &Workload{
		Name:       "untar-kernel",
		Title:      "unpack kernel source: metadata and small files",
		ArticleIDs: []string{"A2-untar"},
		Source:     "tar (tar) with gzip (gzip), on the source of Debian's kernel",
		Tools:      []string{"bash", "cat", "find", "gzip", "mkdir", "rm", "sync", "tar", "wc"},
		Packages:   []string{"bash", "coreutils", "findutils", "gzip", "tar"},
		Metrics: []Metric{
			{Name: "time", Unit: "s", Better: Lower, Clock: HostClock, About: "unpacking, as in the article, without the flush of the file system"},
			{Name: "time-flushed", Unit: "s", Better: Lower, Clock: HostClock, About: "unpacking, and the flush of the file system"},
		},
		SizeUnit:    "256ths of a kernel source tree",
		MinSize:     1,
		MaxSize:     10 * kernelPieces, // the article's ten copies
		DefaultSize: kernelPieces,
		DiskBytes:   func(size int64) int64 { return size*pieceBytes + bigPieces },
		Steps:       steps,
		Parse: parsing("time", func(text string) (map[string]float64, error) {
			if line := tarSays.FindString(grep(text, ": ")); line != "" {
				return nil, fault.Guestf("tar failed: %s", quote(line))
			}
			// Do not call refused: tar -v may list any names.
			if err := timedFailure(text); err != nil {
				return nil, err
			}
			if walls, err := wallTimes(text); err == nil && len(walls) == 0 {
				return nil, fault.WithRemedy(fault.Guestf("tar prints no figures, and the output contains no line of time"),
					"run the command under time and save the output of both")
			}
			return map[string]float64{}, nil
		}),
		Evaluate: func(size int64, results []StepResult) (map[string]float64, error) {
			by, err := ran(steps(size), results)
			if err != nil {
				return nil, err
			}
			if _, err := unpacked(size, by["verify"]); err != nil {
				return nil, err
			}
			t := by["unpack"].Wall.Seconds()
			return sane(map[string]float64{"time": t, "time-flushed": t + by["flush"].Wall.Seconds()})
		},
	}
}

var (
	tarSays    = regexp.MustCompile(`(?m)^(?:tar|tar \(child\)|gzip|xz|-?(?:ba|da|z)?sh): .*$`)
	untarFound = regexp.MustCompile(`(?m)^copy (\d+): (\d+) pieces, (\d+) of (\d+) files, (\d+) of (\d+) bytes$`)
)

// unpacked checks the result of the verify step against the MANIFEST, and returns
// the size of the files in bytes.
func unpacked(size int64, verify StepResult) (bytes float64, err error) {
	copies := untarFound.FindAllStringSubmatch(grep(string(verify.Stdout), "copy "), -1)
	if want := (size + kernelPieces - 1) / kernelPieces; int64(len(copies)) != want {
		return 0, fault.Guestf("step verify: found %d copies of the tree instead of %d%s", len(copies), want, said(verify))
	}
	for i, m := range copies {
		f, err := numbers(m[1:]...)
		if err != nil {
			return 0, inStep("verify", err)
		}
		pieces := min(size-int64(i)*kernelPieces, kernelPieces)
		switch {
		case f[0] != float64(i) || f[1] != float64(pieces):
			return 0, fault.Guestf("step verify: the MANIFEST does not list all %d pieces of copy %d: %s", pieces, i, quote(m[0]))
		case f[2] != f[3] || f[3] == 0:
			return 0, fault.Guestf("step verify: the number of files differs from the archives: %s", quote(m[0]))
		case f[4] != f[5] || f[5] == 0:
			return 0, fault.Guestf("step verify: the number of bytes differs from the archives: %s", quote(m[0]))
		}
		bytes += f[4]
	}
	return bytes, nil
}

// unpackedFiles returns how many files and links an accepted verify step found.
func unpackedFiles(verify StepResult) float64 {
	sum := 0.0
	for _, m := range untarFound.FindAllStringSubmatch(grep(string(verify.Stdout), "copy "), -1) {
		if f, err := number(m[3]); err == nil {
			sum += f
		}
	}
	return sum
}
