package tool

import (
	"cmp"
	"strings"

	"github.com/tare-bench/tare/internal/fault"
)

var bogomipsLine = line("", `(?i)^ *(\d+ )?bogomips\s*: *(\d+\.\d+) *$`)

// readCPUInfo reads /proc/cpuinfo, or lines of it with their number: the BogoMIPS of each line, and
// the number of all "readings".
func readCPUInfo(text string, r *Report) error {
	readings := 0.0
	for _, m := range bogomipsLine.all(text) {
		f := r.numbers(m[2], cmp.Or(strings.TrimSpace(m[1]), "1"))
		r.add("bogomips", f[0], "1", "")
		readings += f[1]
	}
	if readings == 0 {
		return fault.Guestf("the output contains no BogoMIPS: %s", Quote(text))
	}
	r.add("readings", readings, "1", "")
	return nil
}
