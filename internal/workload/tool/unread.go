package tool

import (
	"maps"
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

// unreadBytes limits the text that Unread reads again: it changes several lines of a long output at once.
const unreadBytes = 1 << 18

// numberedLine is a line of an output with the places of the numbers in it that may be figures.
type numberedLine struct {
	at      int
	numbers [][2]int // in the whole output
}

// Unread returns the lines of the output with numbers that are neither figures nor parts of their names, nor known
// to be none, such as those of a banner: what the reader left out. A line is accounted for by its place, not by what
// stands elsewhere: Unread reads the output once more with other digits in this line, and each number of the line must
// belong to a figure that is another one then. It does not depend on how the reader finds figures, so it also tells
// what a version prints that nobody has seen yet.
func (r *Report) Unread() []string {
	t, _ := Get(r.Tool)
	whole, err := t.examine(r.text)
	if err != nil {
		whole = r
	}
	all := knownNumbersOf(whole.Figures, whole.Words, whole.Version)
	var unread []int // where lines begin
	tell := func(line numberedLine, known knownNumbers) {
		text, _, _ := strings.Cut(r.text[line.at:], "\n")
		if slices.ContainsFunc(whole.Doubts, func(doubt error) bool { return strings.Contains(doubt.Error(), Quote(text)) }) {
			return
		}
		if slices.ContainsFunc(line.numbers, func(at [2]int) bool { return !known.has(r.text[at[0]:at[1]]) }) {
			unread = append(unread, line.at)
		}
	}
	lines := r.numberedLines()
	times := map[string]int{}
	for _, line := range lines {
		for _, at := range line.numbers {
			times[r.text[at[0]:at[1]]]++
		}
	}
	asPrinted := map[string]bool{}
	for _, f := range whole.Figures {
		if f.Printed == "" {
			asPrinted[number(f.Value)] = true
		}
		for _, word := range anyNumber.FindAllString(f.Printed, -1) {
			asPrinted[shortest(word)] = true
		}
	}
	// A line with a figure that stands nowhere else was read.
	lines = slices.DeleteFunc(lines, func(line numberedLine) bool {
		known := slices.ContainsFunc(line.numbers, func(at [2]int) bool {
			word := r.text[at[0]:at[1]]
			return len(word) > 3 && times[word] == 1 && asPrinted[shortest(word)]
		})
		if known {
			tell(line, all)
		}
		return known
	})
	together := 1 + len(lines)*len(r.text)/unreadBytes
	for block := range slices.Chunk(lines, together) {
		known := all
		if again, err := t.examine(otherDigits(r.text, block)); err == nil {
			known = whole.lostIn(again, all)
		}
		for _, line := range block {
			tell(line, known)
		}
	}
	slices.Sort(unread)
	var told []string
	for _, at := range unread {
		line, _, _ := strings.Cut(r.text[at:], "\n")
		told = append(told, strings.TrimSpace(line))
	}
	return told
}

// shortest returns a printed number without zeros at its end, as number writes it.
func shortest(word string) string {
	if !strings.Contains(word, ".") || strings.Contains(word, "e") {
		return word
	}
	return strings.TrimSuffix(strings.TrimRight(word, "0"), ".")
}

// unknown returns the number of lines with numbers that are nowhere in the report, which is faster than Unread.
func (r *Report) unknown() int {
	known := knownNumbersOf(r.Figures, r.Words, r.Version)
	n := 0
	for _, line := range r.numberedLines() {
		if slices.ContainsFunc(line.numbers, func(at [2]int) bool { return !known.has(r.text[at[0]:at[1]]) }) {
			n++
		}
	}
	return n
}

// numberedLines are the lines of the output with numbers that are not known to be no figures.
func (r *Report) numberedLines() []numberedLine {
	none := make([]bool, len(r.text)) // bytes of lines and words without figures
	for _, re := range slices.Concat(withoutFigures["*"], withoutFigures[r.Tool]) {
		for _, at := range re.FindAllStringIndex(r.text, -1) {
			for i := at[0]; i < at[1]; i++ {
				none[i] = true
			}
		}
	}
	var lines []numberedLine
	at := 0
	for text := range strings.Lines(r.text) {
		line := numberedLine{at: at}
		for _, of := range anyNumber.FindAllStringIndex(text, -1) {
			if !none[at+of[0]] {
				line.numbers = append(line.numbers, [2]int{at + of[0], at + of[1]})
			}
		}
		if line.numbers != nil {
			lines = append(lines, line)
		}
		at += len(text)
	}
	return lines
}

// otherDigits returns the text with other digits in the numbers of some lines. No number becomes 0, or begins with 0.
func otherDigits(text string, lines []numberedLine) string {
	changed := []byte(text)
	for _, line := range lines {
		for _, at := range line.numbers {
			for i := at[0]; i < at[1]; i++ {
				switch c := changed[i]; {
				case c == '9':
					changed[i] = '8'
				case c >= '0' && c < '9':
					changed[i]++
				}
			}
		}
	}
	return string(changed)
}

// lostIn returns the numbers of the report that another report of the same output, with other digits in some lines,
// lacks. They are all, if other doubts are all that differs: then the lines were compared with others.
func (r *Report) lostIn(again *Report, all knownNumbers) knownNumbers {
	have := map[Figure]int{}
	for _, f := range again.Figures {
		have[f]++
	}
	var lost []Figure
	for _, f := range r.Figures {
		if have[f]--; have[f] < 0 {
			lost = append(lost, f)
		}
	}
	said := maps.Clone(r.Words)
	maps.DeleteFunc(said, func(name, word string) bool { return again.Words[name] == word })
	version := r.Version
	if version == again.Version {
		version = ""
	}
	if lost == nil && len(said) == 0 && version == "" && !slices.EqualFunc(r.Doubts, again.Doubts,
		func(a, b error) bool { return a.Error() == b.Error() }) {
		return all
	}
	return knownNumbersOf(lost, said, version)
}

// knownNumbers are the numbers of a report.
type knownNumbers struct {
	words   map[string]bool // in names of figures, and in what the report says
	values  []float64       // sorted
	seconds []float64       // below a minute of the times, sorted: 2.3 of 1m2.3s
}

func knownNumbersOf(figures []Figure, said map[string]string, version string) knownNumbers {
	known := knownNumbers{words: map[string]bool{}}
	words := func(text string) {
		for _, word := range anyNumber.FindAllString(text, -1) {
			known.words[word] = true
		}
	}
	for _, f := range figures {
		words(runNumber.ReplaceAllString(f.Name, ""))
		words(f.Printed)
		known.values = append(known.values, f.Value)
		if f.Unit == "s" {
			known.seconds = append(known.seconds, f.Value-60*math.Floor(f.Value/60))
		}
	}
	for _, word := range said {
		words(word)
	}
	words(version)
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
