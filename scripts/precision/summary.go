package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

func summaryPart(set *flag.FlagSet) func(*session) error {
	into := set.String("into", "", "`file` with marked places to fill in, such as docs/precision.md; absent: print")
	plot := set.String("plot", "", "`file` for the SVG plot of the power on the quiet machine, in the same directory "+
		"as -into")
	again := set.Bool("again", false, "analyse the run files again with tare, and save the results")
	return func(s *session) error {
		if *again {
			if err := s.reanalyse(); err != nil {
				return err
			}
		}
		sections, err := summarize(s.records)
		if err != nil {
			return err
		}
		if *plot != "" {
			if err := draw(s.records, *plot, sections); err != nil {
				return err
			}
		}
		if *into == "" {
			for _, sec := range sections {
				if sec.text != "" {
					fmt.Fprintf(s.out, "## %s\n\n%s\n", sec.title, sec.text)
				}
			}
			return nil
		}
		text, err := os.ReadFile(*into)
		if err != nil {
			return err
		}
		filled, err := fill(string(text), sections)
		if err != nil {
			return fmt.Errorf("%s: %w", *into, err)
		}
		return os.WriteFile(*into, []byte(filled), 0o644)
	}
}

// draw writes the plot of the power and adds it to its section.
func draw(records []Record, file string, sections []section) error {
	p, err := powerOf(records, "power", false, isTime, "time")
	if err != nil || len(p.cells) == 0 {
		return err
	}
	i := slices.IndexFunc(sections, func(s section) bool { return s.mark == "power" })
	sections[i].text += fmt.Sprintf("\n![Share of runs that find a cost, by its size and the seconds spent](%s)\n",
		filepath.Base(file))
	return os.WriteFile(file, []byte(p.svg()), 0o644)
}

// section is the text for the mark of that name; "": nothing was measured.
type section struct{ mark, title, text string }

func summarize(records []Record) ([]section, error) {
	sections := []section{
		{"machine", "Machine", machine(ofParts(records, "aa", "power"))},
		{"aa", "Identical arms, quiet machine", ""},
		{"aa-loaded", "Identical arms, loaded machine", ""},
		{"power", "Known costs, quiet machine", ""},
		{"power-loaded", "Known costs, loaded machine", ""},
		{"duets-machine", "Machine of duets and of the agreement", machine(ofParts(records, duets, duetsPower, "agreement"))},
		{"duets", "Duets of identical arms, quiet machine", ""},
		{"duets-loaded", "Duets of identical arms, loaded machine", ""},
		{"duets-power", "Duets with known costs, quiet machine", ""},
		{"agreement", "Agreement of runs", agreementTables(records, false)},
		{"commands", "Commands", commands(records)},
	}
	for i := range sections {
		var err error
		switch s := &sections[i]; s.mark {
		case "aa", "aa-loaded", "duets", "duets-loaded":
			part, loaded := strings.CutSuffix(s.mark, "-loaded")
			s.text, err = aaTables(records, part, loaded)
		case "power", "power-loaded", duetsPower:
			part, loaded := strings.CutSuffix(s.mark, "-loaded")
			s.text, err = powerTables(records, part, loaded)
		}
		if err != nil {
			return nil, err
		}
	}
	return sections, nil
}

func ofParts(records []Record, parts ...string) []Record {
	return pick(records, func(r Record) bool { return slices.Contains(parts, r.Part) })
}

// fill puts every section between its marks, <!-- NAME --> and <!-- /NAME -->. What is there of a section that was not
// measured now stays: other results filled it in.
func fill(text string, sections []section) (string, error) {
	for _, s := range sections {
		begin, end := "<!-- "+s.mark+" -->\n", "<!-- /"+s.mark+" -->"
		before, rest, ok := strings.Cut(text, begin)
		_, after, ok2 := strings.Cut(rest, end)
		if !ok || !ok2 {
			return "", fmt.Errorf("it has no place for %s between %s and %s", s.title, strings.TrimSpace(begin), end)
		}
		if s.text != "" {
			text = before + begin + "\n" + s.text + "\n" + end + after
		}
	}
	return text, nil
}

// reanalyse reads every run file again and replaces the file of results.
func (s *session) reanalyse() error {
	for i := range s.records {
		if r := &s.records[i]; r.Run != nil {
			if err := s.read(r, r.Run.File); err != nil {
				return err
			}
		}
	}
	all := s.records
	s.records = nil
	if err := os.Rename(s.file(), s.file()+".before"); err != nil {
		return err
	}
	for _, r := range all {
		if err := s.keep(r); err != nil {
			return err
		}
	}
	return nil
}

// machine returns the table of machines, dates and versions.
func machine(records []Record) string {
	if len(records) == 0 {
		return ""
	}
	var hosts, tares, hyperfines []string
	first, last := records[0].Began, records[0].Began
	count := map[bool]int{}
	for _, r := range records {
		if r.Run != nil {
			hosts, tares = appendNew(hosts, r.Run.Host), appendNew(tares, r.Version)
		} else {
			hyperfines = appendNew(hyperfines, r.Version)
		}
		count[r.Run != nil]++
		if r.Began.Before(first) {
			first = r.Began
		}
		if r.Began.After(last) {
			last = r.Began
		}
	}
	t := table{head: []string{"", ""}}
	t.add("machine", strings.Join(hosts, "; "))
	t.add("measured", first.Format("2006-01-02")+" to "+last.Format("2006-01-02"))
	t.add("runs of tare", fmt.Sprintf("%d: %s", count[true], strings.Join(tares, ", ")))
	if count[false] > 0 {
		t.add("runs of hyperfine", fmt.Sprintf("%d: %s", count[false], strings.Join(hyperfines, ", ")))
	}
	return t.String()
}

func appendNew(list []string, s string) []string {
	if slices.Contains(list, s) {
		return list
	}
	return append(list, s)
}

var digits = regexp.MustCompile(`[0-9.]+`)

// commands returns the first command line of each kind and the first campaign of each
// part.
func commands(records []Record) string {
	var b strings.Builder
	seen := map[string]bool{}
	for _, part := range []string{"aa", "power", duets, duetsPower, "agreement"} {
		var lines, files []string
		for _, r := range records {
			kind := r.Part + digits.ReplaceAllString(r.What, "")
			if i := strings.LastIndexByte(kind, ' '); i > 0 { // before the workload
				kind = kind[:i]
			}
			if r.Part != part || seen[kind] {
				continue
			}
			seen[kind] = true
			lines = append(lines, r.Command)
			if r.Campaign != "" && len(files) == 0 {
				files = append(files, r.Campaign)
			}
		}
		if len(lines) > 0 {
			fmt.Fprintf(&b, "%s:\n\n```sh\n%s\n```\n\n", part, strings.Join(lines, "\n"))
		}
		for _, f := range files {
			fmt.Fprintf(&b, "```yaml\n%s```\n\n", f)
		}
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// table is a Markdown table.
type table struct {
	head []string
	rows [][]string
}

func (t *table) add(cells ...string) { t.rows = append(t.rows, cells) }

func (t *table) String() string {
	var b strings.Builder
	line := func(cells []string) { b.WriteString("| " + strings.Join(cells, " | ") + " |\n") }
	line(t.head)
	b.WriteString(strings.Repeat("|---", len(t.head)) + "|\n")
	for _, r := range t.rows {
		line(r)
	}
	return b.String()
}

func pick(records []Record, ok func(Record) bool) []Record {
	var picked []Record
	for _, r := range records {
		if ok(r) {
			picked = append(picked, r)
		}
	}
	return picked
}
