package tool

import (
	"math"
	"math/big"
	"regexp"
	"strconv"
	"strings"

	"github.com/tare-bench/tare/internal/fault"
)

// Quote returns s, a line of a tool's output, in a form fit for an error message.
func Quote(s string) string {
	const limit = 200
	s = strings.TrimSpace(s)
	r := []rune(strings.ToValidUTF8(s[:min(len(s), 4*limit+4)], "?"))
	if len(r) > limit {
		r = append(r[:limit], '…')
	}
	return strconv.Quote(string(r))
}

// paint is what a tool writes to a terminal besides text: colours, and the deletion of a line.
var paint = regexp.MustCompile("\x1b\\[[0-9;?]*[A-Za-z]")

// typed is what a terminal shows of the keys that end a program.
var typed = regexp.MustCompile(`(?m)^(?:\^C)+`)

// plain returns the text of saved output without what belongs to a terminal or a file format: ends of
// lines from Windows, lines that were overwritten, colours, a byte order mark, the keys that ended it.
func plain(text string) string {
	text = strings.TrimPrefix(text, "\ufeff")
	if strings.Contains(text, "\x1b") {
		text = paint.ReplaceAllString(text, "")
	}
	if strings.Contains(text, "^C") {
		text = typed.ReplaceAllString(text, "")
	}
	if strings.Contains(text, "\r") {
		text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
	}
	return text
}

var quoted = regexp.MustCompile(`(?m)^(?:> ?)+`)

// logTime is the time that logs put before each line, in a form that has no fixed length.
var logTime = regexp.MustCompile(`(?m)^\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z| ?[+-]\d\d:?\d\d)?\]?(?: |$)`)

// unlogged removes what a log puts before each line, such as "12:10:43 DEBUG| [stdout] " or "bench-1  | ": words that
// most lines have in common but for their digits, up to a bracket, a bar or a colon.
func unlogged(text string) string {
	shape := func(s string) string {
		return strings.Map(func(r rune) rune {
			if r >= '0' && r <= '9' {
				return '0'
			}
			return r
		}, s)
	}
	lines := strings.Split(text, "\n")
	var full []string // their shapes
	for _, line := range lines {
		if strings.TrimSpace(line) != "" {
			full = append(full, shape(line))
		}
	}
	has := func(line, prefix string) bool {
		return strings.HasPrefix(line, prefix) || line == strings.TrimRight(prefix, " ")
	}
	best, most := "", 0
	for i := 1; i < min(len(full), 20); i++ {
		n := 0
		for n < min(len(full[i-1]), len(full[i])) && full[i-1][n] == full[i][n] {
			n++
		}
		for _, end := range []string{"] ", "| ", ": "} {
			prefix := full[i][:strings.LastIndex(full[i][:n], end)+1]
			if len(prefix) < 3 {
				continue
			}
			prefix += " "
			count := 0
			for _, line := range full {
				if has(line, prefix) {
					count++
				}
			}
			if count > most || count == most && len(prefix) > len(best) {
				best, most = prefix, count
			}
		}
	}
	if 2*most <= len(full) || most < 3 {
		return text
	}
	for i, line := range lines {
		if has(shape(line), best) {
			lines[i] = line[min(len(best), len(line)):]
		}
	}
	return strings.Join(lines, "\n")
}

// pasted returns a text without what a mail or a page put before each line: "> ", an indent, or a time.
func pasted(text string) string {
	full, quotes := 0, 0
	for line := range strings.Lines(text) {
		if strings.TrimSpace(line) != "" {
			full++
		}
		if strings.HasPrefix(line, ">") {
			quotes++
		}
	}
	if 2*quotes > full { // a mail also has lines of its author
		text = quoted.ReplaceAllString(text, "")
	}
	if 2*len(logTime.FindAllStringIndex(text, -1)) > full {
		text = logTime.ReplaceAllString(text, "")
	}
	return outdented(text, 0)
}

// outdented removes the smallest indent that lines have, if that is at least so many bytes. Lines without any indent
// count if least is 0.
func outdented(text string, least int) string {
	lines := strings.Split(text, "\n")
	indents := make([]int, len(lines))
	indent := -1
	for i, line := range lines {
		indents[i] = len(line) - len(strings.TrimLeft(line, " \t"))
		if strings.TrimSpace(line) != "" && (least == 0 || indents[i] > 0) && (indent < 0 || indents[i] < indent) {
			indent = indents[i]
		}
	}
	if indent < max(least, 1) {
		return text
	}
	for i, line := range lines {
		if indents[i] >= indent {
			lines[i] = line[indent:]
		}
	}
	return strings.Join(lines, "\n")
}

// Grep returns the lines that contain any of the words. A guest may write a lot,
// and regular expressions are slow.
func Grep(text string, words ...string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		for _, w := range words {
			if strings.Contains(line, w) {
				b.WriteString(line)
				break
			}
		}
	}
	return b.String()
}

// Number parses a word that a regular expression matched as a plain decimal number.
func Number(s string) (float64, error) {
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsNaN(f) || math.IsInf(f, 0) || f < 0 {
		return 0, fault.Guestf("%s is not a usable number", Quote(s))
	}
	return f, nil
}

// Numbers parses several of them.
func Numbers(s ...string) ([]float64, error) {
	fs := make([]float64, len(s))
	for i := range s {
		f, err := Number(s[i])
		if err != nil {
			return nil, err
		}
		fs[i] = f
	}
	return fs, nil
}

// times returns word × factor without the error of a multiplication of binary numbers: 218.37 × 0.000001 is 0.00021837.
func times(word string, factor float64) float64 {
	v, ok := new(big.Rat).SetString(word)
	by, also := new(big.Rat).SetString(strconv.FormatFloat(factor, 'g', -1, 64))
	if !ok || !also {
		return 0
	}
	product, _ := v.Mul(v, by).Float64()
	return product
}

// exact returns a value that was calculated from decimal numbers without the noise of binary ones.
func exact(v float64) float64 {
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 15, 64), 64)
	if err != nil {
		return v
	}
	return rounded
}

// number returns a value in its shortest form, fit for a figure's name.
func number(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// complaints are what tools and shells print when they fail, in lower case.
var complaints = []string{
	"error:", "error ", "fatal", "failed", "failure", "cannot", "can't", "no space left", "no such file",
	"not found", "not permitted", "permission denied", "\nkilled", "\nterminated", "use -help",
	"must not run as root", "unrecognized", "unrecognised", "invalid ", "unknown option", "extra arguments",
	"out of memory", "premature end",
}

var (
	timeFailed = regexp.MustCompile(`(?m)^(?:Command (?:exited with non-zero status|terminated by signal|stopped by` +
		` signal).*` +
		`|\s*Exit status: (?:[1-9]\d*))$`)
)

// timedFailure returns an error if GNU time reports that its command failed.
func timedFailure(text string) error {
	if line := timeFailed.FindString(Grep(text, "Command ", "Exit status")); line != "" {
		return fault.Guestf("the command failed: %s", Quote(line))
	}
	return nil
}

// systemSays are lines of the operating system and of shells that are no failure of a tool: of the kernel's log, about
// a locale or an interface that is missing.
var systemSays = regexp.MustCompile(`(?i)^(?:\[ *\d+\.\d{6}\] .*|.*\bwarning: .*\blocale\b.*|perl: warning: .*` +
	`|.*\bsetlocale\b.*|(?:\S+: )?error fetching interface information: .*|sudo: unable to resolve .*` +
	`|ERROR: ld\.so: object .*|libnuma: warning: .*)$`)

// refused returns an error if the text contains a complaint of the tool, of the
// shell or of time(1): a tool that fails early would look like a fast tool.
func (r *Report) refused(text string) error {
	if err := r.doubt(timedFailure(text)); err != nil {
		return err
	}
	for line := range strings.Lines(text) {
		if strings.Contains(line, "Command being timed:") {
			continue
		}
		lower := "\n" + strings.ToLower(line)
		for _, c := range complaints {
			if !strings.Contains(lower, c) || systemSays.MatchString(strings.TrimRight(line, "\n")) {
				continue
			}
			if err := r.doubt(fault.Guestf("%s failed: %s", r.Tool, Quote(line))); err != nil {
				return err
			}
			break
		}
	}
	return nil
}

var (
	// In order: bash's and POSIX's "real", GNU time -v, GNU time's default,
	// GNU time -f "elapsed %e", and zsh's time.
	wallTime = regexp.MustCompile(`(?m)^real\s+(?:(\d+)m ?)?(\d+(?:\.\d+)?)s?\r?$` +
		`|Elapsed \(wall clock\) time[^\n]*?: ([\d:.]+)\r?$` +
		`|\s([\d:.]+)elapsed\s` +
		`|\belapsed (\d+(?:\.\d+)?)\b` +
		`|% cpu ((?:\d+:)*\d+(?:\.\d+)?) total$`)
	commaTime = regexp.MustCompile(`(?m)^real\s+(?:\d+m ?)?\d+,\d+s?\r?$|\s[\d:]+,\d+elapsed\s|\belapsed \d+,\d+` +
		`|Elapsed \(wall clock\) time[^\n]*?: [\d:]+,\d+$|\d,\d+s user .* total$`)
	localeNamed = regexp.MustCompile(`\b(?:LC_ALL|LC_NUMERIC|LC_MESSAGES|LANG)=['"]?([\w.@-]+)`)
)

// WallTimes returns the times printed by time(1) or a shell's time in the text,
// in seconds, in their order.
func WallTimes(text string) ([]float64, error) {
	lines := Grep(text, "real", "elapsed", "Elapsed", " total")
	if line := commaTime.FindString(lines); line != "" {
		return nil, foreignLocale(text, line)
	}
	var all []float64
	for _, m := range wallTime.FindAllStringSubmatch(lines, -1) {
		var s float64
		var err error
		switch {
		case m[2] != "":
			s, err = clock(strings.TrimPrefix(m[1]+":"+m[2], ":"))
		case m[5]+m[6] != "":
			s, err = clock(m[5] + m[6])
		default:
			s, err = clock(m[3] + m[4])
		}
		if err != nil {
			return nil, fault.Guestf("no time in %s", Quote(m[0]))
		}
		all = append(all, s)
	}
	return all, nil
}

// clock reads "9.3", "0:00.99" and "1:02:03" as seconds.
func clock(s string) (float64, error) {
	var sum float64
	for _, part := range strings.Split(s, ":") {
		f, err := Number(part)
		if err != nil {
			return 0, err
		}
		sum = sum*60 + f
	}
	return sum, nil
}

// foreignLocale is the error for a line that was not written under the locale C.
func foreignLocale(text, line string) error {
	which := "a locale with translated words or a decimal comma, such as cs_CZ or de_DE"
	if m := localeNamed.FindStringSubmatch(text); m != nil && m[1] != "C" && m[1] != "POSIX" {
		which = "the locale " + m[1]
	}
	return fault.WithRemedy(
		fault.Guestf("the tool ran under %s, so tare cannot read its figures: %s", which, Quote(line)),
		"run it again with LC_ALL=C")
}

// pattern is a kind of line of a tool's output.
type pattern struct {
	word string // occurs in every such line; "": no word does
	re   *regexp.Regexp
}

// line returns the pattern of lines that contain word. The expression is multi-line.
func line(word, expr string) *pattern { return &pattern{word, regexp.MustCompile("(?m)" + expr)} }

func (p *pattern) in(text string) string {
	if p.word == "" {
		return text
	}
	return Grep(text, p.word)
}

// all returns the submatches of all such lines.
func (p *pattern) all(text string) [][]string { return p.re.FindAllStringSubmatch(p.in(text), -1) }

// first returns those of the first one, or nil.
func (p *pattern) first(text string) []string { return p.re.FindStringSubmatch(p.in(text)) }

// find returns the first such line, or "".
func (p *pattern) find(text string) string { return p.re.FindString(p.in(text)) }
