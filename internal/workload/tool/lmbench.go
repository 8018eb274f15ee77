package tool

import (
	"fmt"
	"regexp"
	"strings"
)

// lmbenchKinds are the lines that name their figure.
var lmbenchKinds = []figureLine{
	figures(`^Pipe bandwidth: (\d+\.\d+) MB/sec$`, "pipe bandwidth", "MB/s", Higher),
	figures(`^((?:AF_UNIX|STREAM|Socket|TCP)[^:\n]* bandwidth[^:\n]*): (\d+\.\d+) MB/sec$`, "%1", "MB/s", Higher),
	figures(`^(\w[^:\n]*): (\d+(?:\.\d+)?) microseconds$`, "%1", "us", Lower),
	figures(`^(\w[^:\n]*): (\d+(?:\.\d+)?) nanoseconds$`, "%1", "ns", Lower),
	figures(`^(\w[\w ]* parallelism): (\d+\.\d+)$`, "%1", "1", Higher),
	row(`^(\d+\.\d+) (\d+\.\d+) MB/sec$`, column{"size", "MB", ""}, column{"bandwidth", "MB/s", Higher}),
	row(`^(\d+\.\d+) MB in (\d+\.\d+) secs, (\d+\.\d+) MB/sec$`, column{"size", "MB", ""}, column{"time", "s", Lower},
		column{"bandwidth", "MB/s", Higher}),
	row(`^(\d+k)\t(\d+)\t(\d+)\t(\d+)$`, label, column{"files of %1", "1", ""},
		column{"files of %1: created", "1/s", Higher}, column{"files of %1: deleted", "1/s", Higher}),
	figures(`^tlb: (\d+) pages$`, "TLB", "pages", ""),
}

var (
	lmbenchPair  = regexp.MustCompile(`^([\d.]+) ([\d.]+)$`)
	lmbenchHead  = regexp.MustCompile(`^"(size|stride)=(\S+?)(?: ovr=(\d+\.\d+))?$`)
	lmbenchComma = regexp.MustCompile(`(?m)^\d+,\d+ [\d,]+(?: MB/sec)?$|: \d+,\d+ (?:micro|nano)seconds$|\d,\d+ MB|` +
		`^"\S* ovr=\d+,|parallelism: \d+,`)
)

// readLmbench also reads lines of two numbers. Their meaning depends on the header line above them,
// which bw_mem and bw_file_rd do not print; lat_mmap prints whole microseconds. With several headers, names
// begin with the header's size or stride.
func readLmbench(text string, r *Report) error {
	if err := refused("lmbench", text); err != nil {
		return err
	}
	if line := lmbenchComma.FindString(text); line != "" {
		return foreignLocale(text, line)
	}
	kind, prefix, several := "", "", strings.Count("\n"+text, "\n\"") > 1
	for line := range strings.SplitSeq(text, "\n") {
		if line == "" {
			kind, prefix = "", ""
		}
		if m := lmbenchHead.FindStringSubmatch(line); m != nil {
			kind = m[1]
			if several {
				prefix = fmt.Sprintf("%s %s: ", m[1], quoteless(m[2]))
			}
			if m[3] != "" {
				r.add(prefix+"overhead, subtracted", r.number(m[3]), "us", "")
			}
			continue
		}
		m := lmbenchPair.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		f, err := Numbers(m[1:]...)
		if err != nil {
			continue
		}
		switch {
		case kind == "size":
			r.add(prefix+"context switch of "+m[1]+" processes", f[1], "us", Lower)
			r.add(prefix+"processes", f[0], "1", "")
		case kind == "stride":
			r.add(prefix+"load of "+m[1]+" MB", f[1], "ns", Lower)
		case !strings.Contains(m[2], "."):
			r.add("mapping of "+m[1]+" MB", f[1], "us", Lower)
		default:
			r.add("size", f[0], "MB", "")
			r.add("bandwidth", f[1], "MB/s", Higher)
		}
	}
	return addFigures(r, text, lmbenchKinds)
}
