// Gotest runs go test, prints its output, and counts tests.
//
//	go run ./scripts/gotest [NUMBER] ARGUMENTS [+ ARGUMENTS]... [/ [NUMBER] ARGUMENTS [+ ARGUMENTS]...]...
//
// It runs go test once for every group of arguments. Those separated by / run at the same time, those separated by +
// one after the other, or NUMBER at a time: the next begins when one has ended. TARE_PLACE tells the tests which of
// these, from 0, they are, so that their guests can use different CPUs.
//
// At the end it prints the slowest packages and tests, how many tests passed, failed and were skipped, and why they
// were skipped. With TARE_LIVE set, a skip that skips.txt does not list is a failure, because on a machine that is set
// up for all tests, every test must run.
package main

import (
	"bufio"
	"bytes"
	"cmp"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

//go:embed skips.txt
var skipsText string

const module = "github.com/tare-bench/tare/"

func main() {
	c := newCounter(os.Stdout)
	var lanes sync.WaitGroup
	for _, lane := range split(os.Args[1:], "/") {
		lanes.Go(func() { runLane(lane, c.run) })
	}
	lanes.Wait()
	if !c.close(os.Getenv("TARE_LIVE") != "", parseSkips(skipsText)) {
		os.Exit(1)
	}
}

// runLane runs the groups of a lane in order, as many at a time as its number says. Each place has one at a time.
func runLane(lane []string, run func(args []string, place int)) {
	abreast := 1
	if n, err := strconv.Atoi(lane[0]); err == nil && n > 0 {
		abreast, lane = n, lane[1:]
	}
	next := make(chan []string)
	var places sync.WaitGroup
	for place := range abreast {
		places.Go(func() {
			for args := range next {
				run(args, place)
			}
		})
	}
	for _, args := range split(lane, "+") {
		next <- args
	}
	close(next)
	places.Wait()
}

// split splits arguments at every separator.
func split(args []string, separator string) (parts [][]string) {
	for {
		i := slices.Index(args, separator)
		if i < 0 {
			return append(parts, args)
		}
		parts, args = append(parts, args[:i]), args[i+1:]
	}
}

// run runs go test once, at a place of its lane. If it fails without a failed test, that counts as one.
func (c *counter) run(args []string, place int) {
	cmd := exec.Command(cmp.Or(os.Getenv("GO"), "go"), append([]string{"test", "-json"}, args...)...)
	cmd.Stderr = os.Stderr
	cmd.Env = append(os.Environ(), fmt.Sprint("TARE_PLACE=", place))
	if slices.Contains(args, "-race") { // it needs cgo
		cmd.Env = append(cmd.Env, "CGO_ENABLED=1")
	}
	failed := false
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err == nil {
		lines := bufio.NewReader(out)
		for {
			line, err := lines.ReadBytes('\n')
			if len(line) > 0 && c.line(bytes.TrimSuffix(line, []byte("\n"))) == "fail" {
				failed = true
			}
			if err != nil {
				break
			}
		}
		err = cmd.Wait()
	}
	if err != nil && !failed {
		c.lock.Lock()
		defer c.lock.Unlock()
		c.count["fail"]++
		fmt.Fprintln(c.w, "gotest: go test:", err)
	}
}

// event is one line of go test -json; see go doc test2json.
type event struct {
	Action, Package, Test, Output string
	Elapsed                       float64 // in seconds
}

type key struct{ pkg, test string }

func (k key) String() string {
	return strings.TrimSpace(strings.TrimPrefix(k.pkg, module) + " " + k.test)
}

// counter prints events like go test without -json, and counts tests.
type counter struct {
	lock   sync.Mutex // of all that follows
	w      io.Writer
	output map[key][]string // of tests and packages that have not ended yet
	count  map[string]int   // by action
	failed []key
	skips  []string        // "internal/image TestLive: reason"
	took   map[key]float64 // seconds of ended tests, without those of their subtests, and of packages
}

func newCounter(w io.Writer) *counter {
	return &counter{w: w, output: map[key][]string{}, count: map[string]int{}, took: map[key]float64{}}
}

// line counts an event, and returns its action.
func (c *counter) line(b []byte) (action string) {
	c.lock.Lock()
	defer c.lock.Unlock()
	var e event
	if json.Unmarshal(b, &e) != nil {
		fmt.Fprintf(c.w, "%s\n", b)
		return ""
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
		c.took[k] += e.Elapsed
		if i := strings.LastIndex(e.Test, "/"); i > 0 {
			c.took[key{e.Package, e.Test[:i]}] -= e.Elapsed
		}
		if e.Test == "" {
			c.packageEnded(e)
			break
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
	return e.Action
}

// packageEnded prints the package's line. If the package failed, it also prints output
// from outside of tests and from tests that never ended, for example because of a panic.
func (c *counter) packageEnded(e event) {
	own := key{e.Package, ""}
	byName := func(a, b key) int { return strings.Compare(a.test, b.test) }
	for _, k := range slices.SortedFunc(maps.Keys(c.output), byName) {
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
	return k.String() + ": " + reason
}

// slowest prints the packages or the tests that took longest, those with a time of a second or more.
func (c *counter) slowest(what string, of func(key) bool) {
	keys := slices.SortedFunc(maps.Keys(c.took), func(a, b key) int { return cmp.Compare(c.took[b], c.took[a]) })
	keys = slices.DeleteFunc(keys, func(k key) bool { return !of(k) || c.took[k] < 1 })
	for i, k := range keys[:min(len(keys), 10)] {
		if i == 0 {
			fmt.Fprintf(c.w, "slowest %s:\n", what)
		}
		fmt.Fprintf(c.w, "%8.1f s  %s\n", c.took[k], k)
	}
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
	c.slowest("packages", func(k key) bool { return k.test == "" })
	c.slowest("tests, each without its subtests", func(k key) bool { return k.test != "" })
	wrong := 0
	for _, s := range c.skips {
		mark := "skipped:"
		if strict && !slices.ContainsFunc(allowed, func(re *regexp.Regexp) bool { return re.MatchString(s) }) {
			mark, wrong = "SKIPPED, but must run:", wrong+1
		}
		fmt.Fprintln(c.w, mark, s)
	}
	for _, k := range c.failed {
		fmt.Fprintln(c.w, "failed:", k)
	}
	if wrong > 0 {
		fmt.Fprintln(c.w, "scripts/gotest/skips.txt lists the permitted skips.")
	}
	passed, failed, skipped := c.count["pass"], c.count["fail"]+wrong, c.count["skip"]-wrong
	fmt.Fprintf(c.w, "tests: %d passed, %d failed, %d skipped\n", passed, failed, skipped)
	return failed == 0 && passed > 0
}
