package procfs

import (
	"regexp"
	"strings"
)

// Array is a software RAID that is being rebuilt or checked.
type Array struct {
	Name  string // "md0"
	Doing string // as the kernel says it: "resync 12.6%", "check DELAYED"
}

var mdWork = regexp.MustCompile(`\b(resync|recovery|reshape|check|repair)\s*=\s*([0-9]{1,3}(?:\.[0-9]+)?%|[A-Z]+)`)

// ParseMDStat reads /proc/mdstat. It omits arrays that are at rest.
func ParseMDStat(text string) []Array {
	var all []Array
	name := ""
	for line := range strings.Lines(text) {
		first, _, is := strings.Cut(line, " : ")
		if is && !strings.ContainsAny(first, " \t") {
			name = first
		}
		m := mdWork.FindStringSubmatch(line)
		if m != nil && strings.HasPrefix(name, "md") {
			all = append(all, Array{Name: name, Doing: m[1] + " " + m[2]})
			name = "" // it does one thing at a time
		}
	}
	return all
}
