package tool

import (
	"fmt"
	"regexp"
	"strings"
)

// lmbenchKinds are the lines that name their figure.
var lmbenchKinds = []figureLine{
	figures(`^File (\S+) write bandwidth: (\d+(?:\.\d+)?) KB/sec$`, "write bandwidth of %1", "KB/s", Higher),
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
	lmbenchIs    = regexp.MustCompile(`(?m)^\[LMBENCH_VER: (\S+)\]$`)
	lmbenchNamed = regexp.MustCompile(`^"([A-Za-z][^\n=]*?)"? *$`)
	// lmbenchSocket is above the rows of bw_tcp with several sizes.
	lmbenchSocket = regexp.MustCompile(`^"?(Socket bandwidth using [^:\s"]+)"?$`)
	lmbenchSized  = regexp.MustCompile(`^([\d.]+) ([\d.]+) MB/sec$`)
	lmbenchPair   = regexp.MustCompile(`^([\d.]+) ([\d.]+)$`)
	// lmbenchMapping is a line of lat_mmap alone: it prints sizes with six decimals, and times of 10 us and more as whole
	// numbers, others with three decimals. Bandwidths have two decimals or six.
	lmbenchMapping = regexp.MustCompile(`^\d+\.\d{6} \d+(?:\.\d{3})?$`)
	lmbenchHead    = regexp.MustCompile(`^"(size|stride)=(\S+?)(?: ovr=(\d+\.\d+))?$`)
	lmbenchComma   = regexp.MustCompile(`(?m)^\d+,\d+ [\d,]+(?: MB/sec)?$|: \d+,\d+ (?:micro|nano)seconds$|\d,\d+ MB|` +
		`^"\S* ovr=\d+,|parallelism: \d+,`)
)

// readLmbench also reads lines of two numbers. Their meaning depends on the header line above them,
// which bw_mem, bw_file_rd and lat_mmap do not print. With several headers, names
// begin with the header's size or stride.
func readLmbench(text string, r *Report) error {
	if err := r.refused(text); err != nil {
		return err
	}
	if line := lmbenchComma.FindString(text); line != "" {
		return foreignLocale(text, line)
	}
	if m := lmbenchIs.FindStringSubmatch(text); m != nil {
		r.Version = m[1]
	}
	if strings.Contains(text, "S U M M A R Y") || strings.Contains(text, " - smaller is better\n") {
		return lmbenchSummary(text, r)
	}
	kind, prefix, several := "", "", strings.Count("\n"+text, "\n\"") > 1
	var rest strings.Builder // the lines that this loop does not read
	for line := range strings.SplitSeq(text, "\n") {
		if line == "" {
			kind, prefix = "", ""
		}
		if m := lmbenchSocket.FindStringSubmatch(line); m != nil {
			kind, prefix = m[1], ""
			continue
		}
		if m := lmbenchSized.FindStringSubmatch(line); m != nil && strings.HasPrefix(kind, "Socket ") {
			r.add(quoteless(kind)+" of "+m[1]+" MB", r.number(m[2]), "MB/s", Higher)
			continue
		}
		rest.WriteString(line + "\n")
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
		if m := lmbenchNamed.FindStringSubmatch(line); m != nil {
			kind, prefix = strings.TrimSpace(m[1]), ""
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
		case kind == "mappings" || kind == "" && lmbenchMapping.MatchString(line):
			r.add("mapping of "+m[1]+" MB", f[1], "us", Lower)
		case kind == "":
			r.add("size", f[0], "MB", "")
			r.add("bandwidth", f[1], "MB/s", Higher)
		default: // all other sections of the results are bandwidths
			r.add(quoteless(kind)+" of "+m[1]+" MB", f[1], "MB/s", Higher)
		}
	}
	return addFigures(r, rest.String(), lmbenchKinds)
}
