package tool

import (
	"regexp"
	"slices"
	"strings"
)

// begins finds runs by the lines that a run prints first, and once. They begin with the expression.
func begins(expr string) func(text string) []int {
	re := regexp.MustCompile(`(?m)^(?:` + expr + `)`)
	return func(text string) []int {
		var starts []int
		for i, at := range re.FindAllStringIndex(text, -1) {
			if i > 0 {
				starts = append(starts, at[0])
			}
		}
		return starts
	}
}

// follows finds runs of a tool that ends a run with a line that last matches: the next run begins at the first line
// after it that first matches.
func follows(last, first string) func(text string) []int {
	ends, starts := regexp.MustCompile(last), regexp.MustCompile(first)
	return perLine(func(ended bool, line string) (bool, bool) {
		if ended && starts.MatchString(line) {
			return ends.MatchString(line), true
		}
		return ended || ends.MatchString(line), false
	})
}

// recurs finds runs of a tool that prints no name twice in a run: the next run begins at the line with a name that the
// run has already. The groups of the expression are the name.
func recurs(expr string) func(text string) []int {
	re := regexp.MustCompile(expr)
	return perLine(func(seen []string, line string) ([]string, bool) {
		m := re.FindStringSubmatch(line)
		if m == nil {
			return seen, false
		}
		name := strings.Join(m[1:], "\x00")
		if slices.Contains(seen, name) {
			return []string{name}, true
		}
		return append(seen, name), false
	})
}

// perLine finds runs line by line: next returns what is known after a line, and whether a run begins there.
func perLine[known any](next func(k known, line string) (known, bool)) func(text string) []int {
	return func(text string) []int {
		var starts []int
		var k known
		at := 0
		for line := range strings.Lines(text) {
			var start bool
			if k, start = next(k, strings.TrimRight(line, " \n")); start {
				starts = append(starts, at)
			}
			at += len(line)
		}
		return starts
	}
}

// either finds the runs that any of several ways finds.
func either(ways ...func(text string) []int) func(text string) []int {
	return func(text string) []int {
		var starts []int
		for _, way := range ways {
			starts = append(starts, way(text)...)
		}
		slices.Sort(starts)
		return slices.Compact(starts)
	}
}

// most finds the runs that the first way finds, or those of another that finds more.
func most(ways ...func(text string) []int) func(text string) []int {
	return func(text string) (starts []int) {
		for _, way := range ways {
			if found := way(text); len(found) > len(starts) {
				starts = found
			}
		}
		return starts
	}
}
