package page

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/tare-bench/tare/docs/findings"
	"github.com/tare-bench/tare/internal/analyze"
	"github.com/tare-bench/tare/internal/campaign"
	"github.com/tare-bench/tare/internal/model"
	"github.com/tare-bench/tare/internal/plan"
	"github.com/tare-bench/tare/internal/report"
	"github.com/tare-bench/tare/internal/report/reporttest"
	"github.com/tare-bench/tare/internal/store"
	"github.com/tare-bench/tare/internal/view/pagetest"
)

// evil is text from a guest that tries to break out of wherever it is inserted.
const evil = `</title></script></style></pre>--><script>window.hacked=1</script><img src=x onerror="window.hacked=1">'"{{.}}` + "`${window.hacked=1}` \u202e"

func render(t testing.TB, s synth) string {
	t.Helper()
	r := s.write(t)
	return written(t, r, analyzed(t, r), Options{Titles: map[string]string{"sysbench-cpu": "find primes: integer CPU"},
		Output: echo(s.says)})
}

func written(t testing.TB, r *store.Run, res *analyze.Result, o Options) string {
	t.Helper()
	var b bytes.Buffer
	must(t, Write(&b, r, res, o))
	return b.String()
}

func finished() synth { return synth{blocks: 12, ended: string(plan.ReasonBlocks)} }

func TestAnswer(t *testing.T) {
	text := pagetest.Plain(render(t, finished()))
	pagetest.Says(t, text,
		"kvm Costs 9", "on sysbench-cpu; gains 28",
		"lxc At most 0",
		"qemu-tcg* Emulated: its times say nothing about real hardware.",
		"Rankings, as far as intervals allow", "sysbench-cpu 1. native, lxc (tied); 3. kvm",
		"Left out: xen-pv", "governor powersave", "attempt 1",
	)
	if strings.Contains(text, "By isolation") || strings.Contains(text, "By memory") {
		t.Error("a ranking of what was not measured")
	}
}

// renderCases is the page of a result with every kind of comparison.
func renderCases(t testing.TB) string {
	t.Helper()
	res := reporttest.Cases()
	var arms []store.Arm
	var metrics []store.Metric
	for _, a := range res.Arms {
		if !slices.ContainsFunc(arms, func(b store.Arm) bool { return a.Arm == b.Name }) {
			arms = append(arms, store.Arm{Name: a.Arm, System: a.System, Scenario: a.Scenario, Emulated: a.Emulated})
		}
		if m := a.Metrics[0]; !slices.ContainsFunc(metrics, func(n store.Metric) bool { return n.Workload == a.Workload }) {
			metrics = append(metrics, store.Metric{Workload: a.Workload, Name: m.Name, Unit: m.Unit, Better: "lower",
				Primary: true})
		}
	}
	empty := synth{}.write(t)
	documents := map[string][]byte{}
	for _, name := range []string{store.DocCampaign, store.DocCampaignYAML, store.DocEnvironment, store.DocSystems,
		store.DocUserland} {
		body, err := empty.Document(name)
		must(t, err)
		documents[name] = body
	}
	r, err := store.Create(filepath.Join(t.TempDir(), "cases.tare"), documents, arms, metrics)
	must(t, err)
	t.Cleanup(func() { r.Close() })
	return written(t, r, res, Options{})
}

// TestCases: the page uses the same words as the terminal for every kind of result.
func TestCases(t *testing.T) {
	text := pagetest.Plain(renderCases(t))
	pagetest.Says(t, text,
		"lxc CPU +1.7 % on openssl-enc; time +3.1 % on stress-ng-exec, none on openssl-enc, at most +7.6 % on dd-write, not "+
			"known on 2; limits on memory and processes hold; beside disk 1.82× native.",
		"Overhead against native with its interval", "Diamonds: CPU time, in duets.",
		"lxc CPU time: costs 1.7 % (1.5 … 1.9) on openssl-enc. Time: at most 1.2 % on openssl-enc; "+
			"costs 3.1 % (2.2 … 4.0) on stress-ng-exec; at most +7.6 % on dd-write; "+
			"nothing is known yet about hackbench-pipe and cyclictest.",
		"at most ±6.1 % on stress-ng-exec (these guests only). Did not finish hackbench-pipe. A serious "+
			"finding concerns the figure on dd-write.",
		"openssl-enc 1. native, lxc (tied); 3. runc", "By isolation", "openssl-enc in noisy 1. native, lxc (tied)",
		"By cost beside other guests", "openssl-enc in noisy 1. native@noisy; 2. lxc@noisy",
		"at most +7.6 % not resolved -2.9 … +7.6 %", "+4.2 % costs ° these guests only", "not resolved: too coarse",
		"did not finish", "not resolved: one pair", "no control, at most +19.0 %",
		"° these guests only: fewer than 4 guests of an arm were created",
		"33.20 ms median 23.10 ms, middle half 19.20 … 31.40 ms",
		"Single trials of native and its identical control differ by up to 12 % (24 pairs); in this run",
		"Stalls", "lxc 12 of 180 (6.7 %) +3.0 … +10.8 points more 3.1× 71.20 ms (60.10 … 80.60)",
		"native 2 of 360 (0.56 %) 1.8× 24.20",
		"A trial is slow if it is over 1.50 times slower than the median", "No A/A pairs, so no cost or gain is claimed.",
		"9 more like these", "First trial of a group, openssl-enc +5.2 % (+3.3 … +7.1 %)",
		"First trial after a thaw, lxc +2.1 %", "More metrics of openssl-enc", "dd-write 1. runc !; 2. native, lxc (tied)",
	)
	answer, last := strings.LastIndex(text, "lxc CPU time: costs"), strings.LastIndex(text, "qemu-tcg* Emulated")
	if answer > last {
		t.Error("an emulated arm does not come last")
	}
	for _, gone := range []string{"noise floor", "(<", "withheld"} {
		if strings.Contains(text, gone) {
			t.Errorf("the page says %q", gone)
		}
	}
}

// TestNoResults: warm-up trials, and those repeated to see what a thaw costs, are in
// the raw table with their status, and nowhere else.
func TestNoResults(t *testing.T) {
	s := finished()
	without := render(t, s)
	s.warm = true
	with := render(t, s)
	if a, b := strings.Count(without, "<circle"), strings.Count(with, "<circle"); a != b {
		t.Errorf("%d dots without, %d with trials that are no results", a, b)
	}
	if text := pagetest.Plain(with); !strings.Contains(text, "360, 120 discarded, 120 repeat") {
		t.Error("the page does not say how many are no results")
	}
	text := string(unpacked(t, with, `data-trials="([^"]*)"`))
	if n, m := strings.Count(text, `"status":"discarded"`), strings.Count(text, `"status":"repeat"`); n != 120 ||
		m != 120 {
		t.Errorf("%d discarded and %d repeated trials in the raw table", n, m)
	}
}

// TestCompany: the page says how other guests slow down each system's guests, and
// ranks the systems.
func TestCompany(t *testing.T) {
	text := pagetest.Plain(render(t, synth{blocks: 12, several: true, bulk: true, ended: string(plan.ReasonBlocks)}))
	pagetest.Says(t, text,
		"How it isolates", "The same beside other guests, each system against its baseline there",
		"What systems cost beside other guests",
		"kvm Slowed down more than native: 1.0", "takes 2.2",
		"in fit-8, where native takes 2.00 times as long; the slowdown is smaller in 5 more cases.",
		"qemu-tcg* Emulated: nothing is claimed.", "kvm@fit-8 8 2.2",
		"Density: 2 guests of kvm fit with a slowdown of at most 1.5×; 8 do not: 2.2", "native@noisy 1 + cpu, fork 1.5",
		"Each guest", "guests at once",
		"Cap: flavor quarter of native@mixed takes 4.10× as long as small",
		"Slowdown of sysbench-cpu by the number of guests",
		"By isolation: how much slower than alone", "dd-write in fit-8 1. ",
		"By memory: what an idle guest takes from the host 1. native, lxc (tied); 3. kvm; 4. qemu-tcg",
		"host lost", "The host has no KSM.",
	)
	if strings.Contains(text, "Widely spread values") {
		t.Error("that guests of different flavors differ is held against a mix")
	}
}

// TestOverviewIsOfOne: costs beside other guests are apart from costs alone.
func TestOverviewIsOfOne(t *testing.T) {
	res := analyzed(t, synth{blocks: 3, several: true, bulk: true}.write(t))
	alone, several := report.Overview(res, nil, false), report.Overview(res, nil, true)
	if len(alone.Rows) != 2*3 || len(several.Rows) != 2*12 {
		t.Errorf("%d costs alone, %d beside others", len(alone.Rows), len(several.Rows))
	}
}

func TestTitles(t *testing.T) {
	titles := map[string]string{"sysbench-cpu": "find primes: integer CPU", "wordpress": "WordPress serves its front page"}
	want := map[string]string{
		"sysbench-cpu": "find primes: integer CPU", "sysbench-cpu[threads=4]": "find primes (threads=4): integer CPU",
		"wordpress[clients=1]": "WordPress serves its front page (clients=1)", "own[x=1]": "",
	}
	got := titlesOf(titles, []campaign.Workload{{Name: "sysbench-cpu"},
		{Name: "sysbench-cpu", Params: []model.Setting{{Name: "threads", Value: "4"}}},
		{Name: "wordpress", Params: []model.Setting{{Name: "clients", Value: "1"}}},
		{Name: "own", Params: []model.Setting{{Name: "x", Value: "1"}}}})
	if !maps.Equal(got, want) {
		t.Errorf("the titles are %q, want %q", got, want)
	}
}

// TestSelfContained: the page loads nothing, and its policy forbids it to. Links to the
// pages about findings are only followed on request.
func TestSelfContained(t *testing.T) {
	page := render(t, finished())
	link := regexp.MustCompile(`<a href="` + regexp.QuoteMeta(findings.URL("X")[:len(findings.URL("X"))-len("X.md")]) +
		`[a-z-]+\.md" rel="noreferrer">`)
	if !link.MatchString(page) {
		t.Error("the findings are not explained")
	}
	page = link.ReplaceAllString(page, "<a>")
	for _, m := range regexp.MustCompile(`(?:src|href|action|url)\s*[=(]\s*"?([^"\s>)]+)`).FindAllStringSubmatch(page,
		-1) {
		if !strings.HasPrefix(m[1], "#") && !strings.HasPrefix(m[1], "data:application/gzip;base64,") {
			t.Errorf("the page refers to %.80s", m[1])
		}
	}
	if !strings.Contains(page, "default-src &#39;none&#39;") || strings.Contains(page, "unsafe-inline") {
		t.Error("the policy allows what is not in the page")
	}
	if strings.Contains(page, "connect-src") {
		t.Error("a file need not fetch anything")
	}
	if len(page) > 2<<20 {
		t.Errorf("%d bytes", len(page))
	}
}

func TestHostileStrings(t *testing.T) {
	s := finished()
	s.says, s.lacking = evil, true
	page := render(t, s)
	if n := strings.Count(page, "<script"); n != 1 {
		t.Errorf("%d scripts", n)
	}
	if strings.Contains(page, "<img") || strings.Contains(page, "\u202e") || strings.Contains(page, "\x1b") {
		t.Error("a guest's words are in the page as they are")
	}
	if !strings.Contains(page, "&lt;img src=x") {
		t.Error("the guest's words are lost")
	}
}

// unpacked is the decompressed content of a page at the pattern's group.
func unpacked(t *testing.T, page, pattern string) []byte {
	t.Helper()
	m := regexp.MustCompile(pattern).FindStringSubmatch(page)
	if m == nil {
		t.Fatalf("the page has no %s", pattern)
	}
	body, err := base64.StdEncoding.DecodeString(strings.ReplaceAll(m[1], "&#43;", "+"))
	must(t, err)
	z, err := gzip.NewReader(bytes.NewReader(body))
	must(t, err)
	text, err := io.ReadAll(z)
	must(t, err)
	return text
}

func TestDownload(t *testing.T) {
	page := render(t, finished())
	text := unpacked(t, page, `href="data:application/gzip;base64,([^"]*)"`)
	var export struct{ Trials []any }
	must(t, json.Unmarshal(text, &export))
	if len(export.Trials) != 120 {
		t.Errorf("%d trials in the download", len(export.Trials))
	}
}

// TestEveryTrial: the raw output of each trial is on the page, as text or packed.
func TestEveryTrial(t *testing.T) {
	page := render(t, finished())
	text := unpacked(t, page, `data-trials="([^"]*)"`)
	all := html.UnescapeString(page) + string(text)
	for n := range 120 {
		if title, output := fmt.Sprintf("trial %d: ", n+1), fmt.Sprintf("attempt %d\n", n+1); strings.Count(all,
			title) != 1 ||
			!strings.Contains(all, output) && !strings.Contains(all, strings.ReplaceAll(output, "\n", `\n`)) {
			t.Errorf("trial %d is not there, or twice", n+1)
		}
	}
	if !strings.Contains(
		pagetest.Plain(page),
		"The page’s script shows 110 more. tare show example.tare --trial NUMBER prints "+
			"any trial in full.",
	) {
		t.Error("the page does not say how to see the others")
	}
}

func TestEmptyAndInterrupted(t *testing.T) {
	empty := pagetest.Plain(render(t, synth{}))
	pagetest.Says(t, empty, "No trial has a result yet", "Nothing yet", "not finished", "None yet.")
	s := synth{blocks: 6, lacking: true}
	text := pagetest.Plain(render(t, s))
	pagetest.Says(t, text, "This run is not finished: it was killed or is still running", "1 interrupted",
		"Input/output error", "INFO: task blocked")
}

// TestHuge: the page of 100,000 trials stays within the size limit.
func TestHuge(t *testing.T) {
	if testing.Short() {
		t.Skip("writes 100,000 trials")
	}
	page := hugePage(t)
	if len(page) > 2<<20 {
		t.Errorf("%d bytes", len(page))
	}
	if !strings.Contains(page, "Too many trials to draw each") || !strings.Contains(page, "too many for a page") {
		t.Error("the page does not say what it leaves out")
	}
}

// hugePage is made once, because that takes a while; with the race detector, it takes
// long and has fewer trials.
func hugePage(t testing.TB) string {
	once.Do(func() {
		blocks := 10_000
		if raced {
			blocks = maxDownloadTrials/10 + 100
		}
		huge = render(t, synth{blocks: blocks, ended: string(plan.ReasonBlocks), bulk: true})
	})
	return huge
}

var (
	once  sync.Once
	huge  string
	raced bool // set by race_test.go
)

func TestSamePage(t *testing.T) {
	r := finished().write(t)
	first := written(t, r, analyzed(t, r), Options{})
	if written(t, r, analyzed(t, r), Options{}) != first {
		t.Error("the same run gave two pages")
	}
}

// TestNothingToCompare: a run of one system says so, and one block draws no intervals.
func TestNothingToCompare(t *testing.T) {
	one := render(t, synth{blocks: 1, single: true})
	if !strings.Contains(pagetest.Plain(one), "Nothing: the run has no other system that native could be compared with.") {
		t.Error("the page does not say that there is nothing to compare")
	}
	one += render(t, synth{blocks: 1})
	for _, unwanted := range []string{">interval<", "Overhead with its interval, and host", "by up to 0 %"} {
		if strings.Contains(one, unwanted) {
			t.Errorf("a page of one block has %s", unwanted)
		}
	}
	if !strings.Contains(render(t, synth{blocks: 6}), "Overhead with its interval, and host") {
		t.Error("a page of six blocks draws no intervals")
	}
}
