// Gotest runs go test, prints its output, and counts tests.
//
//	go run ./scripts/gotest [flags and packages of go test] [+ more of them]...
//
// It runs go test once for every group of arguments, one after the other. At the end it
// prints how many tests passed, failed and were skipped, and why they were skipped. With
// TARE_LIVE set, a skip that skips.txt does not list is a failure, because on a machine
// that is set up for all tests, every test must run.
package main

import (
	"bufio"
	"bytes"
	"cmp"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"maps"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
)

//go:embed skips.txt
var skipsText string

const module = "github.com/tare-bench/tare/"

func main() {
	c := newCounter(os.Stdout)
	ok := true
	for args := range groups(os.Args[1:]) {
		if err := c.run(args); err != nil {
			fmt.Fprintln(os.Stderr, "gotest:", err)
			ok = false
		}
	}
	if !c.close(os.Getenv("TARE_LIVE") != "", parseSkips(skipsText)) || !ok {
		os.Exit(1)
	}
}

// groups splits arguments at every "+".
func groups(args []string) iter.Seq[[]string] {
	return func(yield func([]string) bool) {
		for {
			i := slices.Index(args, "+")
			if i < 0 {
				yield(args)
				return
			}
			if !yield(args[:i]) {
				return
			}
			args = args[i+1:]
		}
	}
}

// run runs go test once and counts failed tests. The error is one of go test itself, or
// its exit status if no test was counted as failed.
func (c *counter) run(args []string) error {
	cmd := exec.Command(cmp.Or(os.Getenv("GO"), "go"), append([]string{"test", "-json"}, args...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	failed := c.count["fail"]
	r := bufio.NewReader(out)
	for {
		line, err := r.ReadBytes('\n')
		if len(line) > 0 {
			c.line(bytes.TrimSuffix(line, []byte("\n")))
		}
		if err != nil {
			break
		}
	}
	if err := cmd.Wait(); err != nil && c.count["fail"] == failed {
		return fmt.Errorf("go test: %w", err)
	}
	return nil
}

// event is one line of go test -json; see go doc test2json.
type event struct {
	Action, Package, Test, Output string
}

type key struct{ pkg, test string }

// counter prints events like go test without -json, and counts tests.
type counter struct {
	w      io.Writer
	output map[key][]string // of tests and packages that have not ended yet
	count  map[string]int   // by action
	failed []key
	skips  []string // "internal/image TestLive: reason"
}

func newCounter(w io.Writer) *counter {
	return &counter{w: w, output: map[key][]string{}, count: map[string]int{}}
}

func (c *counter) line(b []byte) {
	var e event
	if json.Unmarshal(b, &e) != nil {
		fmt.Fprintf(c.w, "%s\n", b)
		return
	}
	k := key{e.Package, e.Test}
	switch e.Action {
	case "build-output":
		io.WriteString(c.w, e.Output)
	case "output":
		if !strings.HasPrefix(e.Output, "=== ") {
			c.output[k] = append(c.output[k], e.Output)
		}
	case "pass", "fail", "skip":
		if e.Test == "" {
			c.packageEnded(e)
			return
		}
		c.count[e.Action]++
		switch e.Action {
		case "fail":
			c.failed = append(c.failed, k)
			c.print(k)
		case "skip":
			c.skips = append(c.skips, describeSkip(k, c.output[k]))
		}
		delete(c.output, k)
	}
}

// packageEnded prints the package's line. If the package failed, it also prints output
// from outside of tests and from tests that never ended, for example because of a panic.
func (c *counter) packageEnded(e event) {
	own := key{e.Package, ""}
	for _, k := range slices.SortedFunc(maps.Keys(c.output), func(a, b key) int { return strings.Compare(a.test, b.test) }) {
		if k.pkg != e.Package || k == own {
			continue
		}
		if e.Action == "fail" {
			c.count["fail"]++
			c.failed = append(c.failed, k)
			c.print(k)
		}
		delete(c.output, k)
	}
	lines := c.output[own]
	delete(c.output, own)
	if e.Action == "fail" {
		if !slices.ContainsFunc(c.failed, func(k key) bool { return k.pkg == e.Package }) {
			c.count["fail"]++ // the build or TestMain failed
			c.failed = append(c.failed, own)
		}
		io.WriteString(c.w, strings.Join(lines, ""))
		return
	}
	for _, l := range lines {
		if strings.HasPrefix(l, "ok  \t") || strings.HasPrefix(l, "?   \t") {
			io.WriteString(c.w, l)
		}
	}
}

func (c *counter) print(k key) { io.WriteString(c.w, strings.Join(c.output[k], "")) }

// logPrefix matches the text that t.Skip puts before its message.
var logPrefix = regexp.MustCompile(`^\s*\S+\.go:\d+: `)

func describeSkip(k key, output []string) string {
	reason := "no reason given"
	for _, l := range output {
		if logPrefix.MatchString(l) { // the last one is that of the skip
			reason = strings.TrimSpace(logPrefix.ReplaceAllString(l, ""))
		}
	}
	return strings.TrimPrefix(k.pkg, module) + " " + k.test + ": " + reason
}

// parseSkips reads regular expressions, one per line.
func parseSkips(text string) []*regexp.Regexp {
	var res []*regexp.Regexp
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			res = append(res, regexp.MustCompile(line))
		}
	}
	return res
}

// close prints the totals and reports whether everything succeeded.
func (c *counter) close(strict bool, allowed []*regexp.Regexp) bool {
	wrong := 0
	for _, s := range c.skips {
		mark := "skipped:"
		if strict && !slices.ContainsFunc(allowed, func(re *regexp.Regexp) bool { return re.MatchString(s) }) {
			mark, wrong = "SKIPPED, but must run:", wrong+1
		}
		fmt.Fprintln(c.w, mark, s)
	}
	for _, k := range c.failed {
		fmt.Fprintln(c.w, "failed:", strings.TrimPrefix(k.pkg, module), k.test)
	}
	if wrong > 0 {
		fmt.Fprintln(c.w, "scripts/gotest/skips.txt lists the permitted skips.")
	}
	fmt.Fprintf(c.w, "tests: %d passed, %d failed, %d skipped\n", c.count["pass"], c.count["fail"]+wrong, c.count["skip"]-wrong)
	return c.count["fail"]+wrong == 0 && c.count["pass"] > 0
}
