package tool

import (
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// anyNumber is a number in a text.
var anyNumber = regexp.MustCompile(`\d+(?:\.\d+)?(?:e[-+]?\d+)?`)

// runNumber is what Examine puts before the names of figures of several runs.
var runNumber = regexp.MustCompile(`^run \d+: `)

// scales are what a reader may multiply a printed number by, such as for k and Mi.
var scales = []float64{1, 1e3, 1e6, 1e9, 1e12, 1 << 10, 1 << 20, 1 << 30, 1 << 40, 1e-3, 1e-6, 1e-9}

// Unread returns the lines of the output with numbers that are neither figures nor parts of their names, nor known
// to be none, such as those of a banner: what the reader left out. It does not depend on how the reader finds figures,
// so it also tells what a version prints that nobody has seen yet.
func (r *Report) Unread() []string {
	known := r.knownNumbers()
	none := make([]bool, len(r.text)) // bytes of lines and words without figures
	for _, re := range slices.Concat(withoutFigures["*"], withoutFigures[r.Tool]) {
		for _, at := range re.FindAllStringIndex(r.text, -1) {
			for i := at[0]; i < at[1]; i++ {
				none[i] = true
			}
		}
	}
	var lines []string
	at := 0
	for line := range strings.Lines(r.text) {
		for _, of := range anyNumber.FindAllStringIndex(line, -1) {
			if !none[at+of[0]] && !known.has(line[of[0]:of[1]]) {
				lines = append(lines, strings.TrimSpace(line))
				break
			}
		}
		at += len(line)
	}
	return lines
}

// knownNumbers are the numbers of a report.
type knownNumbers struct {
	words   map[string]bool // in names of figures, and in what the report says
	values  []float64       // sorted
	seconds []float64       // below a minute of the times, sorted: 2.3 of 1m2.3s
}

func (r *Report) knownNumbers() knownNumbers {
	known := knownNumbers{words: map[string]bool{}}
	for _, f := range r.Figures {
		for _, word := range anyNumber.FindAllString(runNumber.ReplaceAllString(f.Name, ""), -1) {
			known.words[word] = true
		}
		for _, word := range anyNumber.FindAllString(f.Printed, -1) {
			known.words[word] = true
		}
		known.values = append(known.values, f.Value)
		if f.Unit == "s" {
			known.seconds = append(known.seconds, f.Value-60*math.Floor(f.Value/60))
		}
	}
	for _, said := range r.Words {
		for _, word := range anyNumber.FindAllString(said, -1) {
			known.words[word] = true
		}
	}
	for _, word := range anyNumber.FindAllString(r.Version, -1) {
		known.words[word] = true
	}
	slices.Sort(known.values)
	slices.Sort(known.seconds)
	return known
}

// has reports whether a printed number is a figure, perhaps with a prefix of its unit, or a part of a name.
func (k knownNumbers) has(word string) bool {
	if k.words[word] {
		return true
	}
	v, err := strconv.ParseFloat(word, 64)
	if err != nil {
		return false
	}
	mantissa, _, _ := strings.Cut(word, "e")
	_, decimals, _ := strings.Cut(mantissa, ".")
	within := math.Pow10(-len(decimals)) * 1.0001
	for _, scale := range scales {
		off := 1e-9 * v * scale
		if decimals != "" {
			off = max(off, within*scale/2)
		}
		if anyWithin(k.values, v*scale, off) {
			return true
		}
	}
	return anyWithin(k.seconds, v, within)
}

// anyWithin reports whether one of the sorted values is within off of v.
func anyWithin(values []float64, v, off float64) bool {
	i, _ := slices.BinarySearch(values, v-off)
	return i < len(values) && values[i] <= v+off
}
