package tool

import (
	"math"
	"regexp"
	"strings"

	"github.com/tare-bench/tare/internal/fault"
)

var (
	// zstd abbreviates sizes, unless it is told to be very verbose.
	zstdPacked = regexp.MustCompile(
		`(?m)^.+ : *([\d.]+)% +\( *([\d.]+) ([KMGT]?i?B) => *([\d.]+) ([KMGT]?i?B)(?:, .*)?\) *$`)
	zstdFiles = figures(`^ *(\d+) files (?:de)?compressed :`, "files", "1", "")
	zstdTook  = row(`: Completed in ([\d.]+) sec  \(cpu load : (\d+)%\) *$`,
		column{"time", "s", Lower}, column{"CPU load", "%", ""})
	zstdMemory   = figures(`^Decompression will require (\d+) B of memory`, "memory to decompress", "B", Lower)
	zstdUnpacked = figures(`^(?:.* )?: (\d+) bytes *$`, "unpacked", "B", "")
	// The benchmark writes each line over the one before, and in the end the level over the beginning of the last.
	zstdSpeed = regexp.MustCompile(`^ .-.* : +(\d+) -> +(\d+) \(x([\d.]+)\), +([\d.]+) MB/s, +([\d.]+) MB/s *$`)
	zstdLevel = regexp.MustCompile(`^ *(-?\d+)# *$`)
	zstdList  = regexp.MustCompile(
		`(?m)^ *(\d+) +(\d+) +([\d.]+) ([KMGT]?i?B) +([\d.]+) ([KMGT]?i?B) +([\d.]+) +\w+ +\S.*$`)
	zstdListed = []figureLine{
		figures(`^# Zstandard Frames: (\d+)`, "frames", "1", ""),
		figures(`^DictID: (\d+)`, "dictionary", "1", ""),
		figures(`^Window Size: .*\((\d+) B\)`, "window", "B", ""),
		figures(`^Compressed Size: .*\((\d+) B\)`, "packed", "B", Lower),
		figures(`^Decompressed Size: .*\((\d+) B\)`, "size", "B", ""),
		figures(`^Ratio: ([\d.]+)$`, "ratio", "1", Higher),
	}
)

// readZstd reads what zstd says of files that it compressed, decompressed, tested or listed, and of its own benchmark.
func readZstd(text string, r *Report) error {
	for _, m := range zstdPacked.FindAllStringSubmatch(text, -1) {
		zstdAdd(r, []zstdFigure{{"share", m[1], "%"}, {"size", m[2], m[3]}, {"packed", m[4], m[5]}})
		// The share has two decimals, abbreviated sizes have three digits.
		of := r.Figures[len(r.Figures)-3:]
		if share := 100 * of[2].In("B") / of[1].In("B"); math.Abs(share-of[0].Value) > 0.006+share/50 {
			if err := r.doubt(Contradiction("the share is not packed / size: %s", Quote(m[0]))); err != nil {
				return err
			}
		}
	}
	for _, m := range zstdList.FindAllStringSubmatch(text, -1) {
		zstdAdd(r, []zstdFigure{{"frames", m[1], "1"}, {"skipped frames", m[2], "1"}, {"packed", m[3], m[4]},
			{"size", m[5], m[6]}, {"ratio", m[7], "1"}})
	}
	zstdBenchmark(r, text)
	rest := lineTool{failed: regexp.MustCompile(`(?m)^(?:zstd: |Incorrect |.* error |.*\b[Ff]ailed).*$`),
		lines: append([]figureLine{zstdFiles, zstdTook, zstdMemory, zstdUnpacked}, zstdListed...),
		check: zstdComplete}
	return lines(rest)(text, r)
}

// zstdFigure is a figure as it is printed.
type zstdFigure struct{ name, value, unit string }

func zstdAdd(r *Report, printed []zstdFigure) {
	better := map[string]Better{"share": Lower, "packed": Lower, "ratio": Higher}
	for _, p := range printed {
		r.add(p.name, r.number(p.value), p.unit, better[p.name])
	}
}

// zstdBenchmark reads the last line of each level.
func zstdBenchmark(r *Report, text string) {
	var last []string
	for line := range strings.SplitSeq(Grep(text, "#", " -> "), "\n") {
		if m := zstdSpeed.FindStringSubmatch(line); m != nil {
			last = m
		}
		level := zstdLevel.FindStringSubmatch(line)
		if level == nil || last == nil {
			continue
		}
		f := r.numbers(last[1:]...)
		name := "level " + level[1] + ": "
		r.add(name+"size", f[0], "B", "")
		r.add(name+"packed", f[1], "B", Lower)
		r.add(name+"ratio", f[2], "1", Higher)
		r.add(name+"compression", f[3], "MB/s", Higher)
		r.add(name+"decompression", f[4], "MB/s", Higher)
		last = nil
	}
}

// zstdComplete returns an error if only a part of what zstd says together is there.
func zstdComplete(r *Report) error {
	has := func(name string) bool { return len(r.All(name)) > 0 }
	memory, share := has("memory to decompress"), has("share")
	listed := has("dictionary") || has("window") || has("frames") && !has("skipped frames")
	switch {
	case len(r.All("time")) != len(r.All("memory to decompress")),
		memory && !share, has("files") && !share && !has("unpacked"),
		listed && !(has("dictionary") && has("frames") && has("window") && has("packed") && has("size") && has("ratio")):
		return fault.Guestf("lines are missing: this is not the complete output of one run of zstd")
	}
	return nil
}
