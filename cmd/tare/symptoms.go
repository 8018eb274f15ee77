package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/tare-bench/tare/docs/findings"
	"github.com/tare-bench/tare/internal/analyze"
)

// symptom is what somebody sees before knowing a finding's code.
type symptom struct {
	Name  string   `json:"symptom"`
	Words string   `json:"-"`        // other words for it
	About string   `json:"about"`    // what is usually behind it
	Codes []string `json:"findings"` // the likely one first
	Pages []string `json:"pages"`
	// Command decides between them, and Decides says how.
	Command string `json:"command"`
	Decides string `json:"decides"`
}

var symptoms = []symptom{
	{"guest faster than host", "quicker beats better native bare metal vm machine container negative overhead cost gain",
		"A guest cannot do the same work in less time than the host. It does less work, stores writes in the memory of " +
			"the host, uses other programs, or has a slow clock.",
		[]string{"faster-than-baseline", "cached-writes", "cached-reads", "guest-clock", "unequal-userland", "unequal-size",
			"unequal-mitigations", "unequal-features", "hidden-cpu"},
		[]string{"docs/disks.md", "docs/native.md"},
		"tare run quick && tare show --all quick-*.tare",
		"tare times with the clock of the host, counts bytes that reached the device, and runs the same programs in both. " +
			"If native is still slower, the findings name the cause."},
	{"disk too fast", "storage write writes read reads throughput io cache cached memory impossible ssd unbelievable",
		"A cache answers, not the disk: the page cache of the guest, or that of the host.",
		[]string{"cached-writes", "cached-reads", "ceiling", "position"},
		[]string{"docs/disks.md", "docs/limits.md"},
		"tare run quick && tare show --all quick-*.tare",
		"The line \"reached the device\" below dd-write has the bytes that arrived at the disk. If they are fewer than " +
			"those that were written, the time measures a cache."},
	{"numbers change every run", "results figures vary variation noise noisy unstable different differ each time repeat " +
		"reproduce fluctuate",
		"The machine does something else at the same time, its hypervisor takes CPU time away, or the guests differ.",
		[]string{"control-differs", "steal", "other-load", "no-steady-state", "spread", "guests-differ", "slow-trials"},
		[]string{"docs/precision.md", "docs/guests.md"},
		"tare doctor && tare run quick --precision 2%",
		"doctor lists what disturbs measurements here. The run compares native with an identical control: as far as those " +
			"two differ, it is noise."},
	{"slower after reboot", "boot boots restart restarted update upgrade kernel than before faster since",
		"Each boot places memory and interrupts differently, so one boot on each side says little. A new kernel or other " +
			"mitigations may also cost more.",
		[]string{"few-boots", "unequal-mitigations", "slow-clock", "spread", "other-load"},
		[]string{"docs/boots.md", "docs/compare.md"},
		"tare run --like before.tare --out after.tare && tare compare before.tare after.tare",
		"compare lists what else differs between the two runs: kernel, machine, versions. Runs of three boots on each side " +
			"tell a change from the differences between boots."},
	{"same guest, other results", "identical vm machine container two guests differ different instances copies clone " +
		"twin " +
		"version tool",
		"Guests of one kind differ: in the place of their memory, in their host, or in the versions of their programs.",
		[]string{"guests-differ", "few-guests", "unequal-userland", "unequal-features", "unequal-mitigations", "slow-clock",
			"unequal-size", "unequal-arms"},
		[]string{"docs/guests.md", "docs/machines.md", "docs/parse.md"},
		"tare compare first.tare second.tare",
		"compare lists programs and sizes that differ. In one run, tare makes many guests of each kind, and its intervals " +
			"hold for other guests of the same kind."},
}

// symptomsOf returns the symptoms that a description in free words fits, the best first.
func symptomsOf(description string) []symptom {
	words := symptomWords(description)
	type match struct {
		symptom
		own, all int // words of its name, and of it
	}
	var matches []match
	for _, s := range symptoms {
		name, others := symptomWords(s.Name), symptomWords(s.Words)
		m := match{symptom: s}
		for _, word := range words {
			if slices.Contains(name, word) {
				m.own++
				m.all++
			} else if slices.Contains(others, word) {
				m.all++
			}
		}
		if 2*m.all >= len(words) && m.all > 0 {
			matches = append(matches, m)
		}
	}
	slices.SortStableFunc(matches, func(a, b match) int {
		return cmp.Or(cmp.Compare(b.all, a.all), cmp.Compare(b.own, a.own))
	})
	var found []symptom
	for _, m := range matches {
		if m.all == matches[0].all && m.own == matches[0].own {
			found = append(found, m.symptom)
		}
	}
	return found
}

// symptomWords returns the words of a description without those that say nothing.
func symptomWords(text string) []string {
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return r < 'a' || r > 'z' })
	return slices.DeleteFunc(words, func(word string) bool {
		return slices.Contains([]string{"a", "an", "the", "is", "are", "my", "is", "than", "in", "of", "on", "with", "and",
			"i",
			"it", "its", "have", "has", "get", "much", "why", "do", "does"}, word)
	})
}

// explainSymptom prints where to look.
func explainSymptom(w io.Writer, s symptom) error {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n%s\n\n## What decides\n\n    %s\n\n%s\n\n## Findings\n\n", s.Name, s.About, s.Command,
		s.Decides)
	for _, code := range s.Codes {
		if k, ok := analyze.FindKind(code); ok {
			fmt.Fprintf(&b, "- `%s`: %s\n", k.ID, k.Headline)
		}
	}
	fmt.Fprintf(&b, "\n`tare explain CODE` explains each of them.\n\n## Pages\n\n")
	for _, page := range s.Pages {
		fmt.Fprintf(&b, "- %s\n", page)
	}
	fmt.Fprintf(&b, "- %s\n", findings.URL(s.Codes[0]))
	_, err := io.WriteString(w, b.String())
	return err
}
