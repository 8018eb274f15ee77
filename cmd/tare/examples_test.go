package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"mvdan.cc/sh/v3/syntax"
)

// example is a line of a page that shows commands.
type example struct {
	page   string
	line   int
	source string
	shell  *syntax.File
	tares  [][]string // the words after "tare" of each such command
	others bool       // it runs other programs, too
}

var command = regexp.MustCompile(`^ *(\$ )?(bin/)?tare [a-z-]`)

// examples returns the commands that the documentation shows: lines of code that begin with tare.
func examples(t *testing.T) []example {
	t.Helper()
	var found []example
	for page, lines := range pages(t) {
		fenced := false
		for i, line := range lines {
			if strings.HasPrefix(line, "```") {
				fenced = !fenced
			}
			if !fenced && !strings.HasPrefix(line, "    ") || !command.MatchString(line) {
				continue
			}
			if before, _, wrapped := strings.Cut(line, " [--"); wrapped { // an optional flag
				line = before
			}
			e := example{page: page, line: i + 1, source: strings.TrimPrefix(strings.TrimSpace(line), "$ ")}
			var err error
			if e.shell, err = syntax.NewParser().Parse(strings.NewReader(e.source), page); err != nil {
				continue // a command that continues on the next line
			}
			syntax.Walk(e.shell, func(n syntax.Node) bool {
				call, ok := n.(*syntax.CallExpr)
				if !ok || len(call.Args) == 0 {
					return true
				}
				if name := call.Args[0].Lit(); name != "tare" && name != "bin/tare" {
					e.others = true
					return true
				}
				var words []string
				for _, w := range call.Args[1:] {
					words = append(words, e.source[w.Pos().Offset():w.End().Offset()])
				}
				e.tares = append(e.tares, words)
				return true
			})
			found = append(found, e)
		}
	}
	if len(found) < 40 {
		t.Fatalf("only %d examples: the pages are not read", len(found))
	}
	return found
}

// pages returns the lines of the documentation.
func pages(t *testing.T) map[string][]string {
	t.Helper()
	all := map[string][]string{}
	for _, pattern := range []string{"../../*.md", "../../docs/*.md", "../../docs/findings/*.md"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %q, %v", pattern, files, err)
		}
		for _, f := range files {
			text, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			all[strings.TrimPrefix(f, "../../")] = strings.Split(string(text), "\n")
		}
	}
	return all
}

// TestExamples: the commands, flags and arguments that the documentation shows exist.
func TestExamples(t *testing.T) {
	for _, e := range examples(t) {
		for _, words := range e.tares {
			if err := accepts(words); err != nil {
				t.Errorf("%s:%d: %s: %v", e.page, e.line, e.source, err)
			}
		}
	}
}

// accepts reports whether a command line is complete; it runs nothing.
func accepts(words []string) error {
	root := newRoot()
	cmd, rest, err := root.Find(words)
	if err != nil {
		return err
	}
	if cmd == root || cmd.HasSubCommands() {
		return fmt.Errorf("there is no such command below %q", cmd.CommandPath())
	}
	if err := cmd.ParseFlags(rest); err != nil {
		return err
	}
	return cmd.ValidateArgs(cmd.Flags().Args())
}

// TestInlineExamples: commands that a sentence mentions exist, with the flags that it mentions.
func TestInlineExamples(t *testing.T) {
	code := regexp.MustCompile("`(?:sudo |bin/)?tare ([a-z][^`]*)`")
	flag := regexp.MustCompile(`^--[a-z0-9-]+`)
	found := 0
	for page, lines := range pages(t) {
		for i, line := range lines {
			for _, m := range code.FindAllStringSubmatch(line, -1) {
				found++
				root := newRoot()
				words := strings.Fields(m[1])
				isFlag := func(w string) bool { return strings.HasPrefix(w, "-") }
				cmd, _, err := root.Find(slices.DeleteFunc(slices.Clone(words), isFlag))
				if err == nil && cmd == root {
					err = errors.New("there is no such command")
				}
				for _, w := range words {
					if w == "--" {
						break
					}
					if name := strings.TrimLeft(flag.FindString(w), "-"); err == nil && name != "" &&
						name != "help" && cmd.Flag(name) == nil && cmd.InheritedFlags().Lookup(name) == nil {
						err = fmt.Errorf("there is no flag --%s", name)
					}
				}
				if err != nil {
					t.Errorf("%s:%d: %s: %v", page, i+1, m[0], err)
				}
			}
		}
	}
	if found < 40 {
		t.Errorf("only %d: the pages are not read", found)
	}
}

// TestExamplesRun: examples that only read run as they are shown, in a directory with the run files
// that they name.
func TestExamplesRun(t *testing.T) {
	reading := []string{"show", "report", "export", "compare", "explain", "workloads", "schema", "parse"}
	ran := 0
	for _, e := range examples(t) {
		only := !e.others && len(e.tares) > 0
		for _, words := range e.tares {
			only = only && slices.Contains(reading, words[0])
		}
		if !only {
			continue
		}
		ran++
		dir := t.TempDir()
		for i, name := range regexp.MustCompile(`[\w*./-]+(\.tare|/)(\s|$)`).FindAllString(e.source, -1) {
			name = strings.ReplaceAll(strings.TrimSpace(name), "*", "1")
			if strings.HasSuffix(name, "/") {
				name += "1.tare"
			}
			if filepath.IsAbs(name) || strings.Contains(name, "..") {
				t.Fatalf("%s:%d: %s is outside the test's directory", e.page, e.line, name)
			}
			if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
				t.Fatal(err)
			}
			storedRun(t, filepath.Join(dir, name), uint64(i), 1)
		}
		for _, m := range regexp.MustCompile(`(\w+)\.(?:yaml|json)`).FindAllStringSubmatch(e.source, -1) {
			storedFleet(t, dir, m[1])
		}
		if strings.Contains(e.source, "parse wrk saved.txt") {
			saved, err := os.ReadFile("../../internal/workload/tool/testdata/wrk/form-errors-none.txt")
			if err != nil {
				t.Fatal(err)
			}
			write(t, dir, "saved.txt", string(saved))
		}
		if err := os.Mkdir(filepath.Join(dir, "bin"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(binary, filepath.Join(dir, "bin", "tare")); err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), "sh", "-ec", e.source)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "PATH="+filepath.Join(dir, "bin")+":"+os.Getenv("PATH"))
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		if out, err := cmd.Output(); err != nil {
			t.Errorf("%s:%d: %s: %v: %s%s", e.page, e.line, e.source, err, stderr.String(), out)
		}
	}
	if ran < 8 {
		t.Errorf("only %d of the examples only read", ran)
	}
}

// storedFleet writes the file of a fleet of one machine, its run, and what tare says of them as JSON.
func storedFleet(t *testing.T, dir, name string) {
	t.Helper()
	write(t, dir, "c.yaml", "name: c\narms: [native]\nworkloads: [sysbench-cpu]\n")
	write(t, dir, name+".yaml", "name: "+name+"\ncampaign: c.yaml\nmachines: {node1: }\n")
	if err := os.MkdirAll(filepath.Join(dir, name, "node1"), 0o755); err != nil {
		t.Fatal(err)
	}
	storedRun(t, filepath.Join(dir, name, "node1", "1.tare"), 1, 1)
	shown := tare(t, dir, "fleet", "show", name+".yaml", "--json")
	if shown.status != 0 {
		t.Fatal(shown.stderr)
	}
	write(t, dir, name+".json", shown.stdout)
}
