package tool

import (
	"fmt"
	"regexp"

	"github.com/tare-bench/tare/internal/fault"
)

var (
	makeFailed = line("***", `^make(?:\[\d+\])?: \*\*\* .*|^(?:ba|da)?sh: .*$`)
	tarFailed  = line(": ", `^(?:tar|tar \(child\)|gzip|xz|bzip2|zstd|-?(?:ba|da|z)?sh): .*$`)
	// tarSaid are messages of a tar that did its work, besides those of --checkpoint.
	tarSaid = regexp.MustCompile(
		`(?m)^tar: (?:Removing leading .*|.*: (?:socket ignored|file is the archive; not dumped|` +
			`time stamp .* s in the future|implausibly old time stamp .*)|(?:Read|Write) checkpoint \d+|.*checkpoint.*)$`)
	tarTotals = regexp.MustCompile(`(?m)^Total bytes (written|read|deleted): (\d+)(?: \([\d.]+ ?[KMGTP]?i?B, (?:([\d.]+)` +
		` ?([KMGTP]?i?B)/s|\?)\))?$`)
	makeImage = row(`^(Setup|System) is (\d+) (bytes|kB)(?: \(padded to (\d+) bytes\)\.)?$`, label, column{"%1", "%3", ""},
		label, column{"%1, padded", "bytes", ""})
)

// readMake reads the times of a build, and the sizes that the kernel's makefile prints for its image.
func readMake(text string, r *Report) error {
	if line := makeFailed.find(text); line != "" {
		if err := r.doubt(fault.Guestf("make failed: %s", Quote(line))); err != nil {
			return err
		}
	}
	if err := addFigures(r, text, []figureLine{makeImage}); err != nil {
		return err
	}
	return needTimes("make", text, r)
}

// readTar reads the times, and the totals that --totals and --checkpoint-action=totals print.
func readTar(text string, r *Report) error {
	for _, m := range tarFailed.all(text) {
		if !tarSaid.MatchString(m[0]) {
			if err := r.doubt(fault.Guestf("tar failed: %s", Quote(m[0]))); err != nil {
				return err
			}
		}
	}
	totals := tarTotals.FindAllStringSubmatch(text, -1)
	left := map[string]int{} // totals that follow, of each kind
	for _, m := range totals {
		left[m[1]]++
	}
	checkpoints, times := map[string]int{}, len(timeReal.FindAllString(text, -1))
	for _, m := range totals {
		prefix := ""
		// In a run whose time is known, all totals but the last are those of --checkpoint-action=totals.
		if left[m[1]]--; left[m[1]] > 0 && times == 1 {
			checkpoints[m[1]]++
			prefix = fmt.Sprintf("checkpoint %d: ", checkpoints[m[1]])
		}
		r.add(prefix+"bytes "+m[1], r.number(m[2]), "B", "")
		if m[3] != "" {
			r.add(prefix+"rate "+m[1], r.number(m[3]), m[4]+"/s", Higher)
		}
	}
	return needTimes("tar", text, r)
}

// needTimes adds the times of a tool that prints no figures of its own in its default mode.
func needTimes(tool, text string, r *Report) error {
	// Refused would be wrong: tar -v may list any names.
	if err := r.doubt(timedFailure(text)); err != nil {
		return err
	}
	if err := withTimes(r, text); err != nil || len(r.Figures) > 0 {
		return err
	}
	return fault.WithRemedy(fault.Guestf("%s prints no figures, and the output contains no line of time: %s", tool,
		Quote(text)),
		"run the command under time and save the output of both")
}
